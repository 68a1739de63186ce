// What a window has not been able to send: bounded, kept in the browser, in order, a few at a time, again after a pause.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Draft, Kind, Stored } from '../server/wire/messages.ts'
import { createManualTime } from '../server/wire/testing.ts'
import type { UnstoredDraft } from './draft-database.ts'
import { createOutbox, type OutboxParts } from './outbox.ts'
import { createBrowser, openLink, settled } from './testing.ts'
import { BusyError, RefusedError } from './transports/transport.ts'

function draft(n: number, change: Partial<Draft> = {}): Draft {
  return { id: `w1-${n}`, channel: 'main', kind: 'edit', from: 'w1', at: n, body: { html: '' }, ...change }
}

const unstored = (one: Draft): UnstoredDraft => ({ draft: one, cursor: null, edits: 1 })

/** An outbox alone; `held` are the ids that it saves, `connect` stores some of them and never answers for the others. */
function openOutbox(bounds: Partial<OutboxParts['bounds']> = {}) {
  let saved: readonly UnstoredDraft[] = []
  const superseded: string[] = []
  const renamed = new Map<string, string>()
  const outbox = createOutbox({
    window: 'w1',
    bounds: { messages: 100, bytes: 100_000, ...bounds },
    timers: createManualTime(0),
    random: () => 1,
    store: {
      async save(drafts) {
        saved = drafts
        return true
      },
    },
    mergesWaiting: true,
    mergeUpdates: (updates) => ({ update: updates.map(({ update }) => update).join('+') }),
    onOutbox: () => undefined,
    onStored: () => undefined,
    onRefused: () => undefined,
    onSuperseded: (id) => void superseded.push(id),
    onRenamed: (id, draft) => void renamed.set(id, draft.id),
  })

  function connect(answer: (id: string) => Promise<Stored> | null): Promise<void> {
    outbox.connected(
      ({ id }) => answer(id) ?? new Promise(() => undefined),
      () => undefined,
    )
    return settled()
  }

  const add = ({ channel = 'main', kind = 'edit' as Kind, html = '' } = {}) =>
    outbox.publish(channel, kind, { html }, null) !== null
  const update = (text: string) => outbox.publish('main', 'update', { update: text }, null)

  function kept(): readonly UnstoredDraft[] {
    outbox.save()
    return saved
  }

  return {
    outbox,
    superseded,
    renamed,
    add,
    update,
    kept,
    held: () => kept().map(({ draft: { id } }) => id),
    connect,
  }
}

const stored =
  (...ids: string[]) =>
  (id: string) =>
    ids.includes(id) ? Promise.resolve({ type: 'stored', id, seq: 1 } as const) : null

test('keeps what was added, in its order, whichever of it is stored', async () => {
  const { outbox, add, held, connect } = openOutbox()
  for (let n = 1; n <= 12; n += 1) add()
  await connect(stored('w1-1', 'w1-5', 'w1-12'))
  assert.deepEqual(
    held(),
    [2, 3, 4, 6, 7, 8, 9, 10, 11].map((n) => `w1-${n}`),
  )
  assert.equal(outbox.state().unstored, 9)
})

test('a renamed draft is the last one, and its size counts', async () => {
  const again = 'w1-3r100000000'
  const size = (one: Draft) => JSON.stringify(one).length
  const bytes = size(draft(0, { channel: 'other', id: again })) + size(draft(2))
  const { outbox, superseded, add, held, connect } = openOutbox({ bytes })
  add({ channel: 'other' })
  add()
  await connect((id) => (id === 'w1-1' ? Promise.reject(taken) : null))
  assert.deepEqual(held(), ['w1-2', again])
  outbox.disconnected()
  assert.equal(add(), true)
  assert.deepEqual([superseded, held()], [['w1-2'], [again, 'w1-4']])
})

test('takes what closed windows left, whatever the bounds are, and each draft once', () => {
  const { outbox, held } = openOutbox({ messages: 1, bytes: 1 })
  outbox.adopt([unstored(draft(1)), { ...unstored(draft(2)), edits: 3 }])
  outbox.adopt([unstored(draft(1))])
  assert.deepEqual([held(), outbox.state().unstored], [['w1-1', 'w1-2'], 4])
})

