// Unsent drafts are bounded, saved in the browser, sent in order, a few at a time, and resent.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bodies, Draft, Stored } from '../protocol/messages.ts'
import { createManualTime } from '../protocol/testing.ts'
import { documentPolicy, mergingPolicy } from './document-policy.ts'
import type { UnstoredDraft } from './draft-database.ts'
import { DraftKeeper } from './draft-keeper.ts'
import type { DraftStore } from './draft-store.ts'
import { type Bounds, Outbox, plainPolicy } from './outbox.ts'
import { createBrowser, mode, openLink, settled } from './testing.ts'
import { BusyError, RefusedError } from './transports/transport.ts'

function draft(n: number, change: Partial<Draft> = {}): Draft {
  return { id: `w1-${n}`, channel: 'main', kind: 'title', from: 'w1', at: n, body: { title: '' }, ...change }
}

const unstored = (one: Draft): UnstoredDraft => ({ draft: one, edits: 1 })

/** A browser's store that does nothing but write. */
const storeOf = (write: DraftStore['write']) => ({
  write,
  look: async () => undefined,
  close: async () => undefined,
  onGone: () => undefined,
})

/**
 * An outbox alone; `kept` is what it saved, `connect` answers the first drafts as stored and never
 * answers the rest.
 */
function openOutbox(bounds: Partial<Bounds> = {}, pauseMs = 15) {
  const saved = new Map<string, UnstoredDraft>()
  const refused: string[] = []
  const time = createManualTime(0)
  const store = storeOf(async (added, removed) => {
    for (const id of removed) saved.delete(id)
    for (const one of added) saved.set(one.draft.id, structuredClone(one))
    return true
  })
  const documents = documentPolicy({
    window: 'w1',
    bounds: { messages: 100, bytes: 100_000, ...bounds },
    random: () => 1,
  })
  const policy = mergingPolicy(documents, {
    pauseMs,
    maxBytes: 50_000,
    mergeUpdates: (updates) => ({ update: updates.map(({ update }) => update).join('+') }),
  })
  const outbox = new Outbox({ window: 'w1', timers: time }, policy, {
    onOutbox: () => undefined,
    onStored: () => undefined,
    onRefused: ({ id }) => void refused.push(id),
    onRenamed: () => undefined,
  })
  const keeper = new DraftKeeper(outbox, { window: 'w1', store, timers: time, savesOnClose: false })

  function connect(answer: (draft: Draft) => Promise<Stored> | null, maxInFlight = 32): Promise<void> {
    outbox.connect(
      (draft) => answer(draft) ?? new Promise(() => undefined),
      maxInFlight,
      () => undefined,
    )
    return settled()
  }

  const add = ({ channel = 'main', title = '' } = {}) => outbox.publish(channel, 'title', { title }) !== null
  const update = (text: string) => outbox.publish('main', 'update', { update: text })

  function kept(): readonly UnstoredDraft[] {
    outbox.flush()
    return [...saved.values()]
  }

  /** Takes drafts of closed windows. */
  function adopt(...left: readonly UnstoredDraft[]): void {
    for (const one of left) saved.set(one.draft.id, one)
    keeper.adopt(left)
  }

  return {
    outbox,
    time,
    refused,
    add,
    update,
    adopt,
    kept,
    held: () => kept().map(({ draft: { id } }) => id),
    connect,
  }
}

/** Records the updates' contents as each leaves. */
function recordSent({ connect }: Pick<ReturnType<typeof openOutbox>, 'connect'>, maxInFlight: number) {
  const sent: string[] = []
  const answers: (() => Promise<void>)[] = []
  void connect((one) => {
    sent.push((one as Draft<'update'>).body.update)
    return new Promise<Stored>((resolve) =>
      answers.push(() => {
        resolve({ type: 'stored', id: one.id, seq: 1 })
        return settled()
      }),
    )
  }, maxInFlight)
  return { sent, answers }
}

const stored =
  (...ids: string[]) =>
  ({ id }: Draft) =>
    ids.includes(id) ? Promise.resolve({ type: 'stored', id, seq: 1 } as const) : null

