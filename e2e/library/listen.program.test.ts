// A server on its own ports: beside an application's routes, with metrics, in several processes.

import assert from 'node:assert/strict'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text as consume } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { ensureCertificate } from '../../certs/certificate.ts'
import { type ConnectOptions, connect } from '../../client/connect.ts'
import { type HttpVersion, httpVersions, type Mode, modeNamed } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { type ConnectedClient, createCrosswind } from '../../server/index.ts'
import { createNodePlatform } from '../clients/client.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { type Said, start, untilState } from './testing.ts'
import { forkWorkers, startWithWorkers } from './workers-process.ts'

const certificate = (t: TestContext) => ensureCertificate({ directory: temporaryFolder(t), now: new Date() })

const open = (workers = 1) =>
  createCrosswind({
    path: '/realtime',
    channels: { 'room.*': { kind: 'json' } },
    authorize: 'everyone',
    workers,
  })

/** Sends a request to the application. */
async function ask(t: TestContext, version: '1.1' | '2', port: number, ca: string, path: string) {
  const http = connectHttp(version, `https://localhost:${port}`, ca)
  t.after(() => http.close())
  const { status, body } = await http.ask({ path })
  return { status, text: await textOf(body) }
}

async function post(t: TestContext, port: number, ca: string, path: string, content: object) {
  const http = connectHttp('2', `https://localhost:${port}`, ca)
  t.after(() => http.close())
  const headers = { 'content-type': 'application/json' }
  const { body } = await http.ask({ method: 'POST', path, headers, body: JSON.stringify(content) })
  return textOf(body)
}

/** On a connection of its own. */
function connectTo(
  t: TestContext,
  ports: Readonly<Record<HttpVersion, number>>,
  ca: string,
  mode: Mode,
  options: ConnectOptions = {},
) {
  const origin = `https://localhost:${ports[mode.http]}`
  const http = connectHttp(mode.http, origin, ca)
  const client = connect(`${origin}/realtime`, {
    modes: [mode.name],
    platform: createNodePlatform(http),
    ...options,
  })
  t.after(() => {
    client.close()
    http.close()
  })
  return client
}

for (const version of httpVersions)
  test(`HTTP/${version}: serves what is below its path, and the application all else`, async (t) => {
    const { cert, key } = await certificate(t)
    const crosswind = await open()
    t.after(() => crosswind.close({ drainMs: 0 }))
    const ports = await crosswind.listen({ port: 0, http1Port: 0, cert, key }, ({ url }, response) =>
      response.end(`the application’s ${url}`),
    )
    const port = ports[version]
    assert.deepEqual(await ask(t, version, port, cert, '/about'), {
      status: 200,
      text: 'the application’s /about',
    })
    const mode = modeNamed(`sse/${version}`) as Mode
    const one = connectTo(t, ports, cert, mode).channel<Said>('room.1')
    const other = connectTo(t, ports, cert, mode).channel<Said>('room.1')
    const heard = new Promise<Said>((resolve) => other.on('message', ({ data }) => resolve(data)))
    await one.publish({ text: 'hello' })
    // Both have joined.
    await other.publish({ text: 'too' })
    assert.match((await heard).text, /hello|too/)
    assert.deepEqual(crosswind.ready(), { isReady: true, isDraining: false, reason: null })
    assert.match(await crosswind.metrics(), new RegExp(`^crosswind_windows\\{mode="${mode.name}"\\} 2$`, 'm'))
  })

test('without an application, all other requests and WebSockets get 404', async (t) => {
  const { cert, key } = await certificate(t)
  const crosswind = await open()
  t.after(() => crosswind.close({ drainMs: 0 }))
  const { '1.1': port } = await crosswind.listen({ port: 0, http1Port: 0, cert, key })
  assert.equal((await ask(t, '1.1', port, cert, '/about')).status, 404)
  const http = connectHttp('1.1', `https://localhost:${port}`, cert)
  t.after(() => http.close())
  const socket = http.openSocket('/elsewhere')
  const error = await new Promise<Error>((resolve) => socket.on('error', resolve))
  assert.match(error.message, /404/)
})

test('a server that is closed is not ready, and says why', async () => {
  const crosswind = await open()
  await crosswind.close({ drainMs: 0 })
  assert.deepEqual(crosswind.ready(), { isReady: false, isDraining: true, reason: 'it is shutting down' })
})

