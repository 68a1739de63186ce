import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDelivery, type Framing } from './delivery.ts'
import { editOf, readingOf } from './testing.ts'

function countingFraming(): Framing & { readonly cursors: (string | null)[] } {
  const cursors: (string | null)[] = []
  return {
    cursors,
    encode(frame, cursor) {
      cursors.push(cursor)
      return Buffer.from(`${cursors.length} ${frame.type}`)
    },
  }
}

test('is encoded once for each framing, however many windows it goes to', () => {
  const [one, other] = [countingFraming(), countingFraming()]
  const delivery = createDelivery({ type: 'heartbeat', newest: 0 })
  for (const framing of [one, other]) {
    const buffers = [1, 2, 3].map(() => delivery.bytes(framing))
    assert.ok(buffers.every((bytes) => bytes === buffers[0]))
  }
  delivery.bytes(one)
  assert.deepEqual([one.cursors.length, other.cursors.length], [1, 1])
})

test('hands the cursor to the framing, and none for what is not in the log', () => {
  const framing = countingFraming()
  editOf(7).bytes(framing)
  createDelivery({ type: 'heartbeat', newest: 0 }).bytes(framing)
  assert.deepEqual(framing.cursors, ['life1:7', null])
})

test('a reading and an overview can be replaced, an edit cannot, and neither can what is not in the log', () => {
  const overview = readingOf(3, 'overview.main', 'overview')
  const deliveries = [editOf(1), readingOf(2), overview, createDelivery({ type: 'heartbeat', newest: 0 })]
  assert.deepEqual(
    deliveries.map(({ isReplaceable, seq, channel }) => [isReplaceable, seq, channel]),
    [
      [false, 1, 'main'],
      [true, 2, 'wind'],
      [true, 3, 'overview.main'],
      [false, null, null],
    ],
  )
})
