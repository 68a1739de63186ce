import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../protocol/messages.ts'
import { createManualTime } from '../protocol/testing.ts'
import { createRecorder } from './lab.ts'

function message(seq: number, id = `w9-${seq}`): Message {
  return { id, channel: 'main', kind: 'edit', from: 'w9', at: 1, body: { html: '' }, seq, acceptedAt: 2 }
}

function record() {
  const time = createManualTime(0)
  const unpainted: (() => void)[] = []
  const recorder = createRecorder(time.now, (run) => void unpainted.push(run))
  const paint = () => {
    for (const run of unpainted.splice(0)) run()
  }
  return { time, recorder, paint }
}

/** The size of `message(1)` as JSON; the HTML may be longer. */
const bytes = JSON.stringify(message(1)).length
const bodyBytes = JSON.stringify({ html: '' }).length

test('stamps sent messages with the sender’s own time and their size as JSON', () => {
  const { recorder } = record()
  recorder.sent(message(1), 0.5)
  recorder.sent({ ...message(2), body: { html: 'Grüße' } }, null)
  assert.deepEqual(recorder.take().sent, [
    { id: 'w9-1', sentAt: 1, inputAt: 0.5, bytes, bodyBytes },
    { id: 'w9-2', sentAt: 1, inputAt: null, bytes: bytes + 7, bodyBytes: bodyBytes + 7 },
  ])
})

test('stamps each message as received, applied and painted, and leaves out steps that did not happen', () => {
  const { time, recorder, paint } = record()
  const stamps = { id: 'w9-1', kind: 'edit', seq: 1, acceptedAt: 2, receivedAt: 10, bytes, bodyBytes }
  recorder.received(message(1), 10)
  assert.deepEqual(recorder.take().received, [{ ...stamps, appliedAt: null, paintedAt: null }])
  time.advance(12)
  recorder.applied(message(1))
  time.advance(3)
  assert.deepEqual(recorder.take().received, [{ ...stamps, appliedAt: 12, paintedAt: null }])
  paint()
  assert.deepEqual(recorder.take().received, [{ ...stamps, appliedAt: 12, paintedAt: 15 }])
})

test('a message that arrived twice is recorded twice, and as applied at its last arrival', () => {
  const { time, recorder } = record()
  recorder.received(message(1), 10)
  recorder.received(message(1), 20)
  time.advance(25)
  recorder.applied(message(1))
  assert.deepEqual(
    recorder.take().received.map(({ receivedAt, appliedAt }) => [receivedAt, appliedAt]),
    [
      [10, null],
      [20, 25],
    ],
  )
})

test('a message that was never received is not applied', () => {
  const { recorder } = record()
  recorder.applied(message(1))
  assert.deepEqual(recorder.take(), { sent: [], received: [] })
})
