// How far a window is behind its server, by clocks that differ.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DownFrame } from '../protocol/messages.ts'
import { createSeededRandom } from '../protocol/time.ts'
import { Lag } from './lag.ts'
import { messageOf, mode, openLink } from './testing.ts'

/** A window whose clock is an hour ahead of its server's, as it knows; times are of the server's clock. */
function openLag(boundMs = 0) {
  const lag = new Lag()
  const aheadMs = 3_600_000
  lag.welcomed(1000, 1020 + aheadMs)
  return {
    message: (acceptedAt: number, receivedAt: number) => lag.message(acceptedAt, receivedAt + aheadMs),
    heartbeat: (at: number, receivedAt: number) => lag.heartbeat(at, receivedAt + aheadMs),
    at: (now: number, overdueMs = 0) => lag.ms(now + aheadMs, { offsetMs: -aheadMs, boundMs }, overdueMs),
  }
}

test('a window is behind by the age of what it received last, to the nearest second', () => {
  const { message, heartbeat, at } = openLag()
  assert.equal(at(1020), 0)
  message(5000, 6499)
  assert.equal(at(6499), 1000)
  message(5100, 9200)
  assert.equal(at(9200), 4000)
  heartbeat(12_000, 14_600)
  assert.equal(at(14_600), 3000)
  assert.equal(at(20_000, 7000), 10_000)
})

test('for a second, a heartbeat does not hide that a message before it had waited at the server', () => {
  const { message, heartbeat, at } = openLag()
  message(5000, 8000)
  heartbeat(8080, 8100)
  assert.deepEqual([at(8900), at(9000)], [3000, 0])
})

test('what it missed makes it as old as its welcome, and an old message of a quiet channel does not', () => {
  const { message, at } = openLag()
  message(-9_000_000, 1100)
  assert.equal(at(1100), 0)
  message(-8_000_000, 6100)
  assert.equal(at(6100), 5000)
})

test('it is unknown while it may be more than a second behind and twice as far as is certain', () => {
  const { heartbeat, at } = openLag(2000)
  assert.equal(at(1020), null)
  heartbeat(6000, 7900)
  assert.equal(at(7900), null)
  heartbeat(10_000, 12_100)
  assert.equal(at(12_100), 2000)
})

test('what came quickest bounds the clock, for as long as the clocks cannot have drifted apart', () => {
  const { heartbeat, at } = openLag(15_000)
  heartbeat(2000, 2000)
  heartbeat(3000, 43_000)
  assert.equal(at(43_000), 40_000)
  heartbeat(20_003_000, 20_043_000)
  assert.equal(at(20_043_000), 30_000)
})

interface Frame {
  readonly frame: DownFrame
  readonly sentAt: number
  readonly arrivesAt: number
}

const serverStartedAt = 1_763_000_000_000
const stepMs = 10

/**
 * A window over a link with random delays, rate and stalls, between clocks of which one is wrong and drifts. Times
 * are ms of the server's clock since its start.
 */
