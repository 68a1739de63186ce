// What the overview shows in each state: before it comes, late, in a calm, with a fault, a silent sensor, none.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WindOverview } from '../../server/wire/overview.ts'
import { overviewFace } from './overview-face.ts'
import type { OverviewFigure } from './overview-figures.ts'
import { overviewOf, serverAt, wind, windowAt } from './testing.ts'

const shown = (figures: readonly OverviewFigure[]) =>
  figures.map(({ number, unit, beside }) =>
    `${number === null ? '–' : `${number} ${unit}`.trim()} ${beside}`.trim(),
  )

const windWith = (change: Partial<WindOverview>, now = windowAt) =>
  overviewFace(overviewOf({ wind: { ...wind, ...change } }), 'M', now)

test('six numbers, and where they come from', () => {
  const face = overviewFace(overviewOf(), 'M', windowAt)
  assert.deepEqual(shown(face.writing), ['1,234', '7,890 spaces included', '42 13 in the busiest second'])
  assert.deepEqual(shown(face.wind), [
    '5.3 m/s over 2 min',
    '8.1 m/s 3 s peak in 10 min',
    '247° from the west-south-west',
  ])
  assert.equal(face.origin, 'Worked out live by the server, from 1,280 edits since 14:01 and the wind.')
  assert.deepEqual(
    [face.source, face.trouble, face.isStale, face.isWindStale],
    ['simulated', null, false, false],
  )
})

test('speeds are in the reader’s unit', () => {
  const [mean, gust] = overviewFace(overviewOf(), 'N', windowAt).wind
  assert.deepEqual([mean?.number, mean?.unit, gust?.spokenUnit], ['10.2', 'kn', 'knots'])
})

test('before one has come there are no numbers, and no trouble', () => {
  const face = overviewFace(null, 'M', windowAt)
  assert.deepEqual(
    [...face.writing, ...face.wind].map(({ number }) => number),
    new Array(6).fill(null),
  )
  assert.deepEqual([face.trouble, face.isStale, face.editsEachSecond.length], [null, false, 0])
  assert.match(face.ageWords, /Waiting/)
})

test('where it comes from is said of another day, of one edit and of none', () => {
  const origin = (change: object, now = windowAt) => overviewFace(overviewOf(change), 'M', now).origin
  assert.match(origin({ edits: 1 }), /from 1 edit since 14:01 and the wind\.$/)
  assert.match(origin({ wind: null }), /from 1,280 edits since 14:01\.$/)
  assert.match(origin({ edits: 0 }), /no edit of this page since 14:01\.$/)
  assert.match(origin({}, windowAt + 86_400_000), /since 14:01 on 3 May/)
})

test('which day that is, the server’s clock says, however wrong this window’s is', () => {
  const receivedAt = windowAt - 3 * 86_400_000
  const { origin } = overviewFace({ ...overviewOf(), receivedAt }, 'M', receivedAt + 1000)
  assert.match(origin, /since 14:01 and the wind\.$/)
})

test('it is late when the server’s repeats stay away', () => {
  const at = (ms: number) => overviewFace(overviewOf(), 'M', windowAt + ms)
  assert.deepEqual([at(12_000).isStale, at(12_000).ageWords], [false, 'Updated just now'])
  assert.deepEqual([at(15_000).isStale, at(15_000).ageWords], [true, 'Last heard from the server 15 s ago'])
})

test('a mean and a gust of less than their time say so', () => {
  const face = windWith({ meanCoversSeconds: 37, gustCoversSeconds: 250 })
  assert.deepEqual(shown(face.wind).slice(0, 2), ['5.3 m/s over 30 s', '8.1 m/s 3 s peak in 4 min'])
  assert.match(shown(windWith({ meanCoversSeconds: 0 }).wind)[0] ?? '', /5\.3 m\/s over less than 10 s$/)
})

test('what there is none of has its name and its whole time', () => {
  const none = {
    meanMetresPerSecond: null,
    meanCoversSeconds: 0,
    gustMetresPerSecond: null,
    gustCoversSeconds: 0,
  }
  assert.deepEqual(shown(windWith(none).wind).slice(0, 2), ['– over 2 min', '– 3 s peak in 10 min'])
})

test('a calm has a speed and no direction', () => {
  const face = windWith({ state: 'calm', meanMetresPerSecond: 0.02, meanDirectionDegrees: null })
  assert.deepEqual(shown(face.wind).at(0), '0.0 m/s over 2 min')
  assert.deepEqual(shown(face.wind).at(-1), '– too light for a direction')
  assert.equal(face.trouble, null)
})

test('north is 0 degrees', () => {
  assert.equal(shown(windWith({ meanDirectionDegrees: 0 }).wind).at(-1), '0° from the north')
})

test('a fault is said', () => {
  assert.match(windWith({ state: 'fault', status: '01' }).trouble ?? '', /blocks its U axis/)
})

test('what the server says of the sensor is said', () => {
  assert.equal(windWith({ trouble: 'The cable is out.', state: 'fault' }).trouble, 'The cable is out.')
})

test('a reading that is old when the server speaks, or grows old here, is said to be', () => {
  for (const face of [
    windWith({ readingAt: serverAt - 6000 }),
    windWith({ readingAt: serverAt - 3000 }, windowAt + 3000),
  ]) {
    assert.equal(face.isWindStale, true)
    assert.match(face.trouble ?? '', /No reading has come for more than 5 s/)
  }
})

test('no sensor, and one that has sent nothing', () => {
  const none = overviewFace(overviewOf({ wind: null }), 'M', windowAt)
  assert.deepEqual([none.source, none.trouble], [null, 'No wind sensor has been heard of.'])
  assert.deepEqual(shown(none.wind), ['– over 2 min', '– 3 s peak in 10 min', '–'])
  const nothing = { meanMetresPerSecond: null, meanDirectionDegrees: null, gustMetresPerSecond: null }
  const silent = windWith({ ...nothing, state: null, status: null, readingAt: null })
  assert.deepEqual([silent.isWindStale, silent.trouble, shown(silent.wind).at(-1)], [false, null, '–'])
})
