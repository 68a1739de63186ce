// What every transport promises, over real sockets: one suite, run for each mode of the table.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../server/testing.ts'
import { type Mode, modes } from '../../server/wire/modes.ts'
import { draftOf, type FleetClient } from '../fleet/client.ts'
import { clientFor } from '../fleet/clients.ts'

const texts = [
  '',
  'a\nb',
  'a\r\nb\rc',
  '\n\nevent: bye\ndata: {}',
  ': x',
  '\uFEFF',
  '\u2028\u2029',
  '💨 ŝŭ',
  '\0',
  '</script>',
]

for (const mode of modes) describe(mode.name, () => testMode(mode))

function testMode(mode: Mode): void {
  let server: TestServer
  let opened: FleetClient[] = []
  let count = 0

  before(async () => {
    server = await startTestServer()
  })
  after(async () => {
    for (const client of opened) await client.close()
    opened = []
    await server.close()
  })

  async function open(window: string, channel: string, cursor?: string): Promise<FleetClient> {
    const query = new URLSearchParams({
      window,
      channels: channel,
      ...(cursor === undefined ? {} : { cursor }),
    })
    const client = await clientFor(mode)({ origin: server.origin[mode.http], query, ca: server.ca })
    opened.push(client)
    return client
  }

  /** Its own channel for each test, so that none sees another's messages. */
  function newChannel(): string {
    count += 1
    return `c${count}`
  }

  test('welcomes, and says which HTTP version it saw', async () => {
    const client = await open('w1', newChannel())
    const welcome = await client.next('welcome')
    assert.deepEqual([welcome.window, welcome.http, welcome.recovered], ['w1', mode.http, false])
    assert.match(welcome.cursor, /^[a-z0-9]+:\d+$/)
  })

  test('delivers in order to every window, the author’s own included, and acknowledges with the number', async () => {
    const channel = newChannel()
    const author = await open('w1', channel)
    const reader = await open('w2', channel)
    for (const client of [author, reader]) await client.next('welcome')
    const answers = []
    for (let n = 1; n <= 20; n += 1) answers.push(await author.send(draftOf('w1', n, `text ${n}`, channel)))
    for (const client of [author, reader]) {
      for (let n = 1; n <= 20; n += 1) {
        const { message } = await client.next('message')
        assert.deepEqual([message.id, message.body], [`w1-${n}`, { html: `text ${n}` }])
        assert.deepEqual(answers[n - 1], { type: 'stored', id: `w1-${n}`, seq: message.seq })
      }
    }
  })

  test('any text arrives as it was sent', async () => {
    const channel = newChannel()
    const client = await open('w1', channel)
    await client.next('welcome')
    for (const [index, html] of texts.entries()) {
      await client.send(draftOf('wt', index + 1, html, channel))
      assert.deepEqual((await client.next('message')).message.body, { html })
    }
  })

  test('the same message sent twice is stored once and acknowledged twice', async () => {
    const channel = newChannel()
    const client = await open('w1', channel)
    await client.next('welcome')
    const first = await client.send(draftOf('wd', 1, 'x', channel))
    assert.deepEqual(await client.send(draftOf('wd', 1, 'x', channel)), first)
    await client.send(draftOf('wd', 2, 'y', channel))
    assert.deepEqual(
      [(await client.next('message')).message.id, (await client.next('message')).message.id],
      ['wd-1', 'wd-2'],
    )
  })

  test('a window of one channel sees nothing of another', async () => {
    const channel = newChannel()
    const other = await open('w2', newChannel())
    const client = await open('w1', channel)
    for (const window of [client, other]) await window.next('welcome')
    await client.send(draftOf('wo', 1, 'x', channel))
    await client.next('message')
    assert.ok(other.waiting().every(({ type }) => type !== 'message'))
  })

  test('a window that comes late gets the newest content', async () => {
    const channel = newChannel()
    const author = await open('w1', channel)
    await author.send(draftOf('wl', 1, 'old', channel))
    await author.send(draftOf('wl', 2, 'new', channel))
    const late = await open('w2', channel)
    assert.equal((await late.next('welcome')).recovered, false)
    assert.deepEqual((await late.next('message')).message.body, { html: 'new' })
  })

  test('a window that comes back with its cursor gets all that it missed, once', async () => {
    const channel = newChannel()
    const author = await open('w1', channel)
    const away = await open('w2', channel)
    const { cursor } = await away.next('welcome')
    await away.close()
    for (let n = 1; n <= 3; n += 1) await author.send(draftOf('wr', n, `${n}`, channel))
    const back = await open('w2', channel, cursor)
    assert.equal((await back.next('welcome')).recovered, true)
    await author.send(draftOf('wr', 4, '4', channel))
    for (let n = 1; n <= 4; n += 1) assert.equal((await back.next('message')).message.id, `wr-${n}`)
  })

  test('what does not fit is refused by name, and reaches nobody', async () => {
    const channel = newChannel()
    const client = await open('w1', channel)
    await client.next('welcome')
    const good = draftOf('wb', 1, 'x', channel)
    const bad: [draft: unknown, code: string][] = [
      [{ ...good, body: { html: 7 } }, 'bad-shape'],
      [{ ...good, kind: 'reading' }, 'bad-shape'],
      [{ ...good, extra: 1 }, 'bad-shape'],
      [{ ...good, channel: 'wind' }, 'read-only-channel'],
      [{ ...good, body: { html: 'x'.repeat(70_000) } }, 'too-large'],
      ['not an object', 'bad-shape'],
    ]
    for (const [draft, code] of bad) {
      const answer = await client.send(draft)
      assert.equal(answer.type === 'refused' && answer.code, code)
      assert.ok(answer.type === 'refused' && answer.message.length > 20)
    }
    await client.send(good)
    assert.equal((await client.next('message')).message.id, 'wb-1')
  })

  test('a window that does not read delays no other', async () => {
    const channel = newChannel()
    const slow = await open('w1', channel)
    const author = await open('w2', channel)
    for (const window of [slow, author]) await window.next('welcome')
    slow.pause()
    const html = 'x'.repeat(60_000)
    for (let n = 1; n <= 100; n += 1) await author.send(draftOf('wq', n, html, channel))
    for (let n = 1; n <= 100; n += 1) assert.equal((await author.next('message')).message.id, `wq-${n}`)
    slow.resume()
    // It fell behind by more than its queue holds: it is sent away to resume, and told why.
    assert.equal((await slow.next('bye')).code, 'overflow')
    await slow.ended
  })

  test('when the server drains every window is told once, with a time to come back, and let go', async () => {
    const own = await startTestServer()
    const query = new URLSearchParams({ window: 'w1', channels: 'main' })
    const client = await clientFor(mode)({ origin: own.origin[mode.http], query, ca: own.ca })
    await client.next('welcome')
    const closed = own.close()
    const bye = await client.next('bye')
    assert.equal(bye.code, 'draining')
    assert.ok(bye.retryAfterMs > 0)
    await client.ended
    assert.equal(client.waiting().length, 0)
    await client.close()
    await closed
  })
}
