// The server as a process: its sentences when it cannot listen, its lines as JSON, and --open.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, watch } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import net from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import tls from 'node:tls'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import { openPort } from '../scripts/open-port.ts'

const root = join(import.meta.dirname, '..')
const folder = temporaryFolder()

interface Ended {
  readonly code: number | null
  readonly errors: string
}

/** Runs the program until it ends; `below` is a command that runs it with fewer rights. */
async function run(flags: readonly string[], below: readonly string[] = []): Promise<Ended> {
  const program = [process.execPath, 'app/main.ts', '--data-folder', folder, '--sensor-source', 'none']
  const [command = process.execPath, ...args] = [...below, ...program, ...flags]
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] })
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  return { code, errors }
}

const ownOfASecond = 'A second server needs --port, --http1-port and --data-folder of its own.'

async function taken(): Promise<{ port: number; server: net.Server }> {
  const server = net.createServer()
  return { port: await openPort(server), server }
}

for (const flag of ['--port', '--http1-port']) {
  const other = flag === '--port' ? '--http1-port' : '--port'

  test(`${flag} in use: one sentence with port and flag, exit code 1`, async () => {
    const { port, server } = await taken()
    const ended = await run([flag, String(port), other, '0'])
    server.close()
    assert.deepEqual(ended, {
      code: 1,
      errors: `Crosswind did not start. Port ${port} is in use on localhost: stop the program that uses it, or choose another with ${flag} (0 selects a free one). ${ownOfASecond}\n`,
    })
  })
}

test('--port in use, with workers: port and flag', async () => {
  const { port, server } = await taken()
  const ended = await run(['--port', String(port), '--http1-port', '0', '--workers', '2'])
  server.close()
  assert.deepEqual(ended, {
    code: 1,
    errors: `Crosswind did not start. Port ${port} is in use on localhost: stop the program that uses it, or choose another with --port (0 selects a free one).\n`,
  })
})

/** Ports below this one need a privilege (ip(7)); null if the platform has no such rule. */
function firstFreePort(): number | null {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))
  } catch {
    return null
  }
}

/** Root may listen anywhere, so drop that privilege first. */
const unprivileged =
  process.getuid?.() === 0
    ? ['setpriv', '--bounding-set=-net_bind_service', '--inh-caps=-net_bind_service', '--']
    : []
const cannotBeRefused = (firstFreePort() ?? 0) <= 81 && 'this user may listen on every port'

for (const [flag, other] of [
  ['--port', '--http1-port'],
  ['--http1-port', '--port'],
] as const) {
  test(`${flag} without the right to listen there: one sentence with port and flag`, {
    skip: cannotBeRefused,
  }, async () => {
    assert.deepEqual(await run([flag, '81', other, '0'], unprivileged), {
      code: 1,
      errors: `Crosswind did not start. Port 81 needs more rights than this user has: choose one above 1023 with ${flag}.\n`,
    })
  })
}

const isOnAnyPort = ['--port', '0', '--http1-port', '0']

test('an address of another machine: one sentence with --host', async () => {
  const { code, errors } = await run([...isOnAnyPort, '--host', '192.0.2.1'])
  assert.equal(code, 1)
  assert.match(
    errors,
    /^Crosswind did not start\. 192\.0\.2\.1 is not an address of this machine, [^\n]*--port[^\n]*--host[^\n]*\.\n$/,
  )
})

test('a name without an address: one sentence with --host', async () => {
  const { code, errors } = await run([...isOnAnyPort, '--host', 'nowhere.invalid'])
  assert.equal(code, 1)
  assert.match(
    errors,
    /^Crosswind did not start\. The name nowhere\.invalid has no address, [^\n]*--host[^\n]*\.\n$/,
  )
})

type Line = Readonly<Record<string, unknown>>

