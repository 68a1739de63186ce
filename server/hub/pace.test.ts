import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pace } from './pace.ts'

/**
 * Sends `sentPerMs` bytes for a minute, as far as the pace allows (the rest is superseded), and `firstBytes` at once
 * after a second, whatever the pace says. The client reads `bytesPerMs`; its answers take `tripMs`, and it may have said
 * that it answers. Returns the longest delay of a byte after `settledMs`, and how many bytes were read and heartbeats
 * sent.
 */
function play({
  bytesPerMs,
  sentPerMs = messageBytes,
  firstBytes = 0,
  tripMs = 20,
  settledMs = 20_000,
  willAnswer = false,
}: {
  readonly bytesPerMs: number | ((now: number) => number)
  readonly sentPerMs?: number | ((now: number) => number)
  readonly firstBytes?: number
  readonly tripMs?: number
  readonly settledMs?: number
  readonly willAnswer?: boolean
}) {
  const pace = new Pace(willAnswer)
  const written: { at: number; bytes: number; isHeartbeat: boolean }[] = []
  const answers: { readonly due: number; readonly at: number }[] = []
  let owed = 0
  let room = 0
  let read = 0
  let asked = 0
  let longestMs = 0
  const write = (frame: (typeof written)[number]) => {
    written.push(frame)
    pace.wrote(frame.bytes)
  }
  const ask = (now: number) => {
    if (!pace.mustAsk) return
    write({ at: now, bytes: 60, isHeartbeat: true })
    pace.asked(now)
    asked += 1
  }
  const send = (now: number) => {
    write({ at: now, bytes: messageBytes, isHeartbeat: false })
    ask(now)
  }
  for (let now = 0; now < 60_000; now += 1) {
    const [answer] = answers
    if (answer && answer.due <= now) {
      answers.shift()
      pace.answered(answer.at, now)
      ask(now)
    }
    if (now === 1000) for (let sent = 0; sent < firstBytes; sent += messageBytes) send(now)
    for (
      owed = Math.min(owed + at(sentPerMs, now), mostOwed);
      owed >= messageBytes && !pace.isFull;
      owed -= messageBytes
    )
      send(now)
    room += at(bytesPerMs, now)
    for (let next = written[0]; next && next.bytes <= room; next = written[0]) {
      written.shift()
      room -= next.bytes
      read += next.bytes
      if (now > settledMs) longestMs = Math.max(longestMs, now - next.at)
      if (next.isHeartbeat) answers.push({ due: now + tripMs, at: next.at })
    }
    if (written.length === 0) room = 0
  }
  return { longestMs, read, asked }
}

const at = (rate: number | ((now: number) => number), now: number) =>
  typeof rate === 'number' ? rate : rate(now)

const messageBytes = 300
const freePerMs = 5000
/** The newest of a hundred series. */
const mostOwed = 30_000

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

test('a client that suddenly reads a sixth of what it is sent, at any point between heartbeats, is not far behind', () => {
  for (const { sentPerMs, tripMs, mostMs } of [
    { sentPerMs: 120, tripMs: 20, mostMs: 3600 },
    { sentPerMs: 120, tripMs: 150, mostMs: 4500 },
    { sentPerMs: 1000, tripMs: 300, mostMs: 6200 },
  ])
    for (const { name, firstBytes, slowPerMs, mostPerMs } of [
      { name: 'its first messages', firstBytes: 4_000_000, slowPerMs: freePerMs, mostPerMs: sentPerMs },
      { name: 'a slow episode', firstBytes: 0, slowPerMs: sentPerMs / 2, mostPerMs: sentPerMs },
      { name: 'a busy time', firstBytes: 0, slowPerMs: freePerMs, mostPerMs: 3000 },
    ])
      for (let fallAt = 24_000; fallAt < 24_600; fallAt += 60) {
        const { longestMs } = play({
          bytesPerMs(now) {
            if (now > fallAt) return sentPerMs / 6
            return now > 5000 && now < 12_000 ? slowPerMs : freePerMs
          },
          sentPerMs: (now) => (now > 12_000 && now < 20_000 ? mostPerMs : sentPerMs),
          firstBytes,
          tripMs,
          settledMs: 21_000,
        })
        assert.ok(longestMs < mostMs, `${sentPerMs} kB/s, ${tripMs} ms, after ${name}: ${longestMs} ms`)
      }
})

test('a client with a long way gets all that its link carries, and answers at most once a trip', () => {
  const long = { bytesPerMs: freePerMs, sentPerMs: 1000, tripMs: 300 }
  for (const firstBytes of [0, 4_000_000]) {
    const { read, longestMs, asked } = play({ ...long, firstBytes })
    assert.ok(read - firstBytes > 1000 * 60_000 * 0.95, `${read} bytes`)
    assert.ok(longestMs < 100, `${longestMs} ms`)
    assert.ok(asked <= 200, `${asked} heartbeats`)
  }
})

test('a client with a long way that reads quickly is not slowed down', () => {
  for (const willAnswer of [false, true]) {
    const { read } = play({ bytesPerMs: 1000, tripMs: 400, willAnswer })
    assert.ok(read > 300 * 60_000 * 0.8, `${read} bytes`)
  }
})