test('a port that is in use is named, and everything is closed', async (t) => {
  const { cert, key } = await certificate(t)
  const taken = createServer()
  const port = await openPort(taken, '127.0.0.1', 0)
  t.after(() => taken.close())
  const crosswind = await open()
  await assert.rejects(crosswind.listen({ port, http1Port: 0, cert, key }), {
    message: new RegExp(`^Port ${port} is in use on localhost`),
  })
  assert.equal(crosswind.ready().isReady, false)
})

test('a server is on ports of its own or on the application’s, and workers only on its own', async (t) => {
  const { cert, key } = await certificate(t)
  const [attached, listening, several] = await Promise.all([open(), open(), open(2)])
  t.after(() => Promise.all([attached, listening, several].map((one) => one.close({ drainMs: 0 }))))
  const place = { port: 0, http1Port: 0, cert, key }
  attached.attach(createHttpServer())
  await assert.rejects(attached.listen(place), { message: /^listen: this server is attached/ })
  await listening.listen(place)
  assert.throws(() => listening.attach(createHttpServer()), { message: /^attach: this server listens/ })
  assert.throws(() => several.attach(createHttpServer()), { message: /^attach: several workers/ })
})

test('a server listens once, and not after it was closed; ports that are being opened are closed with it', async (t) => {
  const { cert, key } = await certificate(t)
  const place = { port: 0, http1Port: 0, cert, key }
  const crosswind = await open()
  const ports = await crosswind.listen(place)
  await assert.rejects(crosswind.listen(place), { message: /^listen: this server listens already/ })
  assert.equal((await ask(t, '2', ports['2'], cert, '/about')).status, 404)
  await crosswind.close({ drainMs: 0 })
  await assert.rejects(crosswind.listen(place), { message: /^listen: this server/ })
  const hasty = await open()
  const opening = hasty.listen(place)
  await hasty.close({ drainMs: 0 })
  const closed = await opening
  await assert.rejects(ask(t, '2', closed['2'], cert, '/about'))
})

test('an error that an application receives counts in its figures, too', async (t) => {
  const told: unknown[] = []
  const { crosswind, origin } = await start(t, {
    onFailure: (error) => told.push(error),
    authorize() {
      throw new Error('The database is away.')
    },
  })
  const count = async () =>
    Number(/^crosswind_incidents_total\{code="stream-failed"\} (\d+)/m.exec(await crosswind.metrics())?.[1])
  const before = await count()
  const http = connectHttp('1.1', origin, null)
  t.after(() => http.close())
  const { status } = await http.ask({ path: '/realtime/channels/room.1' })
  assert.deepEqual([status, told.length, await count()], [500, 1, before + 1])
})

test('each process prints JSON under its name, and the first process prints why a worker cannot serve', {
  skip: process.platform !== 'linux' && 'the system spreads connections over processes only on Linux',
}, async (t) => {
  const { certFile, keyFile } = await certificate(t)
  const print = async (files: { readonly certFile: string; readonly keyFile: string }) => {
    const child = forkWorkers(files, true)
    t.after(() => child.kill('SIGKILL'))
    child.once('message', () => child.kill('SIGTERM'))
    const text = child.stdout ? await consume(child.stdout) : ''
    // Node 22 warns of its SQLite.
    return text
      .trim()
      .split('\n')
      .map((line): { code: string; process: string; message: string } => JSON.parse(line))
      .filter(({ code }) => code !== 'process-warning')
  }
  const served = await print({ certFile, keyFile })
  assert.deepEqual(
    served.map((line) => `${line.process}: ${line.code}`).toSorted(),
    ['log', 'worker-1', 'worker-2'].flatMap((name) => [`${name}: serving`, `${name}: starting`]),
  )
  const missing = join(temporaryFolder(t), 'missing.pem')
  const printed = await print({ certFile: missing, keyFile })
  const [{ process: name, message } = {}, ...others] = printed.filter(({ code }) => code === 'not-started')
  assert.deepEqual([name, others], ['log', []])
  assert.match(message ?? '', /^The rooms did not open\. .*missing\.pem/)
})

