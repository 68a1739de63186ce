// Promises that only a server of one's own can be held to: it is slowed down, filled up, drained and restarted.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Config } from '../../server/config/config.ts'
import { startTestServer, type TestServer, testConfig } from '../../server/testing.ts'
import { isKind, type Message } from '../../server/wire/envelope.ts'
import type { Mode } from '../../server/wire/modes.ts'
import { now } from '../../web/transports/transport.ts'
import { draftOf, type FleetClient, openClient } from '../fleet/client.ts'

export function testOwnPromises(mode: Mode): void {
  async function start(t: TestContext, change: Partial<Config> = {}): Promise<TestServer> {
    const server = await startTestServer(change)
    t.after(() => server.close())
    return server
  }

  function open(t: TestContext, { origin, ca }: TestServer, asked: Record<string, string>): FleetClient {
    const query = new URLSearchParams({ channels: 'main', ...asked })
    const client = openClient({ mode, origin: origin[mode.http], ca, query })
    t.after(() => client.close())
    return client
  }

  test('a window that does not read delays no other, and gets all of it once it reads', async (t) => {
    const server = await start(t, { limits: { ...testConfig.limits, logBytes: 16 * 1024 * 1024 } })
    const slow = open(t, server, { window: 'slow' })
    const author = open(t, server, { window: 'author' })
    const { cursor } = await slow.next('welcome')
    await author.next('welcome')
    slow.pause()
    const html = 'x'.repeat(60_000)
    for (let n = 1; n <= 100; n += 1) await author.send(draftOf('author', n, html))
    for (let n = 1; n <= 100; n += 1) assert.equal((await author.next('message')).message.id, `author-${n}`)
    slow.resume()
    if (mode.isPush) {
      // It fell behind by more than its queue holds: it is sent away to resume, and told why.
      assert.equal((await slow.ended).code, 'overflow')
    }
    const reached = lastSeq(slow) ?? Number(cursor.split(':')[1])
    const back = open(t, server, {
      window: 'slow',
      opening: '2',
      cursor: `${cursor.split(':')[0]}:${reached}`,
    })
    assert.equal((await back.next('welcome')).recovered, true)
    for (let n = reached + 1; n <= 100; n += 1) assert.equal((await back.next('message')).message.seq, n)
  })

  test('when the server drains every window is told once, with a time to come back, and let go', async (t) => {
    const server = await startTestServer()
    const client = open(t, server, { window: 'w1' })
    await client.next('welcome')
    const closed = server.close()
    const closing = await client.ended
    assert.equal(closing.code, 'draining')
    assert.ok(Number(closing.retryAfterMs) > 0)
    client.close()
    await closed
  })

  test('after a restart windows go on where they were, and what was stored is stored', async (t) => {
    const dataFolder = await mkdtemp(join(tmpdir(), 'crosswind-data-'))
    t.after(() => rm(dataFolder, { recursive: true, force: true }))
    const change = { storage: 'sqlite', dataFolder } as const
    const first = await startTestServer(change)
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

  test('a full server says so, and lets in again once there is room', async (t) => {
    const server = await start(t, { limits: { ...testConfig.limits, maxWindows: 1 } })
    const first = open(t, server, { window: 'w1' })
    await first.next('welcome')
    const second = open(t, server, { window: 'w2' })
    const closing = await second.ended
    assert.match(closing.sentence, /holds 1 windows, its limit/)
    assert.ok(Number(closing.retryAfterMs) > 0)
  })

  test('more messages a second than a window may send are held back or refused for a while, and none is lost', async (t) => {
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

  test('a newer stream of the same window takes the older one’s place, and never the other way', async (t) => {
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

  test('a window that lets hear of itself and falls silent is let go; one that never did is not asked to', async (t) => {
    if (!mode.isPush) return t.skip('its questions are its signs of life')
    const server = await start(t, { heartbeatMs: 1000 })
    const beating = open(t, server, { window: 'w1' })
    const quiet = open(t, server, { window: 'w2' })
    for (const client of [beating, quiet]) await client.next('welcome')
    beating.beat()
    assert.equal((await beating.ended).code, 'silent')
    assert.equal((await quiet.next('heartbeat')).newest, 0)
  })

  test('who asks for a page’s overview is told what the server makes of its edits, and nobody else is', async (t) => {
    const server = await start(t)
    const author = open(t, server, { window: 'author', channels: 'main,wind' })
    await author.next('welcome')
    await author.send(draftOf('author', 1, '<p>One two</p><p>three</p>'))
    const reader = open(t, server, { window: 'reader', channels: 'main,wind,overview.main' })
    const first = await nextOverview(reader)
    assert.deepEqual([first.body.words, first.body.characters, first.body.edits], [3, 12, 1])
    await author.send(draftOf('author', 2, '<p>One</p>'))
    const second = await nextOverview(reader)
    assert.deepEqual([second.body.words, second.body.editsLastMinute], [1, 2])
    const back = open(t, server, { window: 'late', channels: 'main,overview.main' })
    assert.equal((await nextOverview(back)).body.words, 1)
    const refused = await author.send({ ...draftOf('author', 3, ''), channel: 'overview.main' })
    assert.equal(refused.type === 'refused' && refused.code, 'read-only-channel')
    const kinds = author.waiting().map((frame) => frame.type === 'message' && frame.message.kind)
    assert.ok(!kinds.includes('overview'))
  })

  test('who asks for the time is told it, stamped between the question and its answer', async (t) => {
    const server = await start(t)
    const client = open(t, server, { window: 'w1' })
    await client.next('welcome')
    const stamps: number[] = [now()]
    for (let n = 0; n < 3; n += 1) {
      client.askClock()
      const { sent, received, at } = await client.next('clock')
      stamps.push(sent, received, at, now())
    }
    // The server is in this process: there is but one clock.
    assert.deepEqual(
      stamps,
      stamps.toSorted((one, other) => one - other),
    )
  })
}

async function nextOverview(client: FleetClient): Promise<Message<'overview'>> {
  for (;;) {
    const { message } = await client.next('message')
    if (isKind(message, 'overview')) return message
  }
}

function lastSeq(client: FleetClient): number | undefined {
  const seqs = client.waiting().map((frame) => (frame.type === 'message' ? frame.message.seq : 0))
  const last = Math.max(0, ...seqs)
  return last === 0 ? undefined : last
}
