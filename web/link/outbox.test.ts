import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Draft } from '../../server/wire/envelope.ts'
import { createOutbox } from './outbox.ts'

const roomy = { messages: 100, bytes: 100_000 }
const none = () => false
const idsOf = (drafts: Iterable<Draft> | null) => drafts && Array.from(drafts, ({ id }) => id)

function draft(n: number, change: Partial<Draft> = {}): Draft {
  return { id: `w1-${n}`, channel: 'main', kind: 'edit', from: 'w1', at: n, body: { html: '' }, ...change }
}

/** An outbox of so many messages, holding the drafts given. */
function filled(messages: number, drafts: readonly Draft[], bytes = roomy.bytes) {
  const outbox = createOutbox({ messages, bytes })
  for (const one of drafts) assert.deepEqual(outbox.add(one, none), [])
  return outbox
}

test('keeps what was added, in its order, whichever of it is removed', () => {
  const outbox = createOutbox(roomy)
  for (let n = 1; n <= 12; n += 1) outbox.add(draft(n), none)
  for (const n of [1, 5, 12]) outbox.remove(`w1-${n}`)
  assert.deepEqual(
    Array.from(outbox.all(), ({ at }) => at),
    [2, 3, 4, 6, 7, 8, 9, 10, 11],
  )
  assert.equal(outbox.size(), 9)
})

test('removes a message once', () => {
  const outbox = createOutbox(roomy)
  outbox.add(draft(1), none)
  assert.deepEqual(
    ['w1-1', 'w1-1', 'w2-1'].map((id) => outbox.remove(id)),
    [true, false, false],
  )
})

test('begins with what was restored, before all that is added', () => {
  const outbox = createOutbox({ messages: 1, bytes: 1 }, [draft(1), draft(2)])
  assert.deepEqual(idsOf(outbox.all()), ['w1-1', 'w1-2'])
})

test('at the bound the oldest edit gives way to a newer one', () => {
  const outbox = filled(3, [draft(1), draft(2), draft(3)])
  assert.deepEqual(idsOf(outbox.add(draft(4), none)), ['w1-1'])
  assert.deepEqual(idsOf(outbox.all()), ['w1-2', 'w1-3', 'w1-4'])
})

test('what is under way, of another channel or no edit stays', () => {
  const kept = [draft(1), draft(2, { channel: 'other' }), draft(3, { kind: 'reading' })]
  const outbox = filled(4, [...kept, draft(4)])
  const isUnderWay = (id: string) => id === 'w1-1'
  assert.deepEqual(idsOf(outbox.add(draft(5), isUnderWay)), ['w1-4'])
  assert.deepEqual(idsOf(outbox.all()), ['w1-1', 'w1-2', 'w1-3', 'w1-5'])
})

test('a draft that has no room even so is not taken, and nothing gives way to it', () => {
  const outbox = filled(2, [draft(1), draft(2, { channel: 'other' })])
  assert.equal(
    outbox.add(draft(3), () => true),
    null,
  )
  assert.equal(outbox.add(draft(4, { kind: 'reading' }), none), null)
  const [size, ids] = [JSON.stringify(draft(5)).length, ['w1-1', 'w1-2']]
  const small = filled(9, [draft(1), draft(2)], size * 2.5)
  assert.equal(small.add(draft(3, { body: { html: 'x'.repeat(size * 3) } }), none), null)
  assert.deepEqual([idsOf(outbox.all()), idsOf(small.all())], [ids, ids])
})

test('the bytes are those of UTF-8, and come back when a draft goes', () => {
  const html = '風'.repeat(100)
  const size = Buffer.byteLength(JSON.stringify(draft(1, { body: { html } })))
  const outbox = filled(9, [draft(1, { body: { html } }), draft(2, { body: { html } })], size * 2)
  assert.deepEqual(idsOf(outbox.add(draft(3, { body: { html } }), none)), ['w1-1'])
  outbox.remove('w1-2')
  assert.deepEqual(outbox.add(draft(4, { body: { html } }), none), [])
})