test('keeps drafts in order, whichever of them is stored', async () => {
  const { outbox, add, held, connect } = openOutbox()
  for (let n = 1; n <= 12; n += 1) add()
  await connect(stored('w1-1', 'w1-5', 'w1-12'))
  assert.deepEqual(
    held(),
    [2, 3, 4, 6, 7, 8, 9, 10, 11].map((n) => `w1-${n}`),
  )
  assert.equal(outbox.state.unstored, 9)
})

test('updates that are merged count each, whatever policy merges them', () => {
  const policy = mergingPolicy(plainPolicy(), {
    minQueued: 1,
    mergeUpdates: (updates) => ({ update: updates.map(({ update }) => update).join('+') }),
  })
  const outbox = new Outbox({ window: 'w1', timers: createManualTime(0) }, policy, {
    onOutbox: () => undefined,
    onStored: () => undefined,
    onRefused: () => undefined,
  })
  for (const update of ['a', 'b', 'c']) outbox.publish('main', 'update', { update })
  assert.deepEqual([outbox.drafts.pending.length, outbox.state.unstored], [1, 3])
})

test('a renamed draft moves to the end, and its size counts', async () => {
  const again = 'w1-3r100000000'
  const drafts = [draft(0, { channel: 'other', id: again }), draft(2), draft(4)]
  const bytes = drafts.reduce((sum, one) => sum + JSON.stringify(one).length, 0)
  for (const [room, isTaken] of [
    [bytes, true],
    [bytes - 1, false],
  ] as const) {
    const { add, held, connect } = openOutbox({ bytes: room })
    add({ channel: 'other' })
    add()
    await connect(({ id }) => (id === 'w1-1' ? Promise.reject(taken) : null))
    assert.deepEqual(held(), ['w1-2', again])
    assert.equal(add(), isTaken)
  }
})

test('a message of an application whose id is taken is refused: somebody waits for the answer', async () => {
  const { outbox, refused, held, connect } = openOutbox()
  outbox.publish('room', 'json', { data: 'hello' })
  await connect(() => Promise.reject(taken))
  assert.deepEqual([refused, held()], [['w1-1'], []])
})

test("adopts closed windows' drafts regardless of the bounds, each draft once", async () => {
  const opened = openOutbox({ messages: 1, bytes: 1 })
  const { outbox, adopt } = opened
  adopt(unstored(draft(1)), { ...unstored(draft(2)), edits: 3 })
  adopt(unstored(draft(1)))
  const sent: string[] = []
  await opened.connect(({ id }) => {
    sent.push(id)
    return null
  })
  assert.deepEqual([sent, outbox.state.unstored], [['w1-1', 'w1-2'], 4])
})

test('an update over the bounds is kept in this window only; other kinds are rejected', async () => {
  const few = openOutbox({ messages: 2 }, 0)
  for (const text of ['a', 'b']) few.update(text)
  assert.equal(few.add(), false)
  assert.deepEqual([few.outbox.state.isFull, few.outbox.state.unstored], [false, 2])
  assert.ok(few.update('c'))
  assert.deepEqual([few.held(), few.outbox.state.isFull], [['w1-1', 'w1-2'], true])
  await few.connect(stored('w1-1'))
  assert.deepEqual([few.held(), few.outbox.state.isFull], [['w1-2', 'w1-4'], false])
  const size = JSON.stringify(few.outbox.drafts.pending[0]?.draft).length
  const small = openOutbox({ bytes: size * 2.5 }, 0)
  for (const text of ['a', 'b', 'x'.repeat(size * 3)]) assert.ok(small.update(text))
  assert.deepEqual([small.held(), small.outbox.state.isFull], [['w1-1', 'w1-2'], true])
})

test('an update that builds on one over the bounds is also over them, and all are sent in order', async () => {
  const opened = openOutbox({ bytes: 400 })
  opened.update('a')
  const { sent } = recordSent(opened, 1)
  opened.update('x'.repeat(60_000))
  opened.update('b')
  assert.deepEqual([opened.held(), opened.outbox.state.isFull], [['w1-1'], true])
  assert.deepEqual(sent, ['a'])
})

