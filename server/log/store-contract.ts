// Contract tests for the stores that packages bring.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { countTo } from './log-testing.ts'
import type { LogStore, SharedStorage, StoreDraft } from './store.ts'

const nothing = () => undefined

const draftOf = (id: string, change: Partial<StoreDraft> = {}): StoreDraft => ({
  key: `${id} w1 main`,
  channel: 'main',
  acceptedAt: 2000.25,
  text: `{"id":"${id}"}`,
  erased: null,
  ...change,
})

/** `storageOf` returns the storage of an empty log each time. */
export function testStore(name: string, storageOf: () => SharedStorage): void {
  async function open(context: TestContext) {
    const store = storageOf().connect({ onAppended: nothing, onNote: nothing, onReturned: nothing })
    context.after(() => store.close())
    await store.open()
    return store
  }

  /** Returns the numbers. */
  async function append(store: LogStore, ...drafts: StoreDraft[]): Promise<readonly number[] | null> {
    const page = await store.read(0)
    return store.append(drafts, { epoch: page?.epoch ?? '', head: 0 })
  }

  test(`${name}: numbers drafts from 1, and returns a page of one moment`, async (context) => {
    const store = await open(context)
    const empty = await store.read(0)
    assert.deepEqual([empty?.head, empty?.last, empty?.messages], [0, null, []])
    assert.match(empty?.epoch ?? '', /^[a-z\d]{8}$/)
    assert.deepEqual(await append(store, draftOf('a'), draftOf('b')), [1, 2])
    assert.deepEqual(await store.read(1), {
      epoch: empty?.epoch,
      head: 2,
      last: { key: 'a w1 main', acceptedAt: 2000.25 },
      messages: [{ seq: 2, text: '{"id":"b"}' }],
    })
  })

  test(`${name}: a repeat has the number of the first, also in one call`, async (context) => {
    const store = await open(context)
    assert.deepEqual(await append(store, draftOf('a'), draftOf('b'), draftOf('a')), [1, 2, 1])
    assert.deepEqual(await append(store, draftOf('b', { text: 'another' }), draftOf('c')), [2, 3])
  })

  test(`${name}: a message that counts as erased is erased when its key is stored again`, async (context) => {
    const store = await open(context)
    await append(store, draftOf('a'), draftOf('b'))
    assert.deepEqual(await append(store, draftOf('a', { erased: 1 })), [3])
    // Another server had the same number.
    assert.deepEqual(await append(store, draftOf('a', { erased: 1 })), [3])
    const page = await store.read(0)
    assert.deepEqual(
      page?.messages.map(({ seq }) => seq),
      [2, 3],
    )
  })

  test(`${name}: stores nothing in another epoch, or in a log that ends before what the server has`, async (context) => {
    const store = await open(context)
    await append(store, draftOf('a'))
    const { epoch = '' } = (await store.read(0)) ?? {}
    assert.equal(await store.append([draftOf('b')], { epoch, head: 2 }), null)
    await store.endEpoch('other', 'missed')
    await store.endEpoch(epoch, 'nextnext')
    await store.endEpoch(epoch, 'toolate')
    assert.equal(await store.append([draftOf('b')], { epoch, head: 1 }), null)
    const page = await store.read(1)
    assert.deepEqual([page?.epoch, page?.head], ['nextnext', 1])
  })

  test(`${name}: purges a channel before a number, and keeps the keys of the others`, async (context) => {
    const store = await open(context)
    const other = draftOf('x', { key: 'x w1 other', channel: 'other' })
    await append(store, draftOf('a'), other, draftOf('b'), draftOf('c'))
    await store.purge('main', 4)
    const page = await store.read(0)
    assert.deepEqual(
      page?.messages.map(({ seq }) => seq),
      [2, 4],
    )
    assert.deepEqual(await append(store, other, draftOf('a'), draftOf('c')), [2, 5, 4])
    assert.equal((await store.read(1))?.last, null)
  })

  test(`${name}: reads many and large messages in portions, in order`, async (context) => {
    const store = await open(context)
    const text = JSON.stringify('wïnd'.repeat(50_000))
    await append(store, ...countTo(10).map((n) => draftOf(`${n}`, { text })))
    await append(store, ...countTo(700).map((n) => draftOf(`small-${n}`)))
    const seqs: number[] = []
    let largest = 0
    for (;;) {
      const { messages = [] } = (await store.read(seqs.at(-1) ?? 0)) ?? {}
      if (messages.length === 0) break
      seqs.push(...messages.map(({ seq }) => seq))
      largest = Math.max(largest, messages.length)
    }
    assert.deepEqual(seqs, countTo(710))
    assert.ok(largest <= 500, `${largest}`)
  })

  test(`${name}: keeps the newest text of a name`, async (context) => {
    const store = await open(context)
    await store.keep({ name: 'a', seq: 9, text: '"nine"' })
    await store.keep({ name: 'a', seq: 10, text: '"ten"' })
    await store.keep({ name: 'a', seq: 8, text: '"eight"' })
    await store.keep({ name: 'b', seq: 1, text: '"b"' })
    await store.forget('b')
    assert.deepEqual(await store.kept(), [{ name: 'a', text: '"ten"' }])
  })
}
