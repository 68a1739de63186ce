// What the overview shows in each state: before the first, late, calm, fault, silent sensor, none.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OverviewBody, WindOverview } from '../../server/page/page-messages.ts'
import type { OverviewView } from '../store.ts'
import { type OverviewFigure, overviewViewModel } from './overview-view-model.ts'

/** A round time of day by the server's clock; the windows' clocks are an hour ahead. */
const serverAt = new Date(2026, 4, 3, 14, 2).getTime()
const windowAt = serverAt + 3_600_000

const wind: WindOverview = {
  source: 'simulated',
  state: 'measured',
  status: '00',
  readingAt: serverAt - 200,
  trouble: null,
  meanMetresPerSecond: 5.25,
  meanDirectionDegrees: 247,
  meanCoversSeconds: 119,
  gustMetresPerSecond: 8.1,
  gustCoversSeconds: 599,
}

const body: OverviewBody = {
  words: 1234,
  characters: 7890,
  editsLastMinute: 42,
  editsEachSecond: [...new Array(55).fill(0), 10, 0, 12, 13, 7],
  edits: 1280,
  countedSince: serverAt - 60_000,
  wind,
}

function overviewOf(change: Partial<OverviewBody> = {}): OverviewView {
  return { body: { ...body, ...change }, at: serverAt, receivedAt: windowAt }
}

const shown = (figures: readonly OverviewFigure[]) =>
  figures.map(({ number, unit, beside }) =>
    `${number === null ? '–' : `${number} ${unit}`.trim()} ${beside}`.trim(),
  )

const windWith = (change: Partial<WindOverview>, now = windowAt) =>
  overviewViewModel(overviewOf({ wind: { ...wind, ...change } }), 'M', now)

test('six numbers and their origin', () => {
  const model = overviewViewModel(overviewOf(), 'M', windowAt)
  assert.deepEqual(shown(model.writing), ['1,234', '7,890 spaces included', '42 13 in the busiest second'])
  assert.deepEqual(shown(model.wind), [
    '5.3 m/s over 2 min',
    '8.1 m/s 3 s peak in 10 min',
    '247° from the west-south-west',
  ])
  assert.equal(model.origin, 'Computed live by the server, from 1,280 edits since 14:01 and the wind.')
  assert.deepEqual(
    [model.source, model.trouble, model.isStale, model.isWindStale],
    ['simulated', null, false, false],
  )
})

test('speeds are in the reader’s unit', () => {
  const [mean, gust] = overviewViewModel(overviewOf(), 'N', windowAt).wind
  assert.deepEqual([mean?.number, mean?.unit, gust?.spokenUnit], ['10.2', 'kn', 'knots'])
})

test('before the first overview there are no numbers and no trouble', () => {
  const model = overviewViewModel(null, 'M', windowAt)
  assert.deepEqual(
    [...model.writing, ...model.wind].map(({ number }) => number),
    new Array(6).fill(null),
  )
  assert.deepEqual([model.trouble, model.isStale, model.editsEachSecond.length], [null, false, 0])
  assert.match(model.ageWords, /Waiting/)
})

test('the origin names another day, one edit, or none', () => {
  const origin = (change: object, now = windowAt) => overviewViewModel(overviewOf(change), 'M', now).origin
  assert.match(origin({ edits: 1 }), /from 1 edit since 14:01 and the wind\.$/)
  assert.match(origin({ wind: null }), /from 1,280 edits since 14:01\.$/)
  assert.match(origin({ edits: 0 }), /\. No edits since 14:01\.$/)
  assert.match(origin({}, windowAt + 86_400_000), /since 14:01 on 3 May/)
})

test('the server’s clock determines the day, however wrong this window’s is', () => {
  const receivedAt = windowAt - 3 * 86_400_000
  const { origin } = overviewViewModel({ ...overviewOf(), receivedAt }, 'M', receivedAt + 1000)
  assert.match(origin, /since 14:01 and the wind\.$/)
})

test('it is late if the server’s repeats stop', () => {
  const at = (ms: number) => overviewViewModel(overviewOf(), 'M', windowAt + ms)
  assert.deepEqual([at(12_000).isStale, at(12_000).ageWords], [false, 'Updated just now'])
  assert.deepEqual([at(15_000).isStale, at(15_000).ageWords], [true, 'Last heard from the server 15 s ago'])
})

test('a mean or gust over less than its full time says so', () => {
  const model = windWith({ meanCoversSeconds: 37, gustCoversSeconds: 250 })
  assert.deepEqual(shown(model.wind).slice(0, 2), ['5.3 m/s over 30 s', '8.1 m/s 3 s peak in 4 min'])
  assert.match(shown(windWith({ meanCoversSeconds: 0 }).wind)[0] ?? '', /5\.3 m\/s over less than 10 s$/)
})

test('a figure without a value has its name and full time', () => {
  const none = {
    meanMetresPerSecond: null,
    meanCoversSeconds: 0,
    gustMetresPerSecond: null,
    gustCoversSeconds: 0,
  }
  assert.deepEqual(shown(windWith(none).wind).slice(0, 2), ['– over 2 min', '– 3 s peak in 10 min'])
})

test('a calm has a speed but no direction', () => {
  const model = windWith({ state: 'calm', meanMetresPerSecond: 0.02, meanDirectionDegrees: null })
  assert.deepEqual(shown(model.wind).at(0), '0.0 m/s over 2 min')
  assert.deepEqual(shown(model.wind).at(-1), '– too light for a direction')
  assert.equal(model.trouble, null)
})

test('north is 0 degrees', () => {
  assert.equal(shown(windWith({ meanDirectionDegrees: 0 }).wind).at(-1), '0° from the north')
})

test('reports a fault', () => {
  assert.match(windWith({ state: 'fault', status: '01' }).trouble ?? '', /blocks its U axis/)
})

test('reports what the server says about the sensor', () => {
  assert.equal(windWith({ trouble: 'The cable is out.', state: 'fault' }).trouble, 'The cable is out.')
})

test('reports a reading that is old when sent, or grows old here', () => {
  for (const model of [
    windWith({ readingAt: serverAt - 6000 }),
    windWith({ readingAt: serverAt - 3000 }, windowAt + 3000),
  ]) {
    assert.equal(model.isWindStale, true)
    assert.equal(model.trouble, 'No reading for 5 s: the connection to the sensor is lost.')
  }
  const cutOff = overviewViewModel(overviewOf(), 'M', windowAt + 6000, false)
  assert.deepEqual([cutOff.isWindStale, cutOff.trouble], [true, null])
})

test('reports a missing sensor, and one that has sent nothing', () => {
  const none = overviewViewModel(overviewOf({ wind: null }), 'M', windowAt)
  assert.deepEqual([none.source, none.trouble], [null, 'No wind sensor has sent anything yet.'])
  assert.deepEqual(shown(none.wind), ['– over 2 min', '– 3 s peak in 10 min', '–'])
  const nothing = { meanMetresPerSecond: null, meanDirectionDegrees: null, gustMetresPerSecond: null }
  const silent = windWith({ ...nothing, state: null, status: null, readingAt: null })
  assert.deepEqual([silent.isWindStale, silent.trouble, shown(silent.wind).at(-1)], [false, null, '–'])
})