test('counts bytes as UTF-8, and frees them when a draft is stored', async () => {
  const title = '風'.repeat(100)
  const wide = draft(1, { body: { title } })
  const { add, connect } = openOutbox({ bytes: Buffer.byteLength(JSON.stringify(wide)) * 2 })
  assert.deepEqual(
    [1, 2, 3].map(() => add({ title })),
    [true, true, false],
  )
  await connect(stored('w1-2'))
  assert.equal(add({ title }), true)
})

test('waiting updates are merged: no bound is reached, nothing is dropped, and each edit still counts', () => {
  for (const pauseMs of [15, 0]) {
    const { outbox, update, kept } = openOutbox({ messages: 65 }, pauseMs)
    const texts = Array.from({ length: 200 }, (_, n) => `${n}`)
    for (const text of texts) assert.ok(update(text))
    const together = kept()
    assert.equal(together.length, pauseMs === 0 ? 64 : 1)
    const said = together.map(({ draft: { body } }) => (body as { update: string }).update)
    assert.equal(said.join('+'), texts.join('+'))
    const { unstored, isFull } = outbox.state
    assert.deepEqual([unstored, isFull], [200, false])
    assert.equal(
      together.reduce((sum, { edits }) => sum + edits, 0),
      200,
    )
  }
})

test('the first update leaves at once, those during the pause after it as one', () => {
  const opened = openOutbox()
  const { sent } = recordSent(opened, 32)
  for (const text of 'abc') opened.update(text)
  opened.time.advance(14)
  assert.deepEqual(sent, ['a'])
  opened.time.advance(1)
  assert.deepEqual(sent, ['a', 'b+c'])
  opened.time.advance(15)
  opened.update('d')
  assert.deepEqual(sent, ['a', 'b+c', 'd'])
})

test('without a pause each update is its own message', () => {
  const opened = openOutbox({}, 0)
  const { sent } = recordSent(opened, 32)
  for (const text of 'abc') opened.update(text)
  assert.deepEqual(sent, ['a', 'b', 'c'])
})

test('a page that ends sends and saves waiting drafts', () => {
  const opened = openOutbox()
  const { sent } = recordSent(opened, 32)
  for (const text of 'abc') opened.update(text)
  assert.deepEqual([opened.kept().length, sent], [2, ['a', 'b+c']])
})

test('a closing page sends all unanswered drafts, in order, and none is merged into them later', async () => {
  const opened = openOutbox()
  const { sent } = recordSent(opened, 1)
  for (const text of 'abc') opened.update(text)
  const updates = opened.outbox.leave().map(({ body }) => (body as Bodies['update']).update)
  assert.deepEqual([updates, sent], [['a', 'b+c'], ['a']])
  opened.update('d')
  assert.deepEqual(opened.held(), ['w1-1', 'w1-2', 'w1-3'])
})

test('an update is not merged into a sent draft, one of another window or channel, or another kind', async () => {
  const { outbox, update, add, adopt, held, connect } = openOutbox()
  update('1')
  await connect(() => null)
  outbox.disconnect()
  // The server may have stored it.
  update('2')
  update('3')
  adopt(unstored({ ...draft(1), id: 'w0-1', from: 'w0', kind: 'update', body: { update: 'left' } }))
  update('4')
  outbox.publish('other', 'update', { update: '5' })
  update('6')
  add()
  update('7')
  assert.deepEqual(held(), ['w1-1', 'w1-2', 'w0-1', 'w1-3', 'w1-4', 'w1-5', 'w1-6', 'w1-7'])
})

test('one at a time: updates behind one in flight are merged and leave when it is answered', async () => {
  const opened = openOutbox()
  const { outbox, time, update, held } = opened
  const { sent, answers } = recordSent(opened, 1)
  for (let n = 1; n <= 4; n += 1) {
    update(`${n}`)
    time.advance(20)
  }
  assert.deepEqual([sent, outbox.state.unstored], [['1'], 4])
  await answers[0]?.()
  assert.deepEqual([sent, held()], [['1', '2+3+4'], ['w1-2']])
  assert.equal(outbox.state.unstored, 3)
})

