// The panel in each state, the figures as words, and the dial's model and sentence.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ReadingBody, SensorBody } from '../../app/shared/page-messages.ts'
import { WindHistory } from '../../app/shared/wind-history.ts'
import { noFigures, WindAggregator, type WindFigures } from '../../app/shared/wind-statistics.ts'
import { calm, fault, gustyWind, measured, startAt } from '../../app/shared/wind-testing.ts'
import { firstChoices, firstView, type WindChoices, type WindView } from '../store.ts'
import {
  dialModel,
  dialSentence,
  figuresModel,
  historyTimeAt,
  trailOf,
  windModel,
} from './wind-view-model.ts'

describe('the panel', () => {
  const breeze = measured(2.74, 229)
  const unplugged: SensorBody = { source: 'serial', state: 'unplugged', sentence: 'The cable is out.' }

  function modelOf(change: Partial<ReadingBody>, now = 1000, unit: WindChoices['unit'] = 'sent') {
    const choices = { ...firstChoices, unit }
    const reading = { ...breeze, ...change }
    return windModel({ reading, receivedAt: 1000, sensor: null, choices, figures: noFigures }, now)
  }

  function modelWith(change: Partial<WindView>, now = 1000, isConnected = true) {
    return windModel(
      {
        reading: breeze,
        receivedAt: 1000,
        sensor: null,
        choices: firstChoices,
        figures: noFigures,
        ...change,
      },
      now,
      isConnected,
    )
  }

  test('a measured wind has a speed and a direction', () => {
    const model = modelOf({})
    assert.equal(model.speed?.number, '2.7')
    assert.equal(model.directionDegrees, 229)
    assert.equal(model.directionWords, 'From the south-west')
    assert.equal(model.trouble, null)
    assert.equal(model.isStale, false)
  })

  test("it is shown as sent, or in the reader's chosen unit", () => {
    const knots = { unit: 'N', speed: 5.33 } as const
    assert.deepEqual(modelOf(knots).speed, { number: '5.3', unit: 'kn', spokenUnit: 'knots' })
    assert.equal(modelOf(knots, 1000, 'K').speed?.number, '9.9')
    assert.equal(modelOf(knots, 1000, 'K').unit, 'K')
  })

  test('a calm has no direction', () => {
    const model = modelOf({ state: 'calm', directionDegrees: null, speed: 0.02, speedMetresPerSecond: 0.02 })
    assert.equal(model.speed?.number, '0.0')
    assert.match(model.directionWords, /^Calm/)
    assert.equal(model.directionDegrees, null)
    assert.doesNotMatch(model.directionWords, /north/)
    assert.equal(model.trouble, null)
  })

  test('a fault shows no number, even if the reading has one, and is named', () => {
    const model = modelOf({ state: 'fault', status: '01' })
    assert.equal(model.speed, null)
    assert.equal(model.directionDegrees, null)
    assert.match(model.trouble ?? '', /U axis.*status 01/)
  })

  test('a direction computed from axes is rounded within the circle', () => {
    assert.equal(modelOf({ directionDegrees: 359.7 }).directionDegrees, 0)
  })

  test('the age of a fresh reading needs no words', () => {
    for (const now of [980, 1000, 5999]) assert.equal(modelOf({}, now).ageWords, null)
  })

  test('the Beaufort force is that of the ten-minute mean, and of no single reading or stale wind', () => {
    const tenMinutes = { speedMetresPerSecond: 8.2, directionDegrees: 229, coversMs: 10_000 }
    const forceOf = (change: Partial<typeof tenMinutes>, now = 1000) =>
      modelWith({ figures: { ...noFigures, tenMinutes: { ...tenMinutes, ...change } } }, now).force
    assert.deepEqual(forceOf({}), { force: 5, name: 'Fresh breeze' })
    assert.equal(forceOf({ coversMs: 9750 }), null)
    assert.equal(forceOf({}, 6000), null)
    assert.equal(modelOf({}).force, null)
  })

  test('goes stale with a sentence that does not count up', () => {
    const model = modelOf({}, 6000)
    assert.equal(model.isStale, true)
    assert.equal(model.ageWords, '5 s ago')
    assert.equal(model.trouble, modelOf({}, 60_000).trouble)
    assert.equal(model.trouble, 'No reading for 5 s: the connection to the sensor is lost.')
  })

  test('mentions the sensor only when it is in trouble, and then nothing else', () => {
    assert.equal(modelWith({ sensor: unplugged }).trouble, 'The cable is out.')
    assert.equal(modelWith({ sensor: unplugged }, 60_000).trouble, 'The cable is out.')
    assert.equal(modelWith({ sensor: { ...unplugged, state: 'connected' } }).trouble, null)
  })

  test('axes are shown with their signs in the displayed unit, and the heating too', () => {
    const uv = { format: 'uv', unit: 'M', axes: { u: 1.59, v: -2.74 } } as const
    assert.equal(modelOf(uv).asideWords, 'U +1.6  V −2.7 m/s')
    assert.equal(modelOf(uv, 1000, 'F').asideWords, 'U +313  V −539 ft/min')
    assert.equal(modelOf({ axes: { u: -3, v: null }, status: '60' }).asideWords, 'Axis −3.0 m/s · Heating on')
    assert.equal(modelOf({}).asideWords, null)
  })

  test('assumptions about a recorded log are stated beside its readings', () => {
    const note = 'It is played at an assumed rate.'
    const sensor = { source: 'recorded', state: 'connected', sentence: 'Recorded wind.', note } as const
    assert.equal(modelWith({ sensor }).asideWords, note)
    assert.equal(modelWith({ sensor, reading: null }).asideWords, note)
    assert.equal(
      modelWith({ sensor, reading: { ...breeze, status: '60' } }).asideWords,
      `Heating on · ${note}`,
    )
    assert.equal(modelWith({ sensor }).trouble, null)
  })

  test('before the first reading only the source is shown', () => {
    const model = modelWith({ reading: null, receivedAt: null, sensor: unplugged }, 0)
    assert.equal(model.state, 'none')
    assert.equal(model.isStale, false)
    assert.equal(model.ageWords, null)
    assert.equal(model.source, 'serial')
  })

  test('without a connection an old reading is old, and the sensor is not mentioned', () => {
    const model = modelWith({}, 60_000, false)
    assert.deepEqual([model.isStale, model.trouble], [true, null])
  })
})

