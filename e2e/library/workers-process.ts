// An application with several processes and a route of its own; this file is its entry point.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import Koa from 'koa'
import { loadCertificate } from '../../certs/certificate.ts'
import { createCrosswind, type Publication } from '../../server/index.ts'
import { isWorker, output, printAs, reportFailedStart } from '../../server/program.ts'
import type { Said } from './testing.ts'

const workers = 2
const lines = output.with({ starting: 'info', serving: 'info' })

interface Started {
  readonly ports: { readonly '2': number; readonly '1.1': number }
}

export async function startWithWorkers(
  t: TestContext,
  files: { readonly certFile: string; readonly keyFile: string },
) {
  const child = forkWorkers(files)
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const [{ ports }] = (await Promise.race([
    once(child, 'message'),
    ended.then(([code, signal]) => Promise.reject(new Error(`It ended with ${signal ?? code}.`))),
  ])) as [Started]
  return { child, ports, ended }
}

/** Its standard output is a pipe with `silent`. A worker of a program whose `certFile` is missing cannot serve. */
export function forkWorkers(
  { certFile, keyFile }: { readonly certFile: string; readonly keyFile: string },
  silent = false,
) {
  return fork(import.meta.filename, [certFile, keyFile], { silent })
}

async function serve(certFile: string, keyFile: string): Promise<void> {
  const crosswind = await createCrosswind({
    path: '/realtime',
    channels: {
      'room.*': { kind: 'json' },
      'asked.*': {
        kind: 'json',
        before: ({ data }: Publication<Said>) => ({
          data: { text: `${data.text}, by a ${isWorker() ? 'worker' : 'process'}` },
        }),
      },
    },
    authorize: ({ token }) => (token ? { user: token, read: ['*'], write: ['*'] } : null),
    workers,
  })
  const app = new Koa()
  app.use(async (ctx) => {
    if (ctx.path === '/metrics') ctx.body = await crosswind.metrics()
    else if (ctx.path === '/clients')
      ctx.body = { pid: process.pid, clients: await crosswind.clientsOn('room.3') }
    else ctx.body = String(process.pid)
  })
  // Every process publishes the same answer, which is stored once.
  crosswind.on<Said>('asked.*', ({ data, user, seq }) =>
    crosswind.publish('room.2', { text: `${user} asked: ${data.text}` }, { id: `answer.${seq}` }),
  )
  crosswind.watchClients('room.3', ({ movement, client }) =>
    crosswind.publish('room.2', { text: `${client.user} ${movement}` }),
  )
  // The first process opens no port.
  const { cert, key } = isWorker()
    ? await loadCertificate({ certFile, keyFile }, new Date())
    : { cert: '', key: '' }
  const ports = await crosswind.listen({ port: 0, http1Port: 0, cert, key }, app.callback() as never)
  lines.say('serving', 'This process serves.', { ports })
  if (crosswind.isWorker) return
  await crosswind.publish('room.1', { text: 'from the first process' })
  process.once('SIGTERM', async () => {
    await crosswind.close({ drainMs: 200 })
    process.exit()
  })
  process.send?.({ ports } satisfies Started)
}

if (import.meta.main) {
  const [, , certFile = '', keyFile = ''] = process.argv
  printAs('json', { workers })
  lines.say('starting', 'This process starts.')
  try {
    await serve(certFile, keyFile)
  } catch (error) {
    reportFailedStart('The rooms did not open.', error)
  }
}