test('a merged draft that is too large is sent in halves', async () => {
  const opened = openOutbox()
  const sent: string[] = []
  for (const text of 'abc') opened.update(text)
  await opened.connect(({ id, body }) => {
    const { update } = body as Bodies['update']
    sent.push(update)
    if (update.length > 3) return Promise.reject(new RefusedError('too-large', 'Too large.'))
    return Promise.resolve({ type: 'stored', id, seq: 1 })
  })
  await settled()
  assert.deepEqual([sent, opened.refused, opened.held()], [['a+b+c', 'a+b', 'c'], [], []])
})

test('a link sends as many at a time as its mode allows', async () => {
  const { newest, publish } = openLink({ mode: mode('sse/2') })
  newest().welcome()
  for (const html of ['1', '2']) publish(html)
  assert.deepEqual(newest().sent, ['w1-1'])
  await newest().store('w1-1', 1)
  assert.deepEqual(newest().sent, ['w1-1', 'w1-2'])
})

test('limits the size of a merged update: one message while pasting, less where each save rewrites it', () => {
  const offline = openOutbox({ bytes: 10_000_000, messages: 1000 })
  for (let n = 0; n < 300; n += 1) {
    offline.update('x'.repeat(1000))
    offline.time.advance(1)
  }
  const sizes = offline.kept().map((one) => JSON.stringify(one.draft).length)
  assert.ok(sizes.length > 10 && Math.max(...sizes) < 17_000, `${sizes}`)
  const pasting = openOutbox({ bytes: 10_000_000 })
  const { sent } = recordSent(pasting, 32)
  for (let n = 0; n < 301; n += 1) pasting.update('x'.repeat(1000))
  pasting.time.advance(1000)
  assert.ok(sent.length < 10 && sent.every(({ length }) => length < 50_000), `${sent.length}`)
})

const bounds = { messages: 3, bytes: 100_000 }

test('if all drafts are in flight, the newest stays in this window only, nothing is lost, and free room is reported', async () => {
  const { newest, heard, publish } = openLink({ bounds })
  newest().welcome()
  for (let n = 1; n <= 4; n += 1) publish(`${n}`)
  assert.equal(heard.outbox?.isFull, true)
  await newest().store('w1-1', 1)
  assert.deepEqual([heard.outbox?.isFull, newest().sent], [false, ['w1-1', 'w1-2', 'w1-3', 'w1-4']])
})

const lookLater = async (time: { advance: (ms: number) => void }, ms: number) => {
  time.advance(ms)
  await settled()
}