describe('the figures in the row', () => {
  const mean = {
    speedMetresPerSecond: 5.21,
    directionDegrees: 228.6,
    coversMs: 185_000,
  }
  const figures: WindFigures = {
    ...noFigures,
    tenMinutes: mean,
    gustMetresPerSecond: 8.37,
    spread: { directionDegrees: 359.8, deviationDegrees: 14.3 },
  }
  const covering = (coversMs: number): WindFigures => ({ ...figures, tenMinutes: { ...mean, coversMs } })

  function shown(ageMs = 0, unit: 'M' | 'F' = 'M', of = figures) {
    const { label, soFar, row } = figuresModel(of, unit, ageMs)
    return { words: label + soFar, row: row.map(({ label, number }) => `${label} ${number ?? '–'}`) }
  }

  test('have their time, and how much of it is covered, once', () => {
    assert.deepEqual(shown(), {
      words: 'Last 10 min, so far 3 min',
      row: ['Gust 8.4', 'Mean 5.2', 'Spread, 1 min ±14°'],
    })
    assert.equal(shown(0, 'M', covering(599_000)).words, 'Last 10 min')
  })

  test('follow the unit', () => {
    assert.deepEqual(shown(0, 'F').row, ['Gust 1648', 'Mean 1026', 'Spread, 1 min ±14°'])
  })

  test('figures whose time has passed are hidden', () => {
    assert.deepEqual(shown(60_000).row, ['Gust 8.4', 'Mean 5.2', 'Spread, 1 min –'])
    assert.deepEqual(shown(600_000), {
      words: 'Last 10 min',
      row: ['Gust –', 'Mean –', 'Spread, 1 min –'],
    })
  })

  test('before the first, there are names and no numbers', () => {
    assert.deepEqual(shown(0, 'M', noFigures), {
      words: 'Last 10 min',
      row: ['Gust –', 'Mean –', 'Spread, 1 min –'],
    })
  })

  test('a few readings do not make a mean, but may make a gust', () => {
    const young = shown(0, 'M', covering(9750))
    assert.equal(young.words, 'Last 10 min, just begun')
    assert.deepEqual(young.row.slice(0, 2), ['Gust 8.4', 'Mean –'])
  })

  test('count tens of seconds while below a minute', () => {
    assert.equal(shown(0, 'M', covering(47_900)).words, 'Last 10 min, so far 40 s')
  })
})

