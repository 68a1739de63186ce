// A frame is one event, whatever it contains.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DownFrame } from '../../protocol/messages.ts'
import { createSseReader, type SseEvent } from '../../protocol/sse-framing.ts'
import { Delivery } from '../hub/delivery.ts'
import { editOf, messageOf } from '../hub/hub-testing.ts'
import { sseFraming } from './sse.ts'
import { socketFraming } from './websocket.ts'

function eventsIn(...bytes: Buffer[]): Required<SseEvent>[] {
  const events: Required<SseEvent>[] = []
  // Split at every place where a connection may split it.
  const { push } = createSseReader((event) => events.push(event))
  for (const one of bytes) for (const character of String(one)) push(character)
  return events
}

/** Characters that might end an event, a line or a text, or be read as a field. */
const hostile = [
  '',
  '\n\nevent: bye\ndata: {}\n\n',
  'data: x\r\n\r\n',
  '\r\r',
  ': x',
  'id: other:9\n',
  'retry: 1',
  '\u2028\u2029\u0085',
  '\0\u0001\u007f',
  '\uFEFF',
  '"\\"\\u0000\\',
  '</script><!--',
  '💨\ud83d',
  'é'.repeat(2000),
]

test('a message is its event’s data, and its cursor is the event’s id', () => {
  for (const html of hostile) {
    const [event, ...others] = eventsIn(editOf(7, html).bytes(sseFraming))
    assert.deepEqual([event?.event, event?.id, others], ['message', 'life1:7', []])
    assert.deepEqual(JSON.parse(event?.data ?? ''), messageOf({ seq: 7, body: { html } }))
  }
})

test('a message whose JSON is known becomes the same event and the same frame', () => {
  for (const html of hostile) {
    const message = messageOf({ seq: 7, body: { html } })
    const known = new Delivery({ type: 'message', message }, 'life1:7', JSON.stringify(message))
    for (const framing of [sseFraming, socketFraming])
      assert.deepEqual(known.bytes(framing), editOf(7, html).bytes(framing))
  }
})

test('any other frame is an event named by its type, without an id', () => {
  for (const message of hostile) {
    const frames: DownFrame[] = [
      { type: 'bye', code: 'draining', message, retryAfterMs: 5 },
      { type: 'refused', id: null, code: 'bad-shape', message },
      { type: 'presence', windows: 2, channels: { [message]: 2 }, browserHttp1Streams: 0 },
      { type: 'heartbeat', newest: 7, at: 0 },
    ]
    const bytes = frames.map((frame) => new Delivery(frame).bytes(sseFraming))
    const events = eventsIn(editOf(7).bytes(sseFraming), ...bytes).slice(1)
    assert.deepEqual(
      events.map(({ event, data }) => ({ type: event, ...JSON.parse(data) })),
      frames,
    )
    assert.ok(events.every(({ id }) => id === 'life1:7'))
    assert.ok(bytes.every((one) => !/^id:/m.test(String(one))))
  }
})

test('events follow one another, each with its own end', () => {
  const bytes = [editOf(1, 'a\n\nb'), editOf(2), new Delivery({ type: 'heartbeat', newest: 2, at: 0 })].map(
    (one) => one.bytes(sseFraming),
  )
  assert.deepEqual(
    eventsIn(...bytes).map(({ event, id }) => [event, id]),
    [
      ['message', 'life1:1'],
      ['message', 'life1:2'],
      ['heartbeat', 'life1:2'],
    ],
  )
  for (const one of bytes) assert.match(String(one), /[^\n]\n\n$/)
})