test('while connected, saves drafts that wait longer than 250 ms, and none stored before then', async () => {
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

test('while disconnected saves each draft at once, and on disconnecting all unstored ones', async () => {
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

test('reports while closing the window would lose drafts', async () => {
  const browser = createBrowser()
  browser.limit(1)
  const { newest, heard, publish } = openLink({ store: browser.open('w1').store })
  publish()
  publish()
  await settled()
  assert.equal(heard.outbox?.canPersist, false)
  newest().welcome()
  for (const n of [1, 2]) await newest().store(`w1-${n}`, n)
  await settled()
  assert.equal(heard.outbox?.canPersist, true)
})

test('counts an edit as kept once it is written', async () => {
  const written: ((isDone: boolean) => void)[] = []
  const store = storeOf(() => new Promise<boolean>((resolve) => written.push(resolve)))
  const { publish, heard } = openLink({ store })
  const counted = () => [heard.outbox?.unstored, heard.outbox?.persisted]
  publish()
  publish()
  assert.deepEqual(counted(), [2, 0])
  for (const [isDone, kept] of [
    [true, 1],
    [false, 1],
  ] as const) {
    written.shift()?.(isDone)
    await settled()
    assert.deepEqual(counted(), [2, kept])
  }
})

test('writes each draft once and removes it once; after a failed write, writes all again', async () => {
  const written: string[] = []
  let hasRoom = true
  const store = storeOf(async (added, removed) => {
    written.push(...added.map(({ draft }) => draft.id), ...removed.map((id) => `not ${id}`))
    return hasRoom
  })
  const { link, newest, publish, heard } = openLink({ store })
  publish()
  publish()
  await settled()
  link.outbox.flush()
  assert.deepEqual(written.splice(0), ['w1-1', 'w1-2'])
  newest().welcome()
  hasRoom = false
  await newest().store('w1-1', 1)
  link.outbox.flush()
  await settled()
  assert.equal(heard.outbox?.canPersist, false)
  hasRoom = true
  link.outbox.flush()
  await newest().store('w1-2', 2)
  await settled()
  assert.deepEqual([written, heard.outbox?.canPersist], [['not w1-1', 'not w1-1', 'not w1-2'], true])
})

test('a draft whose first write fails while the next is in progress is removed once it has ended', async () => {
  const kept = new Set<string>()
  const written: ((isDone: boolean) => Promise<void>)[] = []
  const store = storeOf(
    (added, removed) =>
      new Promise((resolve) =>
        written.push((isDone) => {
          if (isDone) for (const { draft } of added) kept.add(draft.id)
          if (isDone) for (const id of removed) kept.delete(id)
          resolve(isDone)
          return settled()
        }),
      ),
  )
  const { newest, publish } = openLink({ store })
  publish()
  // The written draft may be gone, so it is written again.
  store.onGone()
  await written.shift()?.(false)
  await written.shift()?.(true)
  assert.deepEqual([...kept], ['w1-1'])
  newest().welcome()
  await newest().store('w1-1', 1)
  await written.shift()?.(true)
  assert.deepEqual([...kept], [])
})

test('if the browser cannot keep drafts, none remains to be removed once all are stored', async () => {
  const browser = createBrowser()
  browser.limit(-1)
  const { newest, heard, publish } = openLink({ store: browser.open('w1').store })
  publish()
  await settled()
  assert.equal(heard.outbox?.canPersist, false)
  newest().welcome()
  await newest().store('w1-1', 1)
  await settled()
  assert.deepEqual([heard.outbox?.unstored, heard.outbox?.canPersist], [0, true])
})

test('after close, writes nothing', async () => {
  const browser = createBrowser()
  const { link, newest, time, publish } = openLink({ store: browser.open('w1').store })
  newest().welcome()
  publish()
  link.close()
  await lookLater(time, 1000)
  assert.deepEqual(browser.ids(), [])
})

test("a closed window's drafts are sent under their own ids, and count as unstored until stored", async () => {
  const { keeper, newest, heard } = openLink({ window: 'w2', store: storeOf(async () => true) })
  const body = { update: 'left' }
  keeper?.adopt([unstored({ id: 'w1-7', channel: 'main', kind: 'update', from: 'w1', at: 1, body })])
  assert.equal(heard.outbox?.unstored, 1)
  newest().welcome()
  assert.deepEqual(newest().sent, ['w1-7'])
  await newest().store('w1-7', 9)
  assert.deepEqual([heard.stored, heard.outbox?.unstored], [['w1-7 as 9'], 0])
})

test("a closed window's drafts are kept until stored, and removed at once then", async () => {
  const browser = createBrowser()
  const body = { update: 'left' }
  const left = unstored({ id: 'w1-7', channel: 'main', kind: 'update', from: 'w1', at: 1, body })
  await browser.open('w1').store.write([left], [])
  const { store } = browser.open('w2', { onLeft: (drafts) => keeper?.adopt(drafts) })
  const { keeper, newest } = openLink({ window: 'w2', store })
  newest().welcome()
  await store.look()
  await browser.close('w1')
  assert.deepEqual([browser.ids(), newest().sent], [['w1-7'], ['w1-7']])
  await newest().store('w1-7', 9)
  await settled()
  assert.deepEqual(browser.ids(), [])
})

const taken = new RefusedError('id-taken', 'Sender "w1" has already used that id.')

test('an edit whose id is taken is resent under a new id, and kept until stored', async () => {
  const browser = createBrowser()
  const { link, newest, heard, publish } = openLink({ store: browser.open('w1').store })
  newest().welcome()
  publish('a')
  await newest().fail('w1-1', taken)
  const [, again = ''] = newest().sent
  assert.match(again, /^w1-2r[0-9a-z]+$/)
  assert.deepEqual([heard.renamed, heard.refused, heard.outbox?.unstored], [[`w1-1 to ${again}`], [], 1])
  link.outbox.flush()
  await settled()
  assert.deepEqual(browser.ids(), [again])
  await newest().store(again, 7)
  assert.deepEqual([heard.stored, heard.outbox?.unstored], [[`${again} as 7`], 0])
})

test('if many ids are taken, all drafts are resent, in order', async () => {
  const { newest, heard, publish } = openLink()
  newest().welcome()
  for (const text of ['a', 'b', 'c']) publish(text)
  for (const n of [1, 2, 3]) await newest().fail(`w1-${n}`, taken)
  assert.deepEqual(
    heard.renamed.map((words) => words.split(' ')[0]),
    ['w1-1', 'w1-2', 'w1-3'],
  )
  assert.deepEqual([newest().sent.length, heard.outbox?.unstored, heard.refused], [6, 3, []])
})

const notYours = new RefusedError(
  'not-your-name',
  'The name belongs to a key that this request did not send.',
)

test('drafts kept under a name that this window cannot prove are sent under its own, and kept until stored', async () => {
  for (const content of [
    { kind: 'update', body: { update: 'left' } },
    { kind: 'title', body: { title: 'left' } },
  ] as const) {
    const browser = createBrowser()
    const left = unstored({ id: 'w1-7', channel: 'main', from: 'w1', at: 1, ...content })
    await browser.open('w1').store.write([left], [])
    const { store } = browser.open('w2', { onLeft: (drafts) => keeper?.adopt(drafts) })
    const { link, keeper, newest, heard } = openLink({ window: 'w2', store })
    newest().welcome()
    await store.look()
    await browser.close('w1')
    await newest().fail('w1-7', notYours)
    const [, again = ''] = newest().sent
    assert.match(again, /^w2-1r/)
    link.outbox.flush()
    await settled()
    assert.deepEqual([browser.ids(), heard.refused], [[again], []])
    await newest().store(again, 9)
    await settled()
    assert.deepEqual([browser.ids(), heard.stored], [[], [`${again} as 9`]])
  }
})

test('a message of an application is not sent under another name: it may be stored under the first', async () => {
  const { keeper, newest, heard } = openLink({ window: 'w2', store: storeOf(async () => true) })
  keeper?.adopt([unstored(draft(7, { kind: 'json', body: { data: 1 } }))])
  newest().welcome()
  await newest().fail('w1-7', notYours)
  assert.deepEqual([newest().sent, heard.refused.length, heard.outbox?.unstored], [['w1-7'], 1, 0])
})

test('drafts stay kept while no window may write them, and are then sent', async () => {
  for (const code of ['not-invited-there', 'read-only-invitation']) {
    const browser = createBrowser()
    const body = { update: 'left' }
    const left = unstored({ id: 'w1-7', channel: 'main', kind: 'update', from: 'w1', at: 1, body })
    await browser.open('w1').store.write([left], [])
    for (const [window, before, answer] of [
      ['w2', 'w1', code],
      ['w3', 'w2', null],
    ] as const) {
      const { store } = browser.open(window, { onLeft: (drafts) => keeper?.adopt(drafts) })
      const { link, keeper, newest, heard } = openLink({ window, store })
      newest().welcome()
      await store.look()
      await browser.close(before)
      if (answer !== null) await newest().fail('w1-7', new RefusedError(answer, 'No.'))
      else await newest().store('w1-7', 9)
      link.outbox.flush()
      await settled()
      assert.deepEqual([heard.outbox?.unstored, browser.ids()], [0, answer === null ? [] : ['w1-7']])
    }
  }
})

test('if the user deletes the database, what is still unstored is kept again, and called kept only then', async () => {
  const browser = createBrowser()
  const opened = browser.open('w1')
  const { link, newest, publish, heard } = openLink({ store: opened.store })
  for (const text of ['stored', 'kept']) publish(text)
  await settled()
  newest().welcome()
  await newest().store('w1-1', 1)
  link.outbox.flush()
  await settled()
  assert.deepEqual([browser.ids(), heard.outbox?.persisted], [['w1-2'], 1])
  browser.deleteDatabase()
  assert.equal(heard.outbox?.persisted, 0)
  await settled()
  assert.deepEqual([browser.ids(), heard.outbox?.persisted], [['w1-2'], 1])
})

test('a server that rejects every id is not retried forever', async () => {
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

test('at most 32 drafts are in flight; the rest follow as answers come, in order', async () => {
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

test('a refused draft makes room too', async () => {
  const { newest } = openWith(33)
  await newest().fail('w1-7', new RefusedError('bad-shape', 'No.'))
  assert.deepEqual(newest().sent, ids(1, 33))
})

test('busy: sends nothing for the pause, then all unacknowledged drafts in order, over the same stream', async () => {
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

test('busy again after the pause: waits again', async () => {
  const { time, newest } = openWith(1)
  for (let n = 0; n < 3; n += 1) {
    await newest().fail('w1-1', busy(500))
    time.advance(500)
  }
  assert.deepEqual(newest().sent, ['w1-1', 'w1-1', 'w1-1', 'w1-1'])
})

test('if the stream ends during the pause, all drafts are resent over the next one, and only once', async () => {
  const { time, streams, newest } = openWith(2)
  await newest().fail('w1-1', busy(5000))
  newest().end()
  time.advance(250)
  newest().welcome()
  assert.deepEqual(newest().sent, ids(1, 2))
  time.advance(10_000)
  assert.deepEqual([streams[0]?.sent, newest().sent], [ids(1, 2), ids(1, 2)])
})

test('a busy answer from an old stream does not hold up the new one', async () => {
  const { time, streams, newest, publish } = openWith(1)
  newest().end()
  time.advance(250)
  newest().welcome()
  await streams[0]?.fail('w1-1', busy(60_000))
  publish()
  await settled()
  assert.deepEqual(newest().sent, ids(1, 2))
})

test('the plain outbox sends messages as they are, and takes no more than its bounds', async () => {
  const heard: string[] = []
  const outbox = new Outbox(
    { window: 'w1', timers: createManualTime(0) },
    plainPolicy({ messages: 2, bytes: 1000 }),
    {
      onOutbox: ({ unstored }) => void heard.push(`${unstored} unstored`),
      onStored: ({ id }, seq) => void heard.push(`${id} as ${seq}`),
      onRefused: ({ id }, _sentence, code) => void heard.push(`${id}: ${code}`),
      onRenamed: () => assert.fail('nothing is renamed'),
    },
  )
  const say = (data: unknown) => outbox.publish('room', 'json', { data })?.id ?? null
  assert.equal(say('x'.repeat(1000)), null)
  assert.deepEqual([say(1), say(2), say(3)], ['w1-2', 'w1-3', null])
  outbox.connect(
    async ({ id }) => {
      if (id === 'w1-3') throw new RefusedError('id-taken', 'No.')
      return { type: 'stored', id, seq: 7 }
    },
    1,
    () => undefined,
  )
  await settled()
  assert.deepEqual(heard, [
    '1 unstored',
    '2 unstored',
    'w1-2 as 7',
    '1 unstored',
    'w1-3: id-taken',
    '0 unstored',
  ])
})

const notLetIn = new RefusedError('no-session', 'The application does not allow this.')

test('drafts end when the server refuses the window, and are not sent later; new ones are', async () => {
  const refused: string[] = []
  const options = { window: 'w1', timers: createManualTime(0) }
  const outbox = new Outbox(options, plainPolicy({ messages: 10, bytes: 10_000 }), {
    onOutbox: () => undefined,
    onStored: ({ id }) => assert.fail(`${id} was answered twice`),
    onRefused: ({ id }, sentence, code) => void refused.push(`${id} ${code}: ${sentence}`),
  })
  const publish = (channel: string) => outbox.publish(channel, 'json', { data: 1 })
  const answers: (() => void)[] = []
  const send = ({ id }: Draft) =>
    new Promise<Stored>((resolve) => answers.push(() => resolve({ type: 'stored', id, seq: 1 })))
  outbox.connect(send, 1, () => undefined)
  publish('one')
  publish('other')
  publish('one')
  outbox.refuse(notLetIn, 'one')
  const sentence = 'no-session: The application does not allow this.'
  assert.deepEqual(refused, [`w1-1 ${sentence}`, `w1-3 ${sentence}`])
  outbox.disconnect()
  outbox.refuse(notLetIn)
  assert.deepEqual([refused.length, outbox.state.unstored], [3, 0])
  // The first one was on its way.
  for (const answer of answers) answer()
  await settled()
  const sent: string[] = []
  publish('one')
  outbox.connect(
    ({ id }) => {
      sent.push(id)
      return new Promise(() => undefined)
    },
    32,
    () => undefined,
  )
  assert.deepEqual(sent, ['w1-4'])
})

test('saved drafts that end because the server refuses the window are removed from the browser too', async () => {
  const { outbox, add, refused, held } = openOutbox()
  for (let n = 0; n < 3; n += 1) add()
  assert.equal(held().length, 3)
  outbox.refuse(notLetIn)
  assert.deepEqual([refused, held()], [['w1-1', 'w1-2', 'w1-3'], []])
})

test('a draft that waits can be withdrawn, from the browser too; one that was sent only if that is asked', async () => {
  const { outbox, add, connect, refused, held } = openOutbox()
  for (let n = 0; n < 3; n += 1) add()
  assert.equal(held().length, 3)
  await connect(() => null, 1)
  for (const id of ['w1-1', 'w1-2', 'w1-4']) outbox.withdraw((draft) => draft.id === id)
  outbox.disconnect()
  outbox.withdraw(({ id }) => id === 'w1-1')
  assert.deepEqual([refused, held()], [['w1-2'], ['w1-1', 'w1-3']])
  outbox.withdraw(({ id }) => id === 'w1-1', true)
  assert.deepEqual([refused, held()], [['w1-2', 'w1-1'], ['w1-3']])
})

test('drafts of a paused channel wait, others overtake them, and a page that ends sends them', async () => {
  const { outbox, update, add, connect } = openOutbox()
  const sent: string[] = []
  outbox.paused.add('main')
  await connect((one) => {
    sent.push(one.id)
    return null
  }, 1)
  update('a')
  add({ channel: 'other' })
  assert.deepEqual(sent, ['w1-2'])
  assert.deepEqual(
    outbox.leave().map(({ id }) => id),
    ['w1-1', 'w1-2'],
  )
})

test('a draft goes before those that build on it, and behind those in flight', async () => {
  const { outbox, update, connect } = openOutbox({}, 0)
  await connect(() => null, 1)
  update('in flight')
  update('waits')
  const later = outbox.drafts.pending.slice(1)
  outbox.publish('main', 'update', { update: 'first' }, later)
  const texts = outbox.drafts.pending.map(({ draft }) => (draft as Draft<'update'>).body.update)
  assert.deepEqual(texts, ['in flight', 'first', 'waits'])
})

test('a refused draft that is held stays in the browser until it is released, and is not sent again', async () => {
  const { outbox, update, connect, held } = openOutbox()
  update('a')
  const sent: string[] = []
  await connect(({ id }) => {
    sent.push(id)
    return Promise.reject(new RefusedError('not-invited-there', 'No.'))
  })
  assert.deepEqual([sent, outbox.drafts.pending, held()], [['w1-1'], [], ['w1-1']])
  outbox.change({ held: [] })
  assert.deepEqual([sent, held()], [['w1-1'], []])
})