/** Starts the program, by a command if `below` is one; every printed line must be an object. */
function startJson(
  flags: readonly string[],
  env: Readonly<Record<string, string>> = {},
  below: readonly string[] = [],
) {
  const program = [process.execPath, 'app/main.ts', '--data-folder', folder, ...flags]
  const [command = process.execPath, ...args] = [...below, ...program]
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: Line[] = []
  const waiting = new Map<unknown, (line: Line) => void>()
  const closed = [child.stdout, child.stderr].map(async (input) => {
    for await (const text of createInterface({ input })) {
      const line = JSON.parse(text) as Line
      lines.push(line)
      waiting.get(line.code)?.(line)
    }
  })
  const ended = Promise.all([once(child, 'exit'), ...closed]).then(([[code]]) => code as number | null)
  const lineOf = (code: string) =>
    Promise.race([
      new Promise<Line>((resolve) => {
        const known = lines.find((line) => line.code === code)
        if (known) resolve(known)
        else waiting.set(code, resolve)
      }),
      ended.then(() => assert.fail(`it ended without a line of ${code}: ${JSON.stringify(lines)}`)),
    ])
  return { child, lines, lineOf, ended }
}

/** A HEADERS frame must belong to a stream (RFC 9113, 6.2). */
const headersOfNoStream = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
  Buffer.from([0, 0, 0, 1, 5, 0, 0, 0, 0]),
])

test('--log-format json: start, an incident, the end of a worker and the stop are an object each, and nothing else is printed', async () => {
  const flags = [...isOnAnyPort, '--log-format', 'json', '--workers', '2', '--sensor-source', 'recorded']
  const { child, lines, lineOf, ended } = startJson([...flags, '--sensor-file', 'none.log'])
  const { ports, process: first } = (await lineOf('started')) as Line & {
    ports: Readonly<Record<string, number>>
  }
  assert.equal(first, 'log')
  const port = ports['2'] as number
  const peer = tls.connect({ port, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false })
  peer.on('error', () => undefined)
  peer.write(headersOfNoStream)
  peer.resume()
  const broken = await lineOf('http2-violation')
  assert.match(String(broken.process), /^worker-[12]$/)
  process.kill(Number(broken.pid), 'SIGKILL')
  assert.equal((await lineOf('worker-ended')).worker, broken.process)
  child.kill('SIGTERM')
  assert.equal(await ended, 0)
  const codes = lines.map(({ code }) => code)
  assert.deepEqual(codes, [
    'sensor-trouble',
    'started',
    'http2-violation',
    'worker-ended',
    'stopping',
    'stopped',
  ])
  for (const { time, level, message } of lines) {
    assert.equal(new Date(String(time)).toISOString(), time)
    assert.match(`${level} ${message}`, /^(info|warn|error) \S/)
  }
})

for (const [what, flags, env] of [
  ['flag', ['--log-format', 'json', '--port', 'none'], {}],
  ['variable', ['--port', 'none'], { CROSSWIND_LOG_FORMAT: 'json' }],
] as const) {
  test(`a ${what} that requests JSON applies even to the error about another setting`, async () => {
    const { lines, ended } = startJson(flags, env)
    assert.equal(await ended, 1)
    const [line] = lines
    assert.deepEqual([lines.length, line?.level, line?.code], [1, 'fatal', 'not-started'])
    assert.match(String(line?.message), /^Crosswind did not start\. port is "none" \(from --port\)/)
  })
}

test('where the system allows few open files, the start says so, and so does the first connection that is cut', {
  skip: process.platform === 'win32' && 'needs ulimit',
}, async (t) => {
  const few = ['sh', '-c', 'ulimit -n 200; exec "$@"', 'sh']
  const flags = [...isOnAnyPort, '--log-format', 'json', '--sensor-source', 'none']
  const { child, lineOf, ended } = startJson(flags, {}, few)
  t.after(() => child.kill('SIGKILL'))
  const { openFiles, connections } = await lineOf('connections-limited')
  assert.deepEqual([openFiles, connections], [200, 36])
  const { ports } = (await lineOf('started')) as Line & { ports: Readonly<Record<string, number>> }
  const sockets = Array.from({ length: 260 }, (_, n) =>
    net.connect(ports[n % 2 === 0 ? '2' : '1.1'] as number, '127.0.0.1'),
  )
  for (const socket of sockets) socket.on('error', () => undefined).resume()
  t.after(() => sockets.forEach((socket) => void socket.destroy()))
  const { message } = await lineOf('connection-failed')
  assert.equal(message, 'A connection was cut: too many are open (limits.maxConnections)')
  child.kill('SIGTERM')
  assert.equal(await ended, 0)
})

