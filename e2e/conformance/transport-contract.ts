// The transport contract: one suite for all modes, against any server.

import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import * as Y from 'yjs'
import type { DownFrame, Draft, Message, WindowMode } from '../../client/wire.ts'
import { nameOf, newKey } from '../clients/client.ts'
import { type HttpClient, textOf } from '../clients/http-client.ts'
import { type ContractClient, contentOf, openClient, type Reached } from './contract-client.ts'

export interface Subject extends Reached {
  readonly maxMessageBytes: number
  /** Of an application's server every channel is of the kind json. */
  readonly isApplication: boolean
}

/** Texts that careless framing would split, join or misread. */
const hostileTexts = [
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

const subjects: Readonly<Record<string, (stage: Stage) => void>> = {
  delivery: testDelivery,
  'messages sent again': testResends,
  'joining and resuming': testResuming,
  contents: testContents,
  'volatile messages': testVolatile,
  awareness: testAwareness,
  names: testNames,
}

/** `subject` is called when the tests run. */
export function testTransportContract(mode: WindowMode, subject: () => Subject): void {
  const stage = createStage(mode, subject)
  for (const [name, define] of Object.entries(subjects)) describe(name, () => define(stage))
}

type Stage = ReturnType<typeof createStage>

function createStage(mode: WindowMode, subject: () => Subject) {
  const opened: ContractClient[] = []
  // Fresh names per run: a persistent log contains those of earlier runs.
  const run = Math.random().toString(36).slice(2, 8)
  const key = newKey()
  let channels = 0
  let windows = 0

  afterEach(() => {
    for (const client of opened.splice(0)) client.close()
  })

  function open(channel: string, extraQuery: Record<string, string> = {}): ContractClient {
    const { origin, connect } = subject()
    const query = new URLSearchParams({ window: newWindow(), key, channels: channel, ...extraQuery })
    const client = openClient({ mode, origin, ca: null, http: connect(), query })
    opened.push(client)
    return client
  }

  async function joined(channel: string, extraQuery: Record<string, string> = {}): Promise<ContractClient> {
    const client = open(channel, extraQuery)
    await client.next('welcome')
    return client
  }

  /** Returns a channel of its own for each test, so that no test sees another's messages. */
  function newChannel(): string {
    channels += 1
    return `${run}-c${channels}`
  }

  function newWindow(): string {
    windows += 1
    return nameOf(key, `w${windows}`)
  }

  const isApplication = () => subject().isApplication

  function draftOf(from: string, count: number, text: string, channel: string): Draft {
    return textOn(isApplication(), from, count, text, channel)
  }

  return { mode, subject, run, key, open, joined, newChannel, newWindow, isApplication, draftOf }
}

function testDelivery({ open, joined, newChannel, newWindow, mode, isApplication, draftOf }: Stage): void {
  test('the welcome names the window, the HTTP version and a cursor', async () => {
    const window = newWindow()
    const client = open(newChannel(), { window })
    const welcome = await client.next('welcome')
    assert.deepEqual([welcome.window, welcome.http, welcome.recovered], [window, mode.http, false])
    assert.match(welcome.cursor, /^[A-Za-z0-9]+:\d+$/)
    assert.ok(welcome.heartbeatMs > 0)
  })

  test('delivers in order to every window, including the author’s, and acknowledges with the seq', async () => {
    const channel = newChannel()
    const author = await joined(channel)
    const reader = await joined(channel)
    const name = newWindow()
    const answers = []
    for (let n = 1; n <= 20; n += 1) answers.push(await author.send(draftOf(name, n, `text ${n}`, channel)))
    for (const client of [author, reader]) {
      for (let n = 1; n <= 20; n += 1) {
        const { message } = await client.next('message')
        const { id, body } = draftOf(name, n, `text ${n}`, channel)
        assert.deepEqual([message.id, message.body], [id, body])
        assert.deepEqual(answers[n - 1], { type: 'stored', id: `${name}-${n}`, seq: message.seq })
      }
    }
  })

  test('messages sent without waiting for acknowledgements keep their order', async () => {
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
    // A title is one line.
    const channel = isApplication() ? newChannel() : 'probes'
    const draft = isApplication() ? draftOf : probeOf
    const client = await joined(channel)
    const name = newWindow()
    for (const [index, text] of hostileTexts.entries()) {
      const sent = draft(name, index + 1, text, channel)
      await client.send(sent)
      assert.deepEqual((await nextWith(client, sent.id)).body, sent.body)
    }
  })

  test('a window receives no messages of other channels', async () => {
    const channel = newChannel()
    const other = await joined(newChannel())
    const client = await joined(channel)
    const name = newWindow()
    await client.send(draftOf(name, 1, 'x', channel))
    await client.next('message')
    assert.ok(other.waiting().every(({ type }) => type !== 'message'))
  })

  test('a window of several channels receives all their messages in one order', async () => {
    const one = newChannel()
    const other = newChannel()
    const reader = await joined(`${one},${other}`)
    const author = await joined(one)
    const name = newWindow()
    for (let n = 1; n <= 10; n += 1) await author.send(draftOf(name, n, '', n % 2 === 0 ? one : other))
    for (let n = 1; n <= 10; n += 1) assert.equal((await reader.next('message')).message.id, `${name}-${n}`)
  })

  test('probes reach every stream of their channel, and no other kind does', async (t) => {
    if (isApplication()) return t.skip('an application’s server has no probes')
    const author = await joined('probes')
    const reader = await joined('probes')
    const name = newWindow()
    const probe = probeOf(name, 1, 'x')
    const answer = await author.send(probe)
    assert.equal(answer.type, 'stored')
    for (const client of [author, reader]) {
      const { kind, body } = await nextWith(client, probe.id)
      assert.deepEqual([kind, body], ['probe', probe.body])
    }
    for (const draft of [draftOf(name, 2, 'x', 'probes'), { ...probe, channel: newChannel() }]) {
      const refused = await author.send(draft)
      assert.equal(refused.type === 'refused' && refused.code, 'bad-shape')
    }
  })

  test('a lost connection does not affect other windows', async () => {
    const channel = newChannel()
    const author = await joined(channel)
    const reader = await joined(channel)
    const victim = await joined(channel)
    const name = newWindow()
    for (let n = 1; n <= 20; n += 1) {
      await author.send(draftOf(name, n, '', channel))
      if (n === 10) victim.cut()
    }
    for (let n = 1; n <= 20; n += 1) assert.equal((await reader.next('message')).message.id, `${name}-${n}`)
    assert.equal((await victim.ended).code, 'lost')
  })
}

function testResends({ joined, newChannel, newWindow, draftOf }: Stage): void {
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

  test('an id belongs to its sender and channel; reusing it for another message is refused', async () => {
    const channel = newChannel()
    const client = await joined(channel)
    const draft = draftOf(newWindow(), 1, 'x', channel)
    const elsewhere = await client.send({ ...draft, channel: newChannel() })
    const stored = await client.send(draft)
    const { message } = await client.next('message')
    assert.deepEqual(stored, { type: 'stored', id: draft.id, seq: message.seq })
    assert.notDeepEqual(stored, elsewhere)
    const foreign = await client.send({ ...draft, from: newWindow() })
    assert.equal(foreign.type === 'refused' && foreign.code, 'bad-shape')
    const refused = await client.send({ ...draft, body: draftOf(draft.from, 1, 'y', channel).body })
    assert.equal(refused.type === 'refused' && refused.code, 'id-taken')
    await client.send(draftOf(draft.from, 2, 'z', channel))
    assert.equal((await client.next('message')).message.id, `${draft.from}-2`)
  })

  test('a message is stored once even if its acknowledgement was lost with the connection', async () => {
    const channel = newChannel()
    const reader = await joined(channel)
    const author = await joined(channel)
    const name = newWindow()
    author.send(draftOf(name, 1, 'x', channel)).catch(() => undefined)
    // Delivered; its acknowledgement is in flight or lost.
    assert.equal((await reader.next('message')).message.id, `${name}-1`)
    author.cut()
    const again = await joined(channel)
    const stored = await again.send(draftOf(name, 1, 'x', channel))
    assert.equal(stored.type, 'stored')
    await again.send(draftOf(name, 2, 'y', channel))
    assert.equal((await reader.next('message')).message.id, `${name}-2`)
  })
}

function testResuming({ open, joined, newChannel, newWindow, draftOf }: Stage): void {
  test('a late window gets the newest content', async () => {
    const channel = newChannel()
    const author = await joined(channel)
    const name = newWindow()
    await author.send(draftOf(name, 1, 'old', channel))
    await author.send(draftOf(name, 2, 'new', channel))
    const late = open(channel)
    assert.equal((await late.next('welcome')).recovered, false)
    assert.equal((await late.next('message')).message.id, `${name}-2`)
  })

  test('a resuming window gets each missed message once, however often it resumes', async () => {
    const channel = newChannel()
    const author = await joined(channel)
    const away = open(channel)
    // Without a received message, the welcome's cursor is valid too.
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

  test('an invalid cursor, or one of another epoch, gets recovered: false and the newest content', async () => {
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
}

function testContents(stage: Stage): void {
  const { joined, newChannel, newWindow, subject, run, key, isApplication, draftOf } = stage
  test('invalid drafts are refused with a code and not delivered', async () => {
    const channel = newChannel()
    const client = await joined(channel)
    const good = draftOf(newWindow(), 1, 'x', channel)
    const large = 'x'.repeat(subject().maxMessageBytes)
    const bad: [draft: unknown, code: string][] = [
      [{ ...good, body: isApplication() ? {} : { title: 7 } }, 'bad-shape'],
      [{ ...good, kind: 'reading' }, 'bad-shape'],
      [{ ...good, extra: 1 }, 'bad-shape'],
      ...(isApplication() ? [] : [[{ ...good, channel: 'wind' }, 'read-only-channel'] as [unknown, string]]),
      [draftOf(good.from, 1, large, channel), 'too-large'],
    ]
    for (const [draft, code] of bad) {
      const answer = await client.send(draft)
      assert.equal(answer.type === 'refused' && answer.code, code)
      assert.ok(answer.type === 'refused' && answer.message.length > 20)
    }
    await client.send(good)
    assert.equal((await client.next('message')).message.id, good.id)
  })

  test('updates of a shared document are delivered, or refused if they are not for it', async (t) => {
    if (isApplication()) return t.skip('channels of the kind yjs have tests of their own')
    const channel = newChannel()
    const client = await joined(channel)
    const doc = new Y.Doc()
    const updates: Uint8Array[] = []
    doc.on('update', (update: Uint8Array) => updates.push(update))
    const text = doc.getText('text')
    text.insert(0, 'a')
    text.insert(1, 'b')
    text.insert(2, 'c', { onclick: 'x' })
    const [first, second, unknown] = updates
    assert.ok(first && second && unknown)
    const window = newWindow()
    const free = `free${run}`
    const sent: [from: string, update: Uint8Array, code: string][] = [
      [window, new Uint8Array([1, 2, 3]), 'bad-update'],
      [window, second, 'update-gap'],
      [window, first, 'stored'],
      [free, second, 'not-your-client'],
      [window, second, 'stored'],
      [window, unknown, 'bad-update'],
      [free, first, 'stored'],
    ]
    for (const [index, [from, bytes, code]] of sent.entries()) {
      const update = Buffer.from(bytes).toString('base64')
      const id = `${from}-${index}`
      const answer = await client.send({ id, channel, kind: 'update', from, at: 1, body: { update } })
      assert.equal(answer.type === 'refused' ? answer.code : answer.type, code)
      if (code === 'stored') {
        const { message } = await client.next('message')
        assert.deepEqual([message.id, message.body], [id, { update }])
      }
    }
    const newcomer = await joined(channel)
    const ids = [(await newcomer.next('message')).message.id]
    for (let count = 0; count < 2; count += 1) ids.push((await newcomer.next('message')).message.id)
    assert.deepEqual(ids, [`${window}-2`, `${window}-4`, `${free}-6`])
  })

  test('a text written by a program is a message; a kind that windows would not show is refused', async (t) => {
    if (isApplication()) return t.skip('an application’s server has no documents of the page')
    const channel = newChannel()
    const client = await joined(channel)
    const http = subject().connect()
    t.after(http.close)
    const from = newWindow()
    const path = `/api/documents/${channel}`
    const query = new URLSearchParams({ id: `${from}-1`, from, key })
    const headers = { 'content-type': 'text/plain' }
    const request = { method: 'PUT', path: `${path}?${query}`, headers, body: 'Ŝtormo 💨\n' }
    const answers: unknown[] = []
    for (const _again of [1, 2]) answers.push(JSON.parse(await textOf((await http.ask(request)).body)))
    const { message } = await client.next('message')
    const stored = { type: 'stored', id: message.id, seq: message.seq }
    assert.deepEqual(answers, [stored, stored])
    assert.equal(await textOf((await http.ask({ path })).body), 'Ŝtormo 💨\n')
    const edit = { ...draftOf(from, 2, '', channel), kind: 'edit', body: { html: '' } }
    const refused = await client.send(edit)
    assert.equal(refused.type === 'refused' && refused.code, 'shared-document')
  })
}

function testVolatile({ open, joined, newChannel, newWindow, isApplication, draftOf }: Stage): void {
  test('a volatile message reaches the other windows once, in its sender’s order, and is not in the log', async () => {
    // The page's other channels check what they store.
    const channel = isApplication() ? newChannel() : 'probes'
    const draft = isApplication() ? draftOf : probeOf
    const window = newWindow()
    const author = await joined(channel, { window })
    const reader = await joined(channel)
    const { cursor } = await open(channel).next('welcome')
    const drafts = [1, 2, 3, 4, 5].map((n) => draft(window, n, `${n}`, channel))
    const answers = await Promise.all(drafts.map((one) => author.send({ ...one, volatile: true })))
    assert.deepEqual(
      answers,
      drafts.map(({ id }) => ({ type: 'stored', id, seq: 0 })),
    )
    const got: unknown[] = []
    while (got.length < 5) {
      const { message } = await reader.next('volatile')
      if (message.from === window) got.push(message)
    }
    assert.deepEqual(got, drafts)
    const back = await joined(channel, { cursor })
    const stored = draft(window, 6, 'stored', channel)
    await author.send(stored)
    for (const client of [back, author, reader]) {
      const before = client.take()
      assert.ok(before.every((frame) => frame.type !== 'volatile' || frame.message.from !== window))
      const isStored = (frame: DownFrame) => frame.type === 'message' && frame.message.id === stored.id
      if (!before.some(isStored)) await nextWith(client, stored.id)
      assert.ok(
        before.every((frame) => frame.type !== 'message' || frame.message.from !== window || isStored(frame)),
      )
    }
  })
}

function testAwareness(stage: Stage): void {
  const { open, joined, newChannel, newWindow, subject, key, isApplication, draftOf } = stage
  test("a window's awareness reaches the other windows, and those that join later", async () => {
    const channel = newChannel()
    const window = newWindow()
    const author = await joined(channel, { window })
    const reader = await joined(channel)
    author.sendAwareness({ state: shownAt('AAAA') })
    assert.deepEqual(await nextShown(reader, window), shownAt('AAAA'))
    const late = await joined(channel)
    const { windows, whole } = await late.next('awareness')
    assert.deepEqual([windows, whole], [[{ window, state: shownAt('AAAA') }], true])
    author.sendAwareness({ state: shownAt('BBBB') })
    for (const client of [reader, late]) assert.deepEqual(await nextShown(client, window), shownAt('BBBB'))
    author.sendAwareness({ state: null })
    assert.equal(await nextShown(reader, window), null)
  })

  test('a window is no longer shown after it leaves or crashes, and is shown again after a reconnect', async () => {
    const channel = newChannel()
    const window = newWindow()
    const reader = await joined(channel)
    const ends = [(client: ContractClient) => client.close(), (client: ContractClient) => client.cut()]
    for (const [index, end] of ends.entries()) {
      const author = await joined(channel, { window, opening: `${index + 1}` })
      author.sendAwareness({ state: shownAt('AAAA') })
      assert.deepEqual(await nextShown(reader, window), shownAt('AAAA'))
      end(author)
      assert.equal(await nextShown(reader, window), null)
    }
    const back = await joined(channel, { window, opening: '3' })
    back.sendAwareness({ state: shownAt('BBBB') })
    assert.deepEqual(await nextShown(reader, window), shownAt('BBBB'))
  })

  test('a window that leaves for good is no longer shown, before its stream has ended', async (t) => {
    const channel = newChannel()
    const window = newWindow()
    const reader = await joined(channel)
    const author = await joined(channel, { window, opening: '1' })
    author.sendAwareness({ state: shownAt('AAAA') })
    assert.deepEqual(await nextShown(reader, window), shownAt('AAAA'))
    const http = subject().connect()
    t.after(http.close)
    const query = new URLSearchParams({ window, key, opening: '1', gone: '' })
    const { status } = await http.ask({ method: 'POST', path: `/api/leave?${query}` })
    assert.equal(status, 204)
    assert.equal(await nextShown(reader, window), null)
  })

  test('awareness is not in the log, and reaches no other channel', async () => {
    const channel = newChannel()
    const window = newWindow()
    const author = await joined(channel, { window })
    const reader = await joined(channel)
    const other = await joined(newChannel())
    const { cursor } = await open(channel).next('welcome')
    author.sendAwareness({ state: shownAt('AAAA') })
    await nextShown(reader, window)
    const back = await joined(channel, { cursor })
    await author.send(draftOf(window, 1, 'after', channel))
    assert.equal((await back.next('message')).message.id, `${window}-1`)
    assert.ok(other.waiting().every(({ type }) => type !== 'awareness'))
  })

  test('an invalid state is refused with a code, and not shown', async (t) => {
    const channel = newChannel()
    const window = newWindow()
    const reader = await joined(channel)
    const author = await joined(channel, { window })
    const http = subject().connect()
    t.after(http.close)
    const state = shownAt('AAAA')
    const path = `/api/awareness?${new URLSearchParams({ window, key })}`
    const bad = [
      [{}, '400 bad-shape'],
      [{ state: 'x'.repeat(4095) }, '400 bad-shape'],
      [{ state, more: 1 }, '400 bad-shape'],
      // A server that does not have the window's stream cannot know what it reads.
      [{ state, channel: newChannel() }, /^(400 bad-shape|204 )$/],
      ...(isApplication() ? [] : [[{ state, channel: 'wind' }, '403 read-only-channel'] as const]),
      [{ state, window: nameOf(newKey(), 'w1') }, '403 not-your-name'],
      [{ state, junk: 'x'.repeat(6000) }, '413 too-large'],
    ] as const
    for (const [report, expected] of bad) {
      const body = JSON.stringify(report)
      const { status, body: answer } = await http.ask({
        method: 'POST',
        path,
        body,
        headers: { 'content-type': 'application/json' },
      })
      const words = await textOf(answer)
      const found = `${status} ${words === '' ? '' : JSON.parse(words).code}`
      if (typeof expected === 'string') assert.equal(found, expected)
      else assert.match(found, expected)
    }
    author.sendAwareness({ state })
    const { windows } = await reader.next('awareness')
    assert.deepEqual(windows, [{ window, state }])
  })
}

function testNames(stage: Stage): void {
  const { open, joined, newChannel, newWindow, subject, run, isApplication, draftOf } = stage
  test('requests in a window’s name without its key are refused, and do not affect the window', async (t) => {
    const channel = newChannel()
    const window = newWindow()
    const victim = await joined(channel, { window, opening: '1' })
    const http = subject().connect()
    t.after(http.close)
    await nobodySpeaksFor({
      window,
      channel,
      http,
      isApplication: isApplication(),
      open: (asked) => open(channel, asked),
    })
    assert.equal((await victim.send(draftOf(window, 1, 'x', channel))).type, 'stored')
    assert.equal((await victim.next('message')).message.id, `${window}-1`)
    const told = victim.waiting().map((frame) => (frame.type === 'presence' ? frame.windows : frame.type))
    // The window, and the impostor's two under other names.
    const isUsual = (windows: number | string) =>
      windows === 'heartbeat' || (Number(windows) >= 1 && Number(windows) <= 3)
    assert.ok(told.every(isUsual), told.join())
  })

  test('streams under one free name coexist', async () => {
    const channel = newChannel()
    const window = `${run}-free`
    const author = await joined(channel)
    const name = newWindow()
    // Not for long in every mode: a free name has no streamed uplink.
    const one = open(channel, { window, opening: '1' })
    const other = open(channel, { window, opening: '2' })
    for (const client of [one, other]) await client.next('welcome')
    await author.send(draftOf(name, 1, 'x', channel))
    for (const client of [one, other]) assert.equal((await client.next('message')).message.id, `${name}-1`)
  })

  test('a stream without a name or a channel is refused', async () => {
    for (const query of [{ window: '' }, { channels: '' }]) {
      const client = open(newChannel(), query)
      assert.equal((await client.ended).code, 'refused')
      assert.ok(client.waiting().every(({ type }) => type !== 'welcome'))
    }
  })
}

function textOn(isApplication: boolean, from: string, count: number, text: string, channel: string): Draft {
  const content = contentOf(isApplication, text)
  return { id: `${from}-${count}`, channel, from, at: 1_700_000_000_000.5, ...content }
}

function probeOf(from: string, count: number, text: string): Draft<'probe'> {
  return { id: `${from}-${count}`, channel: 'probes', kind: 'probe', from, at: 1, body: { text } }
}

/** Other tests may be measuring at the same time, and a snapshot contains an older probe. */
async function nextWith(client: ContractClient, id: string): Promise<Message> {
  for (;;) {
    const { message } = await client.next('message')
    if (message.id === id) return message
  }
}

/** As the page's windows are shown: its server adds `name`. */
const shownAt = (anchor: string) => ({
  client: 7,
  name: 'Ada <b>',
  clock: 1,
  state: { user: { name: 'Ada <b>' }, cursor: { anchor: { tname: anchor }, head: { tname: anchor } } },
})

/** The next state of that window; null if it has left. */
async function nextShown(client: ContractClient, window: string): Promise<unknown> {
  for (;;) {
    const { windows, whole } = await client.next('awareness')
    const found = windows.find((shown) => shown.window === window)
    if (found) return found.state
    if (whole) return null
  }
}

interface Impostor {
  /** The proven name to impersonate; its window is open on `channel`. */
  readonly window: string
  readonly channel: string
  readonly http: HttpClient
  readonly isApplication?: boolean
  readonly open: (asked: Record<string, string>) => ContractClient
}

/**
 * Tries everything reserved for the window, without a key and with a wrong one; rejects unless all
 * is refused.
 */
export async function nobodySpeaksFor({
  window,
  channel,
  http,
  open,
  isApplication = false,
}: Impostor): Promise<void> {
  const draft = textOn(isApplication, window, 1, 'not mine', channel)
  const line = `${JSON.stringify({ type: 'publish', message: { ...draft, at: 'x' } })}\n`
  const counts = JSON.stringify({ windows: { [channel]: 4712 } })

  async function refused(path: string, body?: string, type = 'application/json'): Promise<void> {
    const post = body === undefined ? {} : { method: 'POST', body, headers: { 'content-type': type } }
    const { status, body: answer } = await http.ask({ path, ...post })
    const text = await textOf(answer)
    assert.match(
      `${status} ${text}`,
      /^403 .*"code":"not-your-name"/,
      `${path} was answered with ${status} ${text}`,
    )
  }

  for (const key of [null, newKey()]) {
    const proof = key === null ? '' : `&key=${key}`
    const whose = `window=${window}${proof}`
    await refused(`/api/heartbeat?${whose}`, '')
    await refused(`/api/heartbeat?${whose}`, counts)
    await refused(`/api/streaming?${whose}`, line, 'application/x-ndjson')
    await refused(`/api/leave?${whose}&opening=9`, '')
    await refused(`/api/awareness?${whose}&opening=9`, JSON.stringify({ state: null }))
    await refused(`/api/messages?${proof}`, JSON.stringify(draft))
    for (const path of ['poll', 'long-poll', 'stream', 'streaming']) {
      await refused(`/api/${path}?${whose}&channels=${channel}&opening=9&first`)
    }
    const stream = open({ window, opening: '9', key: key ?? '' })
    assert.equal((await stream.ended).code, 'refused')
    const ownKey = key ?? newKey()
    const own = open({ window: nameOf(ownKey, 'own'), key: ownKey })
    await own.next('welcome')
    const answer = await own.send(draft)
    assert.equal(answer.type === 'refused' && answer.code, 'not-your-name')
    own.close()
  }
  // A free name has no owner: no key proves it.
  const free = `window=impostor&key=${newKey()}`
  for (const path of ['heartbeat', 'leave', 'awareness']) await refused(`/api/${path}?${free}`, '')
  await refused(`/api/streaming?${free}`, line, 'application/x-ndjson')
}
