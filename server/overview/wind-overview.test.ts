// The wind of an overview: calm, faults, silence, and no sensor at all.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReadingBody, SensorBody } from '../page/page-messages.ts'
import { calm, fault, measured } from '../page/wind-testing.ts'
import type { Bodies } from '../wire/messages.ts'
import { createManualTime } from '../wire/testing.ts'
import { WindRecord } from './wind-overview.ts'

function open() {
  const time = createManualTime()
  const wind = new WindRecord(time.now)
  let seq = 0
  function take<K extends 'reading' | 'sensor'>(kind: K, body: Bodies[K], at = time.now()): void {
    seq += 1
    wind.take({ id: `sensor-${seq}`, channel: 'wind', kind, from: 'sensor', at, acceptedAt: at, seq, body })
  }
  return {
    time,
    wind,
    take,
    /** At 4 Hz. */
    blow(seconds: number, reading: ReadingBody): void {
      for (let count = 0; count < seconds * 4; count += 1) {
        time.advance(250)
        take('reading', reading)
      }
    },
    figures() {
      const { meanMetresPerSecond, meanDirectionDegrees, gustMetresPerSecond } = wind.overview() ?? {}
      return [meanMetresPerSecond, meanDirectionDegrees, gustMetresPerSecond]
    },
  }
}

const connected: SensorBody = { source: 'serial', state: 'connected', sentence: 'It sends.' }

test('is null without a sensor', () => {
  assert.equal(open().wind.overview(), null)
})

test('a sensor without readings has no figures', () => {
  const { wind, take } = open()
  take('sensor', { source: 'serial', state: 'unplugged', sentence: 'There is no /dev/ttyUSB0.' })
  assert.deepEqual(wind.overview(), {
    source: 'serial',
    state: null,
    status: null,
    readingAt: null,
    trouble: 'There is no /dev/ttyUSB0.',
    meanMetresPerSecond: null,
    meanDirectionDegrees: null,
    meanCoversSeconds: 0,
    gustMetresPerSecond: null,
    gustCoversSeconds: 0,
  })
})

test('the mean covers two minutes and is correct across north, the gust three seconds; both are rounded to the sensor’s resolution', () => {
  const { blow, figures, take, wind, time } = open()
  take('sensor', connected)
  blow(60, measured(4, 350))
  blow(57, measured(4, 20))
  blow(3, measured(9.017, 20))
  const [mean, direction, gust] = figures()
  assert.equal(mean, 4.13)
  assert.equal(direction, 5)
  // A gust's three seconds extend slightly to both sides.
  assert.ok(Number(gust) > 8 && Number(gust) <= 9.02, `${gust}`)
  assert.equal(wind.overview()?.readingAt, time.now())
  assert.equal(wind.overview()?.trouble, null)
  blow(120, measured(2, 100))
  assert.deepEqual(figures(), [2, 100, gust])
})

test('a little west of north is 0 degrees, never 360', () => {
  const { blow, figures } = open()
  blow(10, measured(4, 359.7))
  assert.equal(figures()[1], 0)
})

test('reports how much of its time readings cover', () => {
  const { blow, wind, time } = open()
  const covers = () => [wind.overview()?.meanCoversSeconds, wind.overview()?.gustCoversSeconds]
  blow(30, measured(4, 90))
  assert.deepEqual(covers(), [29, 29])
  time.advance(20_000)
  blow(200, measured(4, 90))
  assert.deepEqual(covers(), [120, 229])
})

test('calm has a mean and no direction', () => {
  const { blow, figures, wind } = open()
  blow(120, calm(0))
  assert.deepEqual(figures(), [0, null, 0])
  assert.equal(wind.overview()?.state, 'calm')
})

test('a fault leaves the numbers unchanged, and says what it is', () => {
  const { blow, figures, take, wind } = open()
  blow(20, measured(4, 90))
  const before = figures()
  take('reading', fault)
  assert.deepEqual(figures(), before)
  assert.deepEqual([wind.overview()?.state, wind.overview()?.status], ['fault', fault.status])
})

test('a silent sensor’s numbers expire with their period', () => {
  const { blow, figures, time, wind, take } = open()
  blow(20, measured(4, 90))
  const at = time.now()
  take('sensor', { ...connected, state: 'silent', sentence: 'It says nothing.' })
  time.advance(121_000)
  assert.deepEqual(figures(), [null, null, 4])
  assert.deepEqual([wind.overview()?.readingAt, wind.overview()?.trouble], [at, 'It says nothing.'])
  time.advance(600_000)
  assert.deepEqual(figures(), [null, null, null])
})

test('other messages do not affect the wind', () => {
  const { wind } = open()
  const body = { html: '' }
  wind.take({ id: 'a', channel: 'main', kind: 'edit', from: 'a', at: 0, acceptedAt: 0, seq: 1, body })
  assert.equal(wind.overview(), null)
})
