// Entry point of an application's server in a process of its own, started by a shell.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { TestContext } from 'node:test'
import { openPort } from '../../scripts/open-port.ts'
import { createCrosswind, type StandardSchema } from '../../server/index.ts'
import { output } from '../../server/program.ts'

/** `command`: what the shell does, which starts it by `exec "$@"`. Its standard output and error are pipes. */
export async function startApplicationProcess(t: TestContext, command: string) {
  const words = ['-c', command, 'sh', process.execPath, import.meta.filename]
  const child = spawn('sh', words, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const [origin] = (await Promise.race([
    once(child, 'message'),
    ended.then(([code, signal]) => Promise.reject(new Error(`It ended with ${signal ?? code}.`))),
  ])) as [string]
  const { stdout, stderr } = child
  if (!stdout || !stderr) throw new Error('It has no pipes.')
  return { child, stdout, stderr, origin, ended }
}

/** Done when it is answered. */
export type Order = 'write on standard error' | 'say something'

function failing(fail: () => never): StandardSchema {
  return { '~standard': { version: 1, vendor: 'test', validate: fail } }
}

/** Answers its own route by `own`. A message to `first` or `second` makes an incident each, of two kinds. */
async function serve(): Promise<void> {
  const first = failing(() => {
    throw new Error('The first schema fails.')
  })
  const second = failing(() => {
    throw new Error('The second schema fails.')
  })
  const crosswind = await createCrosswind({
    path: '/realtime',
    channels: {
      'room.*': { kind: 'json' },
      first: { kind: 'json', validate: first },
      second: { kind: 'json', validate: second },
    },
    authorize: 'everyone',
  })
  const server = createServer((_request, response) => response.end('own'))
  crosswind.attach(server)
  const port = await openPort(server)
  process.on('message', (order: Order) => {
    if (order === 'write on standard error') process.stderr.write('The application’s own words.\n')
    else for (const word of ['Once', 'Twice']) output.say('log-up', `${word} in one turn.`)
    process.send?.(order)
  })
  process.once('SIGTERM', async () => {
    await crosswind.close({ drainMs: 0 })
    server.close()
    server.closeAllConnections()
    process.disconnect?.()
  })
  process.send?.(`http://127.0.0.1:${port}`)
}

if (import.meta.main) await serve()
