import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecentDeliveries } from './recent.ts'
import { countTo, jsonFraming, messageOf } from './testing.ts'

const large = (seq: number, characters: number) => messageOf({ seq, body: { html: 'x'.repeat(characters) } })

test('a message is put into bytes once, whoever asks for it, and carries its cursor', () => {
  const { deliveryOf } = createRecentDeliveries()
  const delivery = deliveryOf(messageOf({ seq: 7 }), 'life1')
  assert.equal(deliveryOf(messageOf({ seq: 7 }), 'life1'), delivery)
  const cursors: (string | null)[] = []
  delivery.bytes({
    encode(frame, cursor) {
      cursors.push(cursor)
      return jsonFraming.encode(frame, cursor)
    },
  })
  assert.deepEqual(cursors, ['life1:7'])
})

test('never gives another message of the same number', () => {
  const { deliveryOf } = createRecentDeliveries()
  deliveryOf(messageOf({ seq: 1, id: 'a' }), 'life1')
  const { frame } = deliveryOf(messageOf({ seq: 1, id: 'b' }), 'life2')
  assert.equal(frame.type === 'message' && frame.message.id, 'b')
})

/** How many of the messages 1 to `count` are still known. */
function keptOf(count: number, characters: number): number {
  const { deliveryOf } = createRecentDeliveries()
  const given = countTo(count).map((seq) => deliveryOf(large(seq, characters), 'life1'))
  // The newest first: asking for one that is forgotten keeps it, and forgets another.
  const isKnown = given.toReversed().map((delivery, back) => {
    return deliveryOf(large(count - back, characters), 'life1') === delivery
  })
  return isKnown.indexOf(false)
}

test('keeps the newest five hundred', () => {
  assert.equal(keptOf(1200, 10), 500)
})

test('keeps four million characters at most, of few large messages too', () => {
  assert.equal(keptOf(100, 100_000), 40)
})

test('a message larger than all that may be kept is given, and leaves room for the next', () => {
  const { deliveryOf } = createRecentDeliveries()
  const { frame } = deliveryOf(large(1, 5_000_000), 'life1')
  assert.equal(frame.type === 'message' && frame.message.seq, 1)
  const next = deliveryOf(large(2, 10), 'life1')
  assert.equal(deliveryOf(large(2, 10), 'life1'), next)
})
