import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Draft } from '../../server/wire/envelope.ts'
import { createOutbox } from './outbox.ts'

function draft(n: number): Draft {
  return { id: `w1-${n}`, channel: 'main', kind: 'edit', from: 'w1', at: n, body: { html: '' } }
}

test('keeps what was added, in its order, whichever of it is removed', () => {
  const outbox = createOutbox()
  for (let n = 1; n <= 12; n += 1) outbox.add(draft(n))
  for (const n of [1, 5, 12]) outbox.remove(`w1-${n}`)
  assert.deepEqual(
    outbox.all().map(({ at }) => at),
    [2, 3, 4, 6, 7, 8, 9, 10, 11],
  )
  assert.equal(outbox.size(), 9)
})

test('removes a message once', () => {
  const outbox = createOutbox()
  outbox.add(draft(1))
  assert.deepEqual(
    ['w1-1', 'w1-1', 'w2-1'].map((id) => outbox.remove(id)),
    [true, false, false],
  )
})

test('what was read out does not change with what is added later', () => {
  const outbox = createOutbox()
  outbox.add(draft(1))
  const all = outbox.all()
  outbox.add(draft(2))
  assert.equal(all.length, 1)
})