test('what is under way, of another channel or no edit stays', async () => {
  const { superseded, add, held, connect } = openOutbox({ messages: 4 })
  add()
  // Nothing else is sent while the server is busy.
  await connect(() => Promise.reject(busy(1000)))
  for (const one of [{ channel: 'other' }, { kind: 'reading' as const }, {}, {}]) assert.equal(add(one), true)
  assert.deepEqual([superseded, held()], [['w1-4'], ['w1-1', 'w1-2', 'w1-3', 'w1-5']])
})

test('a draft that has no room even so is not taken, and nothing gives way to it', () => {
  const ids = ['w1-1', 'w1-2']
  const few = openOutbox({ messages: 2 })
  for (const one of [{}, { channel: 'other' }]) few.add(one)
  assert.equal(few.add({ kind: 'reading' }), false)
  assert.deepEqual([few.superseded, few.held(), few.outbox.state().isFull], [[], ids, true])
  const size = JSON.stringify(draft(5)).length
  const small = openOutbox({ bytes: size * 2.5 })
  for (let n = 0; n < 2; n += 1) small.add()
  assert.equal(small.add({ html: 'x'.repeat(size * 3) }), false)
  assert.deepEqual([small.superseded, small.held()], [[], ids])
})

test('the bytes are those of UTF-8, and come back when a draft is stored', async () => {
  const html = '風'.repeat(100)
  const wide = draft(1, { body: { html } })
  const { superseded, add, connect } = openOutbox({ bytes: Buffer.byteLength(JSON.stringify(wide)) * 2 })
  for (let n = 0; n < 3; n += 1) add({ html })
  assert.deepEqual(superseded, ['w1-1'])
  await connect(stored('w1-2'))
  assert.equal(add({ html }), true)
  assert.deepEqual(superseded, ['w1-1'])
})

test('waiting updates become one: no bound is reached, nothing is dropped, and the edits in them still count', () => {
  const { outbox, superseded, renamed, update, kept } = openOutbox({ messages: 65 })
  const texts = Array.from({ length: 200 }, (_, n) => `${n}`)
  for (const text of texts) assert.ok(update(text))
  const together = kept()
  assert.ok(together.length < 65, `${together.length} drafts`)
  assert.equal(
    together.map(({ draft: { body } }) => (body as { update: string }).update).join('+'),
    texts.join('+'),
  )
  assert.deepEqual(
    [outbox.state().unstored, outbox.state().superseded, outbox.state().isFull],
    [200, 0, false],
  )
  assert.equal(
    together.reduce((sum, { edits }) => sum + edits, 0),
    200,
  )
  // Each under an id of its own: the log may have the first ones under theirs.
  assert.ok(together.every(({ draft: { id } }) => !renamed.has(id)))
  assert.deepEqual(superseded, [])
  let id = 'w1-1'
  while (renamed.has(id)) id = renamed.get(id) ?? ''
  assert.equal(together[0]?.draft.id, id)
})

test('an update that is under way, of another window or before one of another window is not merged', async () => {
  const { outbox, update, held } = openOutbox({ messages: 1000 })
  for (let n = 1; n <= 40; n += 1) update(`${n}`)
  const left = { ...draft(1), id: 'w0-1', from: 'w0', kind: 'update' as const, body: { update: 'left' } }
  outbox.adopt([unstored(left)])
  for (let n = 1; n <= 64; n += 1) update(`${n}`)
  assert.equal(held().length, 105)
  update('65')
  assert.deepEqual(held().slice(39), ['w1-40', 'w0-1', 'w1-105', 'w1-106'])
  const slow = openOutbox({ messages: 1000 })
  await slow.connect(() => null)
  for (let n = 1; n <= 96; n += 1) slow.update(`${n}`)
  assert.equal(slow.held().length, 96)
  slow.update('97')
  assert.deepEqual([slow.held().length, slow.held()[31]], [34, 'w1-32'])
})