test('several processes serve on the same ports: one log, one secret, one set of figures', {
  skip: process.platform !== 'linux' && 'the system spreads connections over processes only on Linux',
}, async (t) => {
  const { cert, certFile, keyFile } = await certificate(t)
  const { child, ports, ended } = await startWithWorkers(t, { certFile, keyFile })
  const heard: string[] = []
  const isComplete = Promise.withResolvers<void>()
  const reader = connectTo(t, ports, cert, modeNamed('sse/2') as Mode, { token: () => 'ada' })
  reader.channel<Said>('room.1', { from: 'start' }).on('message', ({ data, user }) => {
    heard.push(`${user ?? 'server'}: ${data.text}`)
    if (heard.length === 11) isComplete.resolve()
  })
  // One ticket, on connections to either process.
  const asked = await post(t, ports['2'], cert, '/realtime/session', { token: 'bob' })
  const { ticket } = JSON.parse(asked)
  const pids = new Set<string>()
  for (let count = 0; count < 40 && pids.size < 2; count += 1) {
    const http = connectHttp('2', `https://localhost:${ports['2']}`, cert)
    const { body } = await http.ask({ path: '/own' })
    pids.add(await textOf(body))
    const query = new URLSearchParams({ after: 'newest', ticket })
    const { status, body: rest } = await http.ask({ path: `/realtime/channels/room.1?${query}` })
    await textOf(rest)
    http.close()
    assert.equal(status, 200)
  }
  assert.equal(pids.size, 2)
  // At either process.
  const writers = Array.from({ length: 10 }, (_, place) =>
    connectTo(t, ports, cert, modeNamed('websocket/1.1') as Mode, { token: () => `user-${place}` }),
  )
  for (const [place, writer] of writers.entries())
    await writer.channel<Said>('room.1').publish({ text: String(place) })
  await isComplete.promise
  assert.deepEqual(heard, [
    'server: from the first process',
    ...writers.map((_, place) => `user-${place}: ${place}`),
  ])
  const [sender, ...others] = writers.map((writer) => writer.channel<Said>('room.1'))
  const places = [reader.channel<Said>('room.1'), ...others].map(
    (room) => new Promise((resolve) => room.on('volatile', ({ data }) => resolve(data.text))),
  )
  await sender?.sendVolatile({ text: 'pointer' })
  assert.deepEqual(new Set(await Promise.all(places)), new Set(['pointer']))
  const { text } = await ask(t, '2', ports['2'], cert, '/metrics')
  const names = Array.from(
    text.matchAll(/^process_start_time_seconds\{process="([^"]+)"\}/gm),
    ([, name]) => name,
  )
  assert.deepEqual(names.toSorted(), ['log', 'worker-1', 'worker-2'])
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})

test('with several processes a message passes `before` in a worker, the listeners of each hear it, and all clients are known', {
  skip: process.platform !== 'linux' && 'the system spreads connections over processes only on Linux',
}, async (t) => {
  const { cert, certFile, keyFile } = await certificate(t)
  const { ports } = await startWithWorkers(t, { certFile, keyFile })
  const open = (user: string) =>
    connectTo(t, ports, cert, modeNamed('websocket/1.1') as Mode, { token: () => user })
  const heard: string[] = []
  const { promise: isComplete, resolve: complete } = Promise.withResolvers<void>()
  open('reader')
    .channel<Said>('room.2', { from: 'start' })
    .on('message', ({ data }) => {
      heard.push(data.text)
      if (heard.length === 5) complete()
    })
  const users = ['ada', 'ben', 'cem']
  for (const connection of users.map(open)) {
    await connection.channel<Said>('room.3').publish({ text: 'I am here' })
    await untilState(connection, ({ status }) => status === 'open')
  }
  const answers = new Map<number, readonly string[]>()
  for (let count = 0; count < 40 && answers.size < 2; count += 1) {
    const http = connectHttp('2', `https://localhost:${ports['2']}`, cert)
    const { body } = await http.ask({ path: '/clients' })
    const { pid, clients } = JSON.parse(await textOf(body))
    answers.set(pid, clients.map(({ user }: ConnectedClient) => user).toSorted())
    http.close()
  }
  assert.deepEqual([...answers.values()], [users, users])
  const asking = open('dan').channel<Said>('asked.1')
  for (const text of ['Why?', 'How?']) await asking.publish({ text })
  await isComplete
  assert.deepEqual(heard.toSorted(), [
    'ada joined',
    'ben joined',
    'cem joined',
    'dan asked: How?, by a worker',
    'dan asked: Why?, by a worker',
  ])
})
