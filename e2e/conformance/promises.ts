// What every transport promises a window, whoever's server speaks it: one suite for all modes and all servers.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Mode } from '../../server/wire/modes.ts'
import { draftOf, type FleetClient, openClient } from '../fleet/client.ts'
import { hostileTexts } from './hostile-texts.ts'

export interface Subject {
  /** Of the mode's listener. */
  readonly origin: string
  /** Certificate to trust, PEM. */
  readonly ca: string
  /** A session's cookie, where the server asks for one. */
  readonly cookie?: string | undefined
  readonly maxMessageBytes: number
}

/** `subject` is asked for once the tests run. */
export function testPromises(mode: Mode, subject: () => Subject): void {
  const opened: FleetClient[] = []
  // Names are this run's own: a server that keeps its log has seen the last run's.
  const run = Math.random().toString(36).slice(2, 8)
  let channels = 0
  let windows = 0

  after(() => {
    for (const client of opened) client.close()
  })

  function open(channel: string, asked: Record<string, string> = {}): FleetClient {
    const { origin, ca, cookie } = subject()
    const query = new URLSearchParams({ window: newWindow(), channels: channel, ...asked })
    const client = openClient({ mode, origin, ca, cookie, query })
    opened.push(client)
    return client
  }

  async function joined(channel: string, asked: Record<string, string> = {}): Promise<FleetClient> {
    const client = open(channel, asked)
    await client.next('welcome')
    return client
  }

  /** Its own channel for each test, so that none sees another's messages. */
  function newChannel(): string {
    channels += 1
    return `${run}-c${channels}`
  }

  function newWindow(): string {
    windows += 1
    return `${run}-w${windows}`
  }

  test('welcomes, and says which HTTP version it saw', async () => {
    const window = newWindow()
    const client = open(newChannel(), { window })
    const welcome = await client.next('welcome')
    assert.deepEqual([welcome.window, welcome.http, welcome.recovered], [window, mode.http, false])
    assert.match(welcome.cursor, /^[A-Za-z0-9]+:\d+$/)
    assert.ok(welcome.heartbeatMs > 0)
  })

  test('delivers in order to every window, the author’s own included, and acknowledges with the number', async () => {
    const channel = newChannel()
    const author = await joined(channel)
    const reader = await joined(channel)
    const name = newWindow()
    const answers = []
    for (let n = 1; n <= 20; n += 1) answers.push(await author.send(draftOf(name, n, `text ${n}`, channel)))
    for (const client of [author, reader]) {
      for (let n = 1; n <= 20; n += 1) {
        const { message } = await client.next('message')
        assert.deepEqual([message.id, message.body], [`${name}-${n}`, { html: `text ${n}` }])
        assert.deepEqual(answers[n - 1], { type: 'stored', id: `${name}-${n}`, seq: message.seq })
      }
    }
  })

  test('what is sent without waiting for answers arrives in the order in which it was sent', async () => {
    const channel = newChannel()
    const client = await joined(channel)
    const name = newWindow()
    const numbers = Array.from({ length: 50 }, (_, index) => index + 1)
    const answers = await Promise.all(numbers.map((n) => client.send(draftOf(name, n, `${n}`, channel))))
    const seqs = answers.map((answer) => answer.type === 'stored' && answer.seq)
    assert.deepEqual(
      seqs,
      [...seqs].sort((one, other) => Number(one) - Number(other)),
    )
    for (const n of numbers) assert.equal((await client.next('message')).message.id, `${name}-${n}`)
  })

  test('any text arrives as it was sent', async () => {
    const channel = newChannel()
    const client = await joined(channel)
    const name = newWindow()
    for (const [index, html] of hostileTexts.entries()) {
      await client.send(draftOf(name, index + 1, html, channel))
      assert.deepEqual((await client.next('message')).message.body, { html })
    }
  })

  test('the same message sent twice is stored once and acknowledged twice', async () => {
    const channel = newChannel()
    const client = await joined(channel)
    const name = newWindow()
    const first = await client.send(draftOf(name, 1, 'x', channel))
    assert.deepEqual(await client.send(draftOf(name, 1, 'x', channel)), first)
    await client.send(draftOf(name, 2, 'y', channel))
    assert.deepEqual(
      [(await client.next('message')).message.id, (await client.next('message')).message.id],
      [`${name}-1`, `${name}-2`],
    )
  })

  test('a message whose answer was lost with the connection is stored once', async () => {
    const channel = newChannel()
    const reader = await joined(channel)
    const author = await joined(channel)
    const name = newWindow()
    author.send(draftOf(name, 1, 'x', channel)).catch(() => undefined)
    // It arrived: the answer is on its way or lost.
    assert.equal((await reader.next('message')).message.id, `${name}-1`)
    author.cut()
    const again = await joined(channel)
    const stored = await again.send(draftOf(name, 1, 'x', channel))
    assert.equal(stored.type, 'stored')
    await again.send(draftOf(name, 2, 'y', channel))
    assert.equal((await reader.next('message')).message.id, `${name}-2`)
  })

  test('a window of one channel sees nothing of another', async () => {
    const channel = newChannel()
    const other = await joined(newChannel())
    const client = await joined(channel)
    const name = newWindow()
    await client.send(draftOf(name, 1, 'x', channel))
    await client.next('message')
    assert.ok(other.waiting().every(({ type }) => type !== 'message'))
  })

  test('a window of several channels gets all of them in one order', async () => {
    const [one, other] = [newChannel(), newChannel()]
    const reader = await joined(`${one},${other}`)
    const author = await joined(one)
    const name = newWindow()
    for (let n = 1; n <= 10; n += 1) await author.send(draftOf(name, n, '', n % 2 === 0 ? one : other))
    for (let n = 1; n <= 10; n += 1) assert.equal((await reader.next('message')).message.id, `${name}-${n}`)
  })

  test('a window that comes late gets the newest content', async () => {
    const channel = newChannel()
    const author = await joined(channel)
    const name = newWindow()
    await author.send(draftOf(name, 1, 'old', channel))
    await author.send(draftOf(name, 2, 'new', channel))
    const late = open(channel)
    assert.equal((await late.next('welcome')).recovered, false)
    assert.deepEqual((await late.next('message')).message.body, { html: 'new' })
  })

  test('a window that comes back with its cursor gets all that it missed, once, and any number of times', async () => {
    const channel = newChannel()
    const author = await joined(channel)
    const away = open(channel)
    // Without a single message received: the welcome's cursor is a place like any other.
    let { cursor } = await away.next('welcome')
    away.close()
    const name = newWindow()
    for (let round = 0; round < 3; round += 1) {
      for (const n of [1, 2, 3]) await author.send(draftOf(name, round * 4 + n, '', channel))
      const back = open(channel, { cursor })
      const welcome = await back.next('welcome')
      assert.equal(welcome.recovered, true)
      await author.send(draftOf(name, round * 4 + 4, '', channel))
      for (const n of [1, 2, 3, 4]) {
        const { message } = await back.next('message')
        assert.equal(message.id, `${name}-${round * 4 + n}`)
        cursor = `${welcome.cursor.split(':')[0]}:${message.seq}`
      }
      back.cut()
    }
  })

  test('a cursor of another life of the log, or one that is none, gets the newest content and is told so', async () => {
    const channel = newChannel()
    const author = await joined(channel)
    const name = newWindow()
    await author.send(draftOf(name, 1, 'old', channel))
    await author.send(draftOf(name, 2, 'new', channel))
    for (const cursor of ['another:1', 'nonsense', ':', '0']) {
      const back = open(channel, { cursor })
      assert.equal((await back.next('welcome')).recovered, false)
      assert.equal((await back.next('message')).message.id, `${name}-2`)
      back.close()
    }
  })

  test('what does not fit is refused by name, and reaches nobody', async () => {
    const channel = newChannel()
    const client = await joined(channel)
    const good = draftOf(newWindow(), 1, 'x', channel)
    const large = 'x'.repeat(subject().maxMessageBytes)
    const bad: [draft: unknown, code: string][] = [
      [{ ...good, body: { html: 7 } }, 'bad-shape'],
      [{ ...good, kind: 'reading' }, 'bad-shape'],
      [{ ...good, extra: 1 }, 'bad-shape'],
      [{ ...good, channel: 'wind' }, 'read-only-channel'],
      [{ ...good, body: { html: large } }, 'too-large'],
    ]
    for (const [draft, code] of bad) {
      const answer = await client.send(draft)
      assert.equal(answer.type === 'refused' && answer.code, code)
      assert.ok(answer.type === 'refused' && answer.message.length > 20)
    }
    await client.send(good)
    assert.equal((await client.next('message')).message.id, good.id)
  })

  test('a window that is cut off disturbs no other', async () => {
    const channel = newChannel()
    const [author, reader, victim] = [await joined(channel), await joined(channel), await joined(channel)]
    const name = newWindow()
    for (let n = 1; n <= 20; n += 1) {
      await author.send(draftOf(name, n, '', channel))
      if (n === 10) victim.cut()
    }
    for (let n = 1; n <= 20; n += 1) assert.equal((await reader.next('message')).message.id, `${name}-${n}`)
    assert.equal((await victim.ended).code, 'lost')
  })

  test('who asks without a name, or for no channel, is not let in', async () => {
    for (const query of [{ window: '' }, { channels: '' }]) {
      const client = open(newChannel(), query)
      assert.equal((await client.ended).code, 'refused')
      assert.ok(client.waiting().every(({ type }) => type !== 'welcome'))
    }
  })
}