test('one at a time: what waits behind an update under way becomes one, and the answer sends it', async () => {
  const { outbox, update, held, renamed } = openOutbox()
  const answers: ((stored: Stored) => void)[] = []
  const sent: string[] = []
  const send = (one: Draft) => {
    sent.push((one as Draft<'update'>).body.update)
    return new Promise<Stored>((resolve) => answers.push(resolve))
  }
  outbox.connected(send, () => undefined, 1)
  for (let n = 1; n <= 4; n += 1) update(`${n}`)
  assert.deepEqual([sent, held().length], [['1'], 4])
  answers[0]?.({ type: 'stored', id: 'w1-1', seq: 1 })
  await settled()
  assert.deepEqual([sent, held()], [['1', '2+3+4'], ['w1-5']])
  assert.deepEqual([...renamed.values()], ['w1-5', 'w1-5', 'w1-5'])
  assert.equal(outbox.state().unstored, 3)
})

test('a link in a mode that posts sends one at a time, where waiting updates may be merged', async () => {
  const { newest, publish } = openLink({ mergesWaiting: true })
  newest().welcome()
  for (const html of ['1', '2']) publish(html)
  assert.deepEqual(newest().sent, ['w1-1'])
  await newest().store('w1-1', 1)
  assert.deepEqual(newest().sent, ['w1-1', 'w1-2'])
})

test('a merged update does not grow without end', () => {
  const { update, kept } = openOutbox({ bytes: 10_000_000 })
  for (let n = 0; n < 1000; n += 1) update('x'.repeat(1000))
  assert.ok(kept().length > 10)
  for (const { draft } of kept()) assert.ok(JSON.stringify(draft).length <= 66_000)
})

const bounds = { messages: 3, bytes: 100_000 }

test('at the bound older edits give way to newer ones, and how many is told until all is stored', async () => {
  const { newest, heard, publish } = openLink({ bounds })
  for (let n = 1; n <= 5; n += 1) assert.ok(publish(`${n}`))
  assert.deepEqual(heard.superseded, ['w1-1', 'w1-2'])
  assert.deepEqual([heard.outbox?.unstored, heard.outbox?.superseded, heard.outbox?.isFull], [3, 2, false])
  newest().welcome()
  assert.deepEqual(newest().sent, ['w1-3', 'w1-4', 'w1-5'])
  for (const n of [3, 4, 5]) await newest().store(`w1-${n}`, n)
  assert.deepEqual([heard.outbox?.unstored, heard.outbox?.superseded], [0, 0])
})

test('where all is under way the newest is refused, nothing else is lost, and room is told', async () => {
  const { newest, heard, publish } = openLink({ bounds })
  newest().welcome()
  for (let n = 1; n <= 3; n += 1) publish(`${n}`)
  assert.equal(publish('4'), null)
  assert.deepEqual([heard.superseded, heard.outbox?.isFull, newest().sent.length], [[], true, 3])
  await newest().store('w1-1', 1)
  assert.equal(heard.outbox?.isFull, false)
  assert.ok(publish('4'))
  assert.deepEqual(newest().sent.slice(3), ['w1-5'])
})

const lookLater = async (time: { advance: (ms: number) => void }, ms: number) => {
  time.advance(ms)
  await settled()
}

test('while connected keeps what lingers for 250 ms, and not what is stored before', async () => {
  const browser = createBrowser()
  const { time, newest, publish } = openLink({ store: browser.open('w1').store })
  newest().welcome()
  publish()
  await lookLater(time, 249)
  assert.deepEqual(browser.ids(), [])
  await newest().store('w1-1', 1)
  publish()
  await lookLater(time, 249)
  assert.deepEqual(browser.ids(), [])
  await lookLater(time, 1)
  assert.deepEqual(browser.ids(), ['w1-2'])
  await newest().store('w1-2', 2)
  await settled()
  assert.deepEqual(browser.ids(), [])
})

