// The library's two doors, without a browser.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type ConnectionState, type ConnectOptions, connect, type Room } from '../../client/index.ts'
import { createCrosswind } from '../../server/index.ts'
import { createNodePlatform } from '../clients/client.ts'

interface Said {
  readonly text: string
}

async function start(t: TestContext, refuse: (url: string) => boolean = () => false) {
  const server = createServer()
  const crosswind = await createCrosswind({
    ...{ path: '/realtime', channels: { 'room.*': { kind: 'json' } }, authorize: 'everyone' },
  })
  crosswind.attach(server)
  const take = server.listeners('request')[0] as (...given: unknown[]) => void
  server.removeAllListeners('request').on('request', (request, response) => {
    if (!refuse(request.url ?? '')) return take(request, response)
    request.socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`
  t.after(async () => {
    await crosswind.close({ drainMs: 0 })
    server.closeAllConnections()
    server.close()
  })
  const open = (options: Partial<ConnectOptions> = {}) => {
    const platform = createNodePlatform('1.1', origin, null)
    const opened = connect(`${origin}/realtime`, { platform, ...options })
    t.after(() => {
      opened.close()
      platform.close()
    })
    return opened
  }
  return { crosswind, open, origin }
}

/** Resolves to the first texts of a room. */
function texts(room: Room<Said>, count: number): Promise<readonly string[]> {
  const heard: string[] = []
  return new Promise((resolve) => {
    room.on('message', ({ data }) => {
      heard.push(data.text)
      if (heard.length === count) resolve(heard)
    })
  })
}

function untilState(opened: ReturnType<typeof connect>, is: (state: ConnectionState) => boolean) {
  if (is(opened.state)) return Promise.resolve(opened.state)
  return new Promise<ConnectionState>((resolve) => {
    const off = opened.on('state', (state) => {
      if (!is(state)) return
      off()
      resolve(state)
    })
  })
}

test('two clients chat; one that comes later reads from the start; the server publishes and reads', async (t) => {
  const { crosswind, open } = await start(t)
  const [ann, bob] = [open().channel<Said>('room.1'), open().channel<Said>('room.1')]
  const both = Promise.all([texts(ann, 3), texts(bob, 3)])
  const first = await ann.publish({ text: 'hello' })
  await bob.publish({ text: 'hi' })
  await crosswind.publish('room.1', { text: 'welcome' }, { id: 'greeting' })
  const said = ['hello', 'hi', 'welcome']
  assert.deepEqual(await both, [said, said])
  assert.deepEqual(await texts(open().channel<Said>('room.1', { from: 'start' }), 3), said)
  const read = await Array.fromAsync(crosswind.read('room.1', { after: first.seq }))
  assert.deepEqual(
    read.map(({ data }) => data),
    [{ text: 'hi' }, { text: 'welcome' }],
  )
})

test('the first mode that gets through is used, and named', async (t) => {
  const { open } = await start(t, (url) => /\/(stream|long-poll)\?/.test(url))
  const opened = open({ modes: ['sse/1.1', 'long-polling/1.1', 'polling/1.1'] })
  const room = opened.channel<Said>('room.1')
  await room.publish({ text: 'hello' })
  assert.equal((await untilState(opened, ({ status }) => status === 'open')).mode, 'polling/1.1')
})

test('switches to another of its modes, and loses nothing', async (t) => {
  const { open } = await start(t)
  const opened = open({ modes: ['sse/1.1', 'websocket/1.1'] })
  const room = opened.channel<Said>('room.1')
  const heard = texts(room, 2)
  await room.publish({ text: 'one' })
  opened.switch('websocket/1.1')
  await untilState(opened, ({ status, mode }) => status === 'open' && mode === 'websocket/1.1')
  await room.publish({ text: 'two' })
  assert.deepEqual(await heard, ['one', 'two'])
  assert.throws(
    () => opened.switch('sse/2'),
    /switch: there is no mode "sse\/2"; there are sse\/1\.1, websocket\/1\.1\./,
  )
})

test('over plain http only the modes of HTTP/1.1 are used; without one it says so', async (t) => {
  const { open, origin } = await start(t)
  assert.equal(open().state.mode, 'sse/1.1')
  assert.throws(() => connect(origin, { modes: ['sse/2'] }), /none of the modes sse\/2 works over plain http/)
  assert.throws(() => connect(origin, { modes: ['sse/3'] }), /there is no mode "sse\/3"/)
})

test('a refused message rejects with a code, and the next ones pass', async (t) => {
  const { open } = await start(t)
  const opened = open()
  const [room, other] = [opened.channel<Said>('room.1'), opened.channel<Said>('lobby')]
  await assert.rejects(other.publish({ text: 'x' }), { code: 'bad-shape' })
  assert.ok((await room.publish({ text: 'hello' })).seq > 0)
})
