import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../wire/messages.ts'
import { Delivery, type Framing, RecentDeliveries } from './delivery.ts'
import { countTo, editOf, jsonFraming, messageOf, readingOf } from './hub-testing.ts'

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

test('a delivery is encoded once for each framing, however many windows it goes to', () => {
  const [one, other] = [countingFraming(), countingFraming()]
  const delivery = new Delivery({ type: 'heartbeat', newest: 0 })
  for (const framing of [one, other]) {
    const buffers = [1, 2, 3].map(() => delivery.bytes(framing))
    assert.ok(buffers.every((bytes) => bytes === buffers[0]))
  }
  delivery.bytes(one)
  assert.deepEqual([one.cursors.length, other.cursors.length], [1, 1])
})

test('the framing gets the cursor of a message, and none for other frames', () => {
  const framing = countingFraming()
  editOf(7).bytes(framing)
  new Delivery({ type: 'heartbeat', newest: 0 }).bytes(framing)
  assert.deepEqual(framing.cursors, ['life1:7', null])
})

test('readings and overviews are replaceable, edits and frames that are not in the log are not', () => {
  const overview = readingOf(3, 'overview.main', 'overview')
  const deliveries = [editOf(1), readingOf(2), overview, new Delivery({ type: 'heartbeat', newest: 0 })]
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

const large = (seq: number, characters: number) => messageOf({ seq, body: { html: 'x'.repeat(characters) } })

/** As `deliveriesOf` gives it, of the epoch `life1` unless another is named. */
function deliveryOf(recent: RecentDeliveries, message: Message, epoch = 'life1'): Delivery {
  const [delivery] = recent.deliveriesOf({ messages: [message], head: { epoch, seq: message.seq } })
  assert.ok(delivery)
  return delivery
}

test('a recent message is encoded once, and carries its cursor', () => {
  const recent = new RecentDeliveries()
  const delivery = deliveryOf(recent, messageOf({ seq: 7 }))
  assert.equal(deliveryOf(recent, messageOf({ seq: 7 })), delivery)
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
  const recent = new RecentDeliveries()
  deliveryOf(recent, messageOf({ seq: 1, id: 'a' }))
  const { frame } = deliveryOf(recent, messageOf({ seq: 1, id: 'b' }), 'life2')
  assert.equal(frame.type === 'message' && frame.message.id, 'b')
})

test('never gives an update for the base that ends with it, nor the base for the update', () => {
  const recent = new RecentDeliveries()
  const updateOf = (update: string) => messageOf({ seq: 1, kind: 'update', body: { update } })
  for (const update of ['AAA=', 'AAAAAA==', 'AAA=']) {
    const { frame } = deliveryOf(recent, updateOf(update))
    assert.deepEqual(frame.type === 'message' && frame.message.body, { update })
  }
  assert.equal(deliveryOf(recent, updateOf('AAA=')), deliveryOf(recent, updateOf('AAA=')))
})

/** How many of the messages 1 to `count` are still known. */
function keptOf(count: number, characters: number): number {
  const recent = new RecentDeliveries()
  const given = countTo(count).map((seq) => deliveryOf(recent, large(seq, characters)))
  // The newest first: asking for one that is forgotten keeps it, and forgets another.
  const isKnown = given.toReversed().map((delivery, back) => {
    return deliveryOf(recent, large(count - back, characters)) === delivery
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
  const recent = new RecentDeliveries()
  const { frame } = deliveryOf(recent, large(1, 5_000_000))
  assert.equal(frame.type === 'message' && frame.message.seq, 1)
  const next = deliveryOf(recent, large(2, 10))
  assert.equal(deliveryOf(recent, large(2, 10)), next)
})