test('without a connection keeps each draft at once, and on losing it what is unstored', async () => {
  const browser = createBrowser()
  const { newest, publish } = openLink({ store: browser.open('w1').store })
  publish()
  await settled()
  assert.deepEqual(browser.ids(), ['w1-1'])
  newest().welcome()
  publish()
  await settled()
  assert.deepEqual(browser.ids(), ['w1-1'])
  newest().end()
  await settled()
  assert.deepEqual(browser.ids(), ['w1-1', 'w1-2'])
})

test('tells when a closed window would lose something, and when that is over', async () => {
  const browser = createBrowser()
  browser.limit(1)
  const { newest, heard, publish } = openLink({ store: browser.open('w1').store })
  publish()
  publish()
  await settled()
  assert.equal(heard.outbox?.isSaved, false)
  newest().welcome()
  for (const n of [1, 2]) await newest().store(`w1-${n}`, n)
  await settled()
  assert.equal(heard.outbox?.isSaved, true)
})

test('closed, it writes nothing any more', async () => {
  const browser = createBrowser()
  const { link, newest, time, publish } = openLink({ store: browser.open('w1').store })
  newest().welcome()
  publish()
  link.close()
  await lookLater(time, 1000)
  assert.deepEqual(browser.ids(), [])
})

test('what a closed window left goes out under its own id, and counts as unstored until then', async () => {
  const { link, newest, heard } = openLink({ window: 'w2' })
  const body = { html: 'left' }
  link.adopt([unstored({ id: 'w1-7', channel: 'main', kind: 'edit', from: 'w1', at: 1, body })])
  assert.equal(heard.outbox?.unstored, 1)
  newest().welcome()
  assert.deepEqual(newest().sent, ['w1-7'])
  await newest().store('w1-7', 9)
  assert.deepEqual([heard.stored, heard.outbox?.unstored], [['w1-7 as 9'], 0])
})

test('what a closed window left is kept until it is stored, and not for a moment longer', async () => {
  const browser = createBrowser()
  const body = { update: 'left' }
  const left = unstored({ id: 'w1-7', channel: 'main', kind: 'update', from: 'w1', at: 1, body })
  await browser.open('w1').store.save([left])
  const { store } = browser.open('w2', { onLeft: ({ drafts }) => link.adopt(drafts) })
  const { link, newest } = openLink({ window: 'w2', store })
  newest().welcome()
  await store.look()
  await browser.close('w1')
  assert.deepEqual([browser.ids(), newest().sent], [['w1-7'], ['w1-7']])
  await newest().store('w1-7', 9)
  await settled()
  assert.deepEqual(browser.ids(), [])
})

test('says to the store where it stood when each draft was made', () => {
  let cursors: (string | null)[] = []
  const store = {
    async save(drafts: readonly UnstoredDraft[]) {
      cursors = drafts.map(({ cursor }) => cursor)
      return true
    },
  }
  const { link, newest, publish } = openLink({ store })
  publish()
  newest().welcome({ cursor: 'life1:4' })
  newest().message(5)
  publish()
  newest().message(6)
  link.save()
  assert.deepEqual(cursors, [null, 'life1:5'])
})

const taken = new RefusedError('id-taken', 'The log has another message of that id.')

test('where its id is taken an edit goes again under a new one, and is kept until it is stored', async () => {
  const browser = createBrowser()
  const { link, newest, heard, publish } = openLink({ store: browser.open('w1').store })
  newest().welcome()
  publish('a')
  await newest().fail('w1-1', taken)
  const [, again = ''] = newest().sent
  assert.match(again, /^w1-2r[0-9a-z]+$/)
  assert.deepEqual([heard.renamed, heard.refused, heard.outbox?.unstored], [[`w1-1 to ${again}`], [], 1])
  link.save()
  await settled()
  assert.deepEqual(browser.ids(), [again])
  await newest().store(again, 7)
  assert.deepEqual([heard.stored, heard.outbox?.unstored], [[`${again} as 7`], 0])
})