function openRandomLink(seed: number) {
  const random = createSeededRandom(seed)
  const between = (least: number, most: number) => least + (most - least) * random()
  const { link, time, newest, heard } = openLink({ random, mode: mode('websocket/1.1') })
  const windowStartedAt = time.now()
  const fast = between(-4e-4, 4e-4)
  const upMs = between(1, 60) ** 2 / 2
  const downMs = between(1, 60) ** 2 / 2
  const jitterMs = between(0, 300)
  const frameMs = between(0, 24)
  const heartbeatMs = between(1000, 15_000)
  const stallChance = between(0, 2e-3)
  const waiting: Frame[] = []
  const questions: number[] = []
  let asked = 0
  let seq = 0
  let freeAt = 0
  let beatAt = heartbeatMs
  let isBusy = true
  let last = { lateMs: 0, at: 0 }
  let lastMessage = { lateMs: 0, at: Number.NEGATIVE_INFINITY }

  const now = () => (time.now() - windowStartedAt) * (1 + fast)
  const ownTime = (at: number) => windowStartedAt + at / (1 + fast)

  function send(frame: DownFrame): void {
    const sentAt = now()
    freeAt = Math.max(freeAt, sentAt) + frameMs
    const before = waiting.at(-1)?.arrivesAt ?? 0
    const arrivesAt = Math.max(before, freeAt + downMs + jitterMs * random())
    waiting.push({ frame, sentAt, arrivesAt })
  }

  function sendDue(): void {
    const at = now() + serverStartedAt
    if (random() < 0.002) isBusy = !isBusy
    if (isBusy && random() < 0.3) {
      seq += 1
      send({ type: 'message', message: { ...messageOf(seq), acceptedAt: at } })
    }
    if (now() >= beatAt) {
      beatAt += (heartbeatMs * 15) / 16
      send({ type: 'heartbeat', newest: seq, at })
    }
    while (newest().clockQuestions() > asked) {
      asked += 1
      questions.push(now())
    }
    while ((questions[0] ?? Number.POSITIVE_INFINITY) + upMs <= now()) {
      const sent = ownTime(questions.shift() ?? 0)
      send({ type: 'clock', sent, received: at, at })
    }
    if (random() < stallChance * (stepMs / 100)) freeAt = Math.max(freeAt, now()) + between(100, 20_000)
  }

  function deliver(): void {
    while ((waiting[0]?.arrivesAt ?? Number.POSITIVE_INFINITY) <= now()) {
      const { frame, sentAt, arrivesAt } = waiting.shift() as Frame
      if (frame.type !== 'clock') last = { lateMs: arrivesAt - sentAt, at: arrivesAt }
      if (frame.type === 'message') lastMessage = last
      newest().frame(frame, ownTime(arrivesAt))
    }
  }

  /** Stops where the window computes its lag. */
  function passASecond(): void {
    for (let ms = 0; ms < 1000; ms += stepMs) {
      if (ms > 0) {
        sendDue()
        deliver()
      }
      time.advance(stepMs)
    }
  }

  send({
    type: 'welcome',
    window: 'w1',
    cursor: 'life1:0',
    recovered: false,
    http: '1.1',
    heartbeatMs,
    at: serverStartedAt + now(),
    stateBytes: 4096,
  })
  while (heard.newest?.status !== 'open') {
    time.advance(stepMs)
    deliver()
  }
  return {
    link,
    passASecond,
    told: () => heard.newest?.behindMs ?? null,
    isQuick: upMs + downMs + jitterMs + frameMs < 900 && stallChance < 1e-4,
    /**
     * Of the newest frame or message at its arrival, with the silence beyond a heartbeat; and of the oldest frame that
     * is on its way.
     */
    ages: () => ({
      arrived:
        Math.max(last.lateMs, now() - lastMessage.at < 1000 ? lastMessage.lateMs : 0) +
        Math.max(0, now() - last.at - heartbeatMs),
      missing: now() - (waiting.find(({ frame }) => frame.type !== 'clock')?.sentAt ?? now()),
    }),
  }
}

test('on random links, what a window says of its lag is true, and it says so where the link is quick', () => {
  let lags = 0
  for (let seed = 1; seed <= 100; seed += 1) {
    const { link, passASecond, told, ages, isQuick } = openRandomLink(seed)
    for (let second = 1; second <= 120; second += 1) {
      passASecond()
      const { arrived, missing } = ages()
      const behindMs = told()
      const about = `seed ${seed}, second ${second}: ${behindMs} of ${arrived} and ${missing} ms`
      if (behindMs === null) {
        assert.ok(!isQuick || second < 3, `${about}: unknown`)
        continue
      }
      if (behindMs > 1000) lags += 1
      assert.ok(behindMs <= Math.max(arrived, missing) + 520, `${about}: too much`)
      assert.ok(arrived <= Math.max(behindMs + 1520, 2 * behindMs + 1020), `${about}: too little`)
    }
    link.close()
  }
  assert.ok(lags > 100, `${lags}`)
})
