// Promises of a mode that need a server of their own: slow windows, drain, restart, limits.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Config } from '../../app/config/config.ts'
import { startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import { now } from '../../client/transports.ts'
import type { Draft } from '../../protocol/messages.ts'
import type { WindowMode } from '../../protocol/modes.ts'
import { trace } from '../../protocol/trace.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { draftOf as editOf, nameOf, newKey } from '../clients/client.ts'
import { textOf } from '../clients/http-client.ts'
import { startApplication } from './application.ts'
import { type ContractClient, contentOf, openClient, type Reached } from './contract-client.ts'

type Server = Pick<TestServer, 'ports' | 'origin' | 'ca' | 'close'>

/** `close` ends what leads to a server, after it. */
type Reach = (server: Server) => Reached | Promise<Reached & Pick<TestServer, 'close'>>

type Started = Reached & Pick<TestServer, 'close'>

/** By window: called when it has fallen behind by more than its queue. */
const whenBehind = new Map<string, () => void>()
trace.stream = (told) => {
  const [name = '', cause] = told.split(' is sent away: ')
  if (cause?.startsWith('overflow')) whenBehind.get(name)?.()
}

/** What each test of a contract has: servers of one kind, and windows of one mode. */
type Stage = ReturnType<typeof stageOf>

function stageOf(mode: WindowMode, reach: Reach, isApplication: boolean) {
  const key = newKey()
  const onlyOnPages = { skip: isApplication && 'an application’s server has no wind and windows' }

  function startServer({ storage, dataFolder: folder = '', ...change }: Partial<Config>): Promise<Server> {
    if (!isApplication) return startTestServer({ ...change, ...(storage && { storage, dataFolder: folder }) })
    const { limits, heartbeatMs } = change
    const given = { ...(limits && { limits }), ...(heartbeatMs && { heartbeatMs }) }
    return startApplication({ ...given, ...(storage && { storage: { kind: 'sqlite', folder } }) })
  }

  async function startOne(change: Partial<Config>): Promise<Started> {
    const server = await startServer(change)
    const reached = await reach(server)
    return {
      ...reached,
      async close() {
        await server.close()
        if ('close' in reached) await reached.close()
      },
    }
  }

  async function start(t: TestContext, change: Partial<Config> = {}): Promise<Started> {
    const server = await startOne(change)
    t.after(() => server.close())
    return server
  }

  function draftOf(window: string, count: number, text: string): Draft {
    return { ...editOf(window, count, ''), ...contentOf(isApplication, text) }
  }

  function open(t: TestContext, { origin, connect }: Started, asked: Record<string, string>): ContractClient {
    const query = new URLSearchParams({ channels: 'main', key, ...asked })
    query.set('window', nameOf(key, query.get('window') ?? ''))
    const client = openClient({ mode, origin, ca: null, http: connect(), query })
    t.after(() => client.close())
    return client
  }

  return { mode, key, onlyOnPages, startOne, start, draftOf, open }
}

/** Each test slows down, fills, drains or restarts its own server: the page's, or an application's. */
export function testServerContract(mode: WindowMode, reach: Reach, isApplication = false): void {
  const stage = stageOf(mode, reach, isApplication)
  testDelivery(stage)
  testServerLife(stage)
  testWindowLife(stage)
  testClock(stage)
}

function testDelivery({ mode, key, onlyOnPages, start, draftOf, open }: Stage): void {
  test('a window that stops reading delays no other, and gets every message once it reads again', async (t) => {
    const server = await start(t, { limits: { ...testConfig.limits, logBytes: 32 * 1024 * 1024 } })
    const slow = open(t, server, { window: 'slow' })
    const author = open(t, server, { window: 'author' })
    const { cursor } = await slow.next('welcome')
    await author.next('welcome')
    slow.pause()
    let isBehind = !mode.isPush
    // At once: a WebSocket that does not read its farewell within five seconds is cut.
    whenBehind.set(nameOf(key, 'slow'), () => {
      isBehind = true
      slow.resume()
    })
    const html = 'x'.repeat(60_000)
    let sent = 0
    // A browser and a front buffer more than Node does before the server notices.
    while (sent < 100 || (!isBehind && sent < 400)) {
      // As many messages as fit into the author's own queue.
      const some = [1, 2, 3].map((index) => sent + index)
      await Promise.all(some.map((n) => author.send(draftOf('author', n, html))))
      for (const n of some) assert.equal((await author.next('message')).message.id, `author-${n}`)
      sent += some.length
    }
    slow.resume()
    if (mode.isPush) {
      // It fell behind by more than its queue.
      assert.equal((await slow.ended).code, 'overflow')
    }
    const reached = lastSeq(slow) ?? Number(cursor.split(':')[1])
    const back = open(t, server, {
      window: 'slow',
      opening: '2',
      cursor: `${cursor.split(':')[0]}:${reached}`,
    })
    assert.equal((await back.next('welcome')).recovered, true)
    for (let n = reached + 1; n <= sent; n += 1) assert.equal((await back.next('message')).message.seq, n)
  })

  test('no reading in a burst of 500 is lost', onlyOnPages, async (t) => {
    const folder = temporaryFolder(t)
    const file = join(folder, 'bursts.txt')
    await writeFile(file, burstsOf(500))
    const sensor = { ...testConfig.sensor, source: 'recorded', file, pace: 1000 } as const
    const server = await start(t, { sensor })
    const client = open(t, server, { window: 'w1', channels: 'main,wind' })
    const { cursor } = await client.next('welcome')
    const head = Number(cursor.split(':')[1])
    let last = head
    while (last < head + 1200) {
      const { message } = await client.next('message')
      // The snapshot comes first.
      if (message.seq > head) assert.equal(message.seq, last + 1)
      last = Math.max(last, message.seq)
    }
  })

  test('messages over the rate limit are delayed or refused temporarily, and none is lost', async (t) => {
    const server = await start(t, { limits: { ...testConfig.limits, messagesPerSecond: 20 } })
    const client = open(t, server, { window: 'w1' })
    await client.next('welcome')
    let unsent = Array.from({ length: 30 }, (_, index) => draftOf('w1', index + 1, ''))
    for (let tries = 0; unsent.length > 0 && tries < 500; tries += 1) {
      const answers = await Promise.allSettled(unsent.map(client.send))
      const busy = answers.filter((answer) => answer.status === 'rejected')
      unsent = unsent.slice(unsent.length - busy.length)
      const pauseMs = Number(busy[0]?.reason.retryAfterMs ?? 0)
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
    for (let n = 1; n <= 30; n += 1) assert.equal((await client.next('message')).message.id, `w1-${n}`)
  })
}

function testServerLife({ startOne, start, draftOf, open }: Stage): void {
  test('a draining server tells every window once when to reconnect, and closes it', async (t) => {
    const server = await startOne({})
    const client = open(t, server, { window: 'w1' })
    await client.next('welcome')
    const closed = server.close()
    const closing = await client.ended
    assert.equal(closing.code, 'draining')
    assert.ok(Number(closing.retryAfterMs) > 0)
    client.close()
    await closed
  })

  test('after a restart windows resume, and stored messages are still there', async (t) => {
    const dataFolder = temporaryFolder(t)
    const change = { storage: 'sqlite', dataFolder } as const
    const first = await startOne(change)
    const window = open(t, first, { window: 'w1' })
    const { cursor } = await window.next('welcome')
    for (const n of [1, 2]) await window.send(draftOf('w1', n, `${n}`))
    window.close()
    await first.close()

    const second = await start(t, change)
    const back = open(t, second, { window: 'w1', cursor })
    assert.equal((await back.next('welcome')).recovered, true)
    assert.equal((await back.send(draftOf('w1', 2, '2'))).type, 'stored')
    await back.send(draftOf('w1', 3, '3'))
    for (const n of [1, 2, 3]) assert.equal((await back.next('message')).message.id, `w1-${n}`)
  })

  test('a full server refuses windows with a sentence and a time to retry', async (t) => {
    const server = await start(t, { limits: { ...testConfig.limits, maxWindows: 1 } })
    const first = open(t, server, { window: 'w1' })
    await first.next('welcome')
    const second = open(t, server, { window: 'w2' })
    const closing = await second.ended
    assert.match(closing.sentence, /holds 1 windows, its limit/)
    assert.ok(Number(closing.retryAfterMs) > 0)
  })
}

function testWindowLife({ mode, key, onlyOnPages, start, draftOf, open }: Stage): void {
  test('a newer stream of the same window replaces the older one, never the reverse', async (t) => {
    const server = await start(t)
    const older = open(t, server, { window: 'w1', opening: '1' })
    await older.next('welcome')
    const newer = open(t, server, { window: 'w1', opening: '2' })
    await newer.next('welcome')
    if (!mode.isPush) return
    assert.equal((await older.ended).code, 'replaced')
    const late = open(t, server, { window: 'w1', opening: '1' })
    assert.equal((await late.ended).code, 'replaced')
    const author = open(t, server, { window: 'w2' })
    await author.next('welcome')
    await author.send(draftOf('w2', 1, ''))
    assert.equal((await newer.next('message')).message.id, 'w2-1')
  })

  test('a window that stops sending heartbeats is closed; one that never sent any stays', async (t) => {
    if (!mode.isPush) return t.skip('polls are heartbeats')
    const server = await start(t, { heartbeatMs: 1000 })
    const beating = open(t, server, { window: 'w1' })
    const quiet = open(t, server, { window: 'w2' })
    for (const client of [beating, quiet]) await client.next('welcome')
    beating.beat({})
    assert.equal((await beating.ended).code, 'silent')
    assert.equal((await quiet.next('heartbeat')).newest, 0)
  })

  test('/api/leave removes a polling window at once, but no window with a stream', onlyOnPages, async (t) => {
    const server = await start(t)
    const going = open(t, server, { window: 'w1', opening: '1' })
    await going.next('welcome')
    const http = server.connect()
    t.after(http.close)
    if (!mode.isPush) going.close()
    const query = new URLSearchParams({ window: nameOf(key, 'w1'), key, opening: '1' })
    const { status, body } = await http.ask({ method: 'POST', path: `/api/leave?${query}` })
    await textOf(body)
    assert.equal(status, 204)
    const answer = await http.ask({ path: '/api/windows' })
    const { windows } = JSON.parse(await textOf(answer.body))
    const isHere = windows.some(({ id }: { id: string }) => id === nameOf(key, 'w1'))
    assert.equal(isHere, mode.isPush)
  })

  test(
    'a window that also asks for an overview of its page, as up to version 0.2, is served without one',
    onlyOnPages,
    async (t) => {
      const server = await start(t)
      const window = open(t, server, { window: 'w', channels: 'main,wind,overview.main' })
      await window.next('welcome')
      const refused = await window.send({ ...draftOf('w', 1, ''), channel: 'overview.main' })
      assert.equal(refused.type === 'refused' && refused.code, 'read-only-channel')
      assert.equal((await window.send(draftOf('w', 2, 'one'))).type, 'stored')
      assert.equal((await window.next('message')).message.id, 'w-2')
      const back = open(t, server, { window: 'late', channels: 'main,overview.main' })
      assert.equal((await back.next('message')).message.id, 'w-2')
    },
  )
}

function testClock({ start, open }: Stage): void {
  test('the server’s time is stamped between a request and its response', async (t) => {
    const server = await start(t)
    const client = open(t, server, { window: 'w1' })
    await client.next('welcome')
    const stamps: number[] = [now()]
    for (let n = 0; n < 3; n += 1) {
      client.askClock()
      const { sent, received, at } = await client.next('clock')
      stamps.push(sent, received, at, now())
    }
    // The server is in this process, on the same clock.
    assert.deepEqual(
      stamps,
      stamps.toSorted((one, other) => one - other),
    )
  })
}

/** A raw log for a pace of 1000: one reading, then the others together half a second later. */
function burstsOf(count: number): string {
  const startAt = Date.UTC(2026, 0, 1)
  const stamps = Array.from({ length: count }, (_, index) => startAt + (index === 0 ? 0 : 500_000 + index))
  return stamps.map((at) => `${new Date(at).toISOString()} \x02A,356,006.94,M,60,\x0303\n`).join('')
}

function lastSeq(client: ContractClient): number | undefined {
  const seqs = client.waiting().map((frame) => (frame.type === 'message' ? frame.message.seq : 0))
  const last = Math.max(0, ...seqs)
  return last === 0 ? undefined : last
}
