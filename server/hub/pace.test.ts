import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pace } from './pace.ts'

/**
 * Sends as fast as the pace allows for a minute, to a client that reads `bytesPerMs`, whose answers take `tripMs`, and
 * which may have said that it answers. Returns the longest delay of a byte after `settledMs`, and the bytes read.
 */
function play({
  bytesPerMs,
  tripMs = 20,
  settledMs = 20_000,
  willAnswer = false,
}: {
  readonly bytesPerMs: number
  readonly tripMs?: number
  readonly settledMs?: number
  readonly willAnswer?: boolean
}) {
  const pace = new Pace(willAnswer)
  const written: { at: number; bytes: number; isHeartbeat: boolean }[] = []
  const answers: { readonly due: number; readonly at: number }[] = []
  let room = 0
  let read = 0
  let longestMs = 0
  const write = (frame: (typeof written)[number]) => {
    written.push(frame)
    pace.wrote(frame.bytes)
  }
  const ask = (at: number) => {
    if (!pace.mustAsk) return
    write({ at, bytes: 60, isHeartbeat: true })
    pace.asked(at)
  }
  for (let now = 0; now < 60_000; now += 1) {
    const [answer] = answers
    if (answer && answer.due <= now) {
      answers.shift()
      pace.answered(answer.at, now)
      ask(now)
    }
    if (!pace.isFull) {
      write({ at: now, bytes: 300, isHeartbeat: false })
      ask(now)
    }
    room = written.length > 0 ? room + bytesPerMs : 0
    for (let next = written[0]; next && next.bytes <= room; next = written[0]) {
      written.shift()
      room -= next.bytes
      read += next.bytes
      if (now > settledMs) longestMs = Math.max(longestMs, now - next.at)
      if (next.isHeartbeat) answers.push({ due: now + tripMs, at: next.at })
    }
  }
  return { longestMs, read }
}

test('what a slow client is sent waits in sockets for about a second, at any speed', () => {
  for (const bytesPerMs of [30, 50, 100, 200]) {
    const { longestMs, read } = play({ bytesPerMs })
    assert.ok(longestMs < 1600, `${bytesPerMs} kB/s: ${longestMs} ms`)
    assert.ok(read > bytesPerMs * 60_000 * 0.8, `${bytesPerMs} kB/s: ${read} bytes`)
  }
})

test('a client that is to answer is sent 64 KiB before its first answer, however late that comes', () => {
  const slow = { bytesPerMs: 20, tripMs: 5000, settledMs: 0 }
  assert.ok(play({ ...slow, willAnswer: true }).longestMs < 3500)
  assert.ok(play(slow).longestMs > 20_000)
})

test('a client with a long way that reads quickly is not slowed down', () => {
  for (const willAnswer of [false, true]) {
    const { read } = play({ bytesPerMs: 1000, tripMs: 400, willAnswer })
    assert.ok(read > 300 * 60_000 * 0.8, `${read} bytes`)
  }
})