describe('the trail', () => {
  const trailFor = (take: (history: WindHistory) => void, agoMs = 0) => {
    const history = new WindHistory()
    take(history)
    return trailOf(history, startAt + agoMs)
  }

  test('has the directions of the last minute by their age in steps of 5 s, each once', () => {
    const trail = trailFor((history) => {
      for (const [agoMs, direction] of [
        [60_000, 10],
        [59_000, 20],
        [5000, 359.7],
        [4900, 90],
        [250, 91.2],
        [0, 90.4],
      ] as const)
        history.take(measured(5, direction), startAt - agoMs)
    })
    assert.equal(trail.length, 12)
    assert.deepEqual(trail[0], [90, 91])
    assert.deepEqual(trail[1], [0])
    assert.deepEqual(trail[11], [20])
    assert.equal(trail.flat().length, 4)
  })

  test('grows old without readings, until nothing is left', () => {
    const take = (history: WindHistory) => history.take(measured(5, 90), startAt)
    assert.deepEqual(trailFor(take, 30_000)[6], [90])
    assert.deepEqual(trailFor(take, 60_000).flat(), [])
  })

  test('a calm and a fault leave none', () => {
    const trail = trailFor((history) => {
      history.take(calm(0.02), startAt - 1000)
      history.take(fault, startAt)
    })
    assert.deepEqual(trail.flat(), [])
  })

  test('the history’s time goes on with the age of the newest reading', () => {
    const { wind } = firstView('sse/2')
    assert.equal(historyTimeAt(wind, 5000), 0)
    assert.equal(historyTimeAt({ ...wind, takenAt: startAt, receivedAt: 4000 }, 5000), startAt + 1000)
    assert.equal(historyTimeAt({ ...wind, takenAt: startAt, receivedAt: 6000 }, 5000), startAt)
  })
})

describe('the dial', () => {
  const figures: WindFigures = {
    ...noFigures,
    threeSecondMetresPerSecond: 5.34,
    gustMetresPerSecond: 8.37,
    spread: { directionDegrees: 231, deviationDegrees: 14.3 },
  }

  function panelModel(reading: typeof fault | null, now = 0, of = figures) {
    const wind = { reading, receivedAt: reading && 0, sensor: null, choices: firstChoices, figures: of }
    return windModel(wind, now)
  }

  test('measured: pointer, spread and trail', () => {
    assert.deepEqual(dialModel(panelModel(measured(5.21, 229)), figures, [[229]]), {
      state: 'measured',
      directionDegrees: 229,
      spread: figures.spread,
      trail: [[229]],
      isStale: false,
    })
  })

  test('the speed never exceeds the gust beside it, at any rate, also across an outage', () => {
    for (const rateHz of [0.25, 0.5, 1, 4, 20]) {
      const statistics = new WindAggregator()
      let compared = 0
      for (const { reading, at } of gustyWind(900, rateHz)) {
        // An outage, followed by a storm.
        const isOut = at > startAt + 300_000 && at < startAt + 310_000
        const speedMetresPerSecond = (reading.speedMetresPerSecond ?? 0) * (at > startAt + 310_000 ? 3 : 1)
        if (isOut) continue
        const body = { ...reading, speedMetresPerSecond }
        const figures = statistics.figures(statistics.take(body, at).at)
        const wind = { reading: body, receivedAt: at, sensor: null, choices: firstChoices, figures }
        const { speed, isMean } = windModel(wind, at)
        const [gust] = figuresModel(figures, 'M', 0).row
        if (!isMean) continue
        compared += 1
        assert.ok(
          Number(speed?.number) <= Number(gust?.number),
          `${speed?.number} beside ${gust?.number} at ${rateHz} Hz`,
        )
      }
      assert.equal(compared > 0, rateHz > 0.25, `${compared} at ${rateHz} Hz`)
    }
  })

  test('a single reading is shown as such, without a gust in the sentence', () => {
    const single = { ...figures, threeSecondMetresPerSecond: null }
    const model = panelModel(measured(9.1, 229), 0, single)
    assert.deepEqual([model.speed?.number, model.isMean], ['9.1', false])
    assert.doesNotMatch(dialSentence(model, single), /gust|over/)
  })

  test('calm: no pointer; the last minute’s spread and trail remain', () => {
    const model = dialModel(panelModel(calm(0.03)), figures, [[], [229]])
    assert.deepEqual([model.directionDegrees, model.spread, model.trail], [null, figures.spread, [[], [229]]])
  })

  test('a fault has no direction and no spread', () => {
    const model = dialModel(panelModel(fault), figures, [])
    assert.deepEqual([model.state, model.spread, model.directionDegrees], ['fault', null, null])
  })

  test('stale: the last direction, without a current spread', () => {
    const model = dialModel(panelModel(measured(5.21, 229), 6000), figures, [])
    assert.deepEqual([model.directionDegrees, model.spread, model.isStale], [229, null, true])
  })

  test('as a sentence', () => {
    assert.equal(
      dialSentence(panelModel(measured(5.21, 229)), figures),
      'Wind dial: 5.3 metres per second over 3 seconds, from the south-west, 229 degrees, gust 8.4, swinging 14 degrees to either side.',
    )
    assert.equal(dialSentence(panelModel(calm(0.03)), noFigures), 'Wind dial: calm.')
    assert.match(
      dialSentence(panelModel(measured(5, 1), 6000, noFigures), noFigures),
      /^Wind dial, last reading: 5\.0/,
    )
    assert.match(dialSentence(panelModel(fault), figures), /fault/)
    assert.match(dialSentence(panelModel(null), noFigures), /no reading/)
  })
})
