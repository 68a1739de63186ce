// Checks the simulator's rate to the frame, and that its bytes read back as a plausible wind.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime, type ManualTime } from '../../wire/manual-time.ts'
import { createSeededRandom } from '../../wire/random.ts'
import type { Timers } from '../../wire/time.ts'
import { createFrameSplitter } from '../frames/frame-splitter.ts'
import type { FrameReading } from '../frames/windsonic-frame.ts'
import { openSimulator } from './simulator.ts'

interface Heard {
  readonly readings: FrameReading[]
  readonly stamps: number[]
  opened: number
  stop(): Promise<void>
}

function listen(time: ManualTime, { rateHz = 4, seed = 7, timers = time as Timers } = {}): Heard {
  const splitter = createFrameSplitter()
  const heard: Heard = { readings: [], stamps: [], opened: 0, stop: () => source.stop() }
  const source = openSimulator({
    rateHz,
    timers,
    random: createSeededRandom(seed),
    onOpen() {
      heard.opened += 1
    },
    onBytes(bytes, at) {
      heard.stamps.push(at)
      for (const split of splitter.push(bytes, at))
        if (split.kind === 'frame') heard.readings.push(split.reading)
    },
    onClose: () => assert.fail('the simulator closed'),
  })
  return heard
}

test('a minute at 4 Hz is exactly 240 frames, 250 ms apart, each of them good', () => {
  const time = createManualTime()
  const startAt = time.now()
  const heard = listen(time)
  assert.equal(heard.opened, 0, 'nothing is heard before the opening call returned')
  time.advance(60_000)
  assert.equal(heard.opened, 1)
  assert.equal(heard.readings.length, 240)
  assert.deepEqual(
    heard.stamps,
    Array.from({ length: 240 }, (_, index) => startAt + 250 * (index + 1)),
  )
})

test('timers that always fire late do not make the rate drift', () => {
  const time = createManualTime()
  const late: Timers = { now: time.now, later: (run, delayMs) => time.later(run, delayMs + 15) }
  const heard = listen(time, { timers: late })
  time.advance(60_015)
  assert.equal(heard.readings.length, 240)
})

test('other rates keep their count, and one that is no rate is refused', () => {
  for (const [rateHz, count] of [
    [1, 60],
    [0.25, 15],
    [3, 180],
    [10, 600],
  ] as const) {
    const time = createManualTime()
    const heard = listen(time, { rateHz })
    time.advance(60_000)
    assert.equal(heard.readings.length, count, `${rateHz} Hz`)
  }
  for (const rateHz of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => listen(createManualTime(), { rateHz }), RangeError)
  }
})

test('a short stall is caught up with, a long one is not', () => {
  const time = createManualTime()
  const heard = listen(time)
  time.advance(1000)
  time.stall(5000)
  time.advance(1000)
  assert.equal(heard.readings.length, 28)
  time.stall(3_600_000)
  time.advance(1000)
  assert.ok(heard.readings.length <= 33, `${heard.readings.length} frames`)
})

test('a clock that is set back or on neither silences it nor makes it rush', () => {
  for (const byMs of [-3_600_000, 3_600_000]) {
    const time = createManualTime()
    const heard = listen(time)
    time.advance(1000)
    time.setClock(byMs)
    time.advance(10_000)
    assert.ok(Math.abs(heard.readings.length - 44) <= 1, `${heard.readings.length} frames`)
  }
})

test('stopping ends it at once', async () => {
  const time = createManualTime()
  const heard = listen(time)
  time.advance(1000)
  await heard.stop()
  time.advance(10_000)
  assert.equal(heard.readings.length, 4)
  assert.equal(time.pending(), 0)
})

test('the same seed makes the same wind, another seed another', () => {
  const raws = (seed: number) => {
    const time = createManualTime()
    const heard = listen(time, { seed })
    time.advance(10_000)
    return heard.readings.map((reading) => reading.raw)
  }
  assert.deepEqual(raws(1), raws(1))
  assert.notDeepEqual(raws(1), raws(2))
})

test('an hour of it has a mean, gusts, every direction and some calm', () => {
  const time = createManualTime()
  const heard = listen(time, { seed: 2012 })
  time.advance(3_600_000)
  const speeds = heard.readings.map((reading) => reading.speedMetresPerSecond ?? Number.NaN)
  const mean = speeds.reduce((sum, speed) => sum + speed, 0) / speeds.length
  const calm = heard.readings.filter((reading) => reading.state === 'calm').length / speeds.length
  const directions = new Set(heard.readings.map((reading) => reading.directionDegrees))
  assert.equal(speeds.length, 14_400)
  assert.ok(mean > 3 && mean < 5, `mean ${mean}`)
  assert.ok(Math.max(...speeds) > 6 && Math.max(...speeds) < 15, `gust ${Math.max(...speeds)}`)
  assert.ok(calm > 0.01 && calm < 0.3, `calm ${calm}`)
  assert.ok(directions.size > 60, `${directions.size} directions`)
  assert.ok(
    heard.readings.every(({ state, directionDegrees }) => (state === 'calm') === (directionDegrees === null)),
  )
})

test('options choose format, unit, rate, wind and troubles', () => {
  const time = createManualTime()
  const readings: FrameReading[] = []
  const splitter = createFrameSplitter()
  openSimulator({
    configuration: 'M16 U2 P1',
    strength: 'gale',
    troubles: [{ kind: 'blocked', atSeconds: 30, forSeconds: 10 }],
    timers: time,
    random: createSeededRandom(3),
    onOpen: () => undefined,
    onBytes(bytes, at) {
      for (const split of splitter.push(bytes, at)) if (split.kind === 'frame') readings.push(split.reading)
    },
    onClose: () => assert.fail('the simulator closed'),
  })
  time.advance(60_000)
  assert.equal(readings.length, 60)
  assert.ok(readings.every(({ format, unit }) => format === 'nmea' && unit === 'N'))
  assert.equal(readings.filter(({ state, status }) => state === 'fault' && status === '04').length, 10)
  const speeds = readings.map(({ speedMetresPerSecond }) => speedMetresPerSecond ?? 19)
  assert.ok(Math.min(...speeds) > 8, 'it blows a gale')
})

test('one that would wait to be polled is refused', () => {
  const open = () =>
    openSimulator({
      configuration: 'M4',
      timers: createManualTime(),
      random: () => 0,
      onOpen: () => undefined,
      onBytes: () => undefined,
      onClose: () => undefined,
    })
  assert.throws(open, /RangeError: "M4" waits to be polled/)
})