test('where many ids are taken only the newest edit of a channel goes again: it says all that those before it did', async () => {
  const { newest, heard, link, publish } = openLink()
  newest().welcome()
  for (const html of ['a', 'b', 'c']) publish(html)
  link.publish('other', 'edit', { html: 'd' })
  for (const n of [1, 2, 3, 4]) await newest().fail(`w1-${n}`, taken)
  assert.deepEqual(heard.superseded, ['w1-1', 'w1-2'])
  assert.deepEqual(
    heard.renamed.map((words) => words.split(' ')[0]),
    ['w1-3', 'w1-4'],
  )
  assert.deepEqual([newest().sent.length, heard.outbox?.unstored, heard.refused], [6, 2, []])
})

test('an edit that a newer one was stored after does not come back over it', async () => {
  const { newest, heard, publish } = openLink()
  newest().welcome()
  publish('a')
  publish('b')
  await newest().store('w1-2', 5)
  await newest().fail('w1-1', taken)
  assert.deepEqual([heard.superseded, newest().sent.length, heard.outbox?.unstored], [['w1-1'], 2, 0])
})

test('a server that takes no id at all is not asked for ever', async () => {
  const { newest, heard, publish } = openLink()
  newest().welcome()
  publish('a')
  await newest().fail('w1-1', taken)
  await newest().fail(newest().sent.at(-1) ?? '', taken)
  assert.deepEqual([newest().sent.length, heard.refused.length, heard.outbox?.unstored], [2, 1, 0])
})

const ids = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => `w1-${from + n}`)
const busy = (retryAfterMs: number) => new BusyError('Too fast.', retryAfterMs)

function openWith(published: number) {
  const opened = openLink()
  for (let n = 0; n < published; n += 1) opened.publish(`${n}`)
  opened.newest().welcome()
  return opened
}

test('at most 32 are under way; the rest follow as answers come, in order', async () => {
  const { newest, publish } = openWith(40)
  assert.deepEqual(newest().sent, ids(1, 32))
  publish()
  assert.equal(newest().sent.length, 32)
  await newest().store('w1-1', 1)
  await newest().store('w1-2', 2)
  assert.deepEqual(newest().sent, ids(1, 34))
  for (let n = 3; n <= 41; n += 1) await newest().store(`w1-${n}`, n)
  assert.deepEqual(newest().sent, ids(1, 41))
})

test('a refused one makes room as well', async () => {
  const { newest } = openWith(33)
  await newest().fail('w1-7', new RefusedError('bad-shape', 'No.'))
  assert.deepEqual(newest().sent, ids(1, 33))
})

test('busy: sends nothing for the pause, then all unacknowledged again in order, over the same stream', async () => {
  const { time, streams, newest, heard, publish } = openWith(3)
  await newest().store('w1-1', 1)
  await newest().fail('w1-2', busy(700))
  await newest().fail('w1-3', busy(900))
  publish()
  time.advance(699)
  assert.deepEqual(newest().sent, ids(1, 3))
  time.advance(1)
  assert.deepEqual(newest().sent, [...ids(1, 3), ...ids(2, 4)])
  time.advance(10_000)
  assert.deepEqual([newest().sent.length, streams.length, heard.outbox?.unstored], [6, 1, 3])
})

test('busy again after the pause waits again', async () => {
  const { time, newest } = openWith(1)
  for (let n = 0; n < 3; n += 1) {
    await newest().fail('w1-1', busy(500))
    time.advance(500)
  }
  assert.deepEqual(newest().sent, ['w1-1', 'w1-1', 'w1-1', 'w1-1'])
})

test('a stream that ends during the pause sends all again over the next one, and not twice', async () => {
  const { time, streams, newest } = openWith(2)
  await newest().fail('w1-1', busy(5000))
  newest().end()
  time.advance(250)
  newest().welcome()
  assert.deepEqual(newest().sent, ids(1, 2))
  time.advance(10_000)
  assert.deepEqual([streams[0]?.sent, newest().sent], [ids(1, 2), ids(1, 2)])
})

test('what an old stream says of being busy does not hold up the new one', async () => {
  const { time, streams, newest, publish } = openWith(1)
  newest().end()
  time.advance(250)
  newest().welcome()
  await streams[0]?.fail('w1-1', busy(60_000))
  publish()
  await settled()
  assert.deepEqual(newest().sent, ids(1, 2))
})