/**
 * Starts the program with `--open`, and only that folder in PATH; resolves to its output when
 * `done` is true.
 */
async function openWith(path: string, done: (printed: string) => boolean): Promise<string> {
  const args = ['app/main.ts', '--data-folder', folder, '--sensor-source', 'none', ...isOnAnyPort, '--open']
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  await new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.stdout.on('data', (chunk) => {
      printed += chunk
      if (done(printed)) resolve()
    })
  })
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  assert.equal((await exited)[0], 0)
  return printed
}

const hasTerminals = spawnSync('script', ['--version']).error === undefined

for (const [where, isTerminal] of [
  ['on a terminal the start prints invitations that admit', true],
  ['a log gets no invitation', false],
] as const)
  test(`--invite listens for other devices; ${where}`, {
    skip: isTerminal && !hasTerminals && 'script is not installed',
  }, async (t) => {
    const args = [
      'app/main.ts',
      '--data-folder',
      temporaryFolder(t),
      '--sensor-source',
      'none',
      ...isOnAnyPort,
    ]
    const words = [process.execPath, ...args, '--invite']
    const [command = '', ...rest] = isTerminal
      ? ['script', '--quiet', '--command', `exec ${words.map((word) => `'${word}'`).join(' ')}`, '/dev/null']
      : words
    const child = spawn(command, rest, { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] })
    t.after(() => child.kill('SIGTERM'))
    let printed = ''
    for await (const chunk of child.stdout) {
      printed += chunk
      if (printed.includes('Ctrl-C')) break
    }
    const links = printed.match(/https:\S+invitation=\S+/g) ?? []
    assert.equal(links.length > 0, isTerminal, printed)
    assert.match(printed, isTerminal ? /On this computer, for every page:/ : /npm run invite {2}creates an/)
    for (const link of links) {
      const { hostname, port, pathname, search } = new URL(link)
      const answer = await new Promise<IncomingMessage>((resolve, reject) =>
        get({ hostname, port, path: pathname + search, rejectUnauthorized: false }, resolve).on(
          'error',
          reject,
        ),
      )
      answer.resume()
      assert.equal(answer.statusCode, 303)
    }
  })

const isLinux = { skip: process.platform !== 'linux' }

test('--open starts the platform’s opener with the printed address', isLinux, async () => {
  const bin = await mkdtemp(join(folder, 'bin-'))
  const opened = join(bin, 'opened')
  await writeFile(
    join(bin, 'xdg-open'),
    `#!/bin/sh\necho "$1" > ${opened}.new\n/bin/mv ${opened}.new ${opened}\n`,
    { mode: 0o755 },
  )
  const { promise: isOpened, resolve } = Promise.withResolvers<void>()
  const watching = watch(bin, (_, name) => name === 'opened' && resolve())
  const printed = await openWith(bin, (text) => text.includes('Ctrl-C'))
  await isOpened
  watching.close()
  const [, address] = /open {2}(https:\S+)/.exec(printed) ?? []
  assert.equal((await readFile(opened, 'utf8')).trim(), address)
})

test('--open without an opener says so, and the server runs', isLinux, async () => {
  const bin = await mkdtemp(join(folder, 'bin-'))
  const printed = await openWith(bin, (text) => text.includes('No browser was opened'))
  assert.match(
    printed,
    /No browser was opened: xdg-open is not installed; open https:\/\/localhost:\d+ yourself\./,
  )
})
