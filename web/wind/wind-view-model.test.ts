// The panel in each state, the figures as words, and the dial's model and sentence.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ReadingBody, SensorBody } from '../../app/shared/page-messages.ts'
import { noFigures, WindAggregator, type WindFigures } from '../../app/shared/wind-statistics.ts'
import { calm, fault, gustyWind, measured, startAt } from '../../app/shared/wind-testing.ts'
import { firstChoices, type WindChoices, type WindView } from '../store.ts'
import { dialModel, dialSentence, figureModels, windModel } from './wind-view-model.ts'

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
    assert.equal(model.directionWords, 'from the south-west')
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
    assert.equal(model.word, 'Calm')
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

  test('goes stale with a sentence that does not count up', () => {
    const model = modelOf({}, 6000)
    assert.equal(model.isStale, true)
    assert.equal(model.summary, 'Last reading 5 s ago')
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
    assert.equal(model.summary, null)
    assert.equal(model.source, 'serial')
  })

  test('without a connection an old reading is old, and the sensor is not mentioned', () => {
    const model = modelWith({}, 60_000, false)
    assert.deepEqual([model.isStale, model.trouble], [true, null])
  })
})

test('the ten minutes’ mean has a word, once it has enough readings, while readings are new', () => {
  const tenMinutes = { speedMetresPerSecond: 4.3, directionDegrees: 160, coversMs: 600_000 }
  const summary = (change: Partial<typeof tenMinutes>, now = 0) => {
    const figures = { ...noFigures, tenMinutes: { ...tenMinutes, ...change } }
    const reading = measured(5, 160)
    return windModel({ reading, receivedAt: 0, sensor: null, choices: firstChoices, figures }, now).summary
  }
  assert.equal(summary({}), 'Gentle breeze')
  assert.equal(summary({ coversMs: 9750 }), null)
  assert.equal(summary({}, 7000), 'Last reading 7 s ago')
})

describe('the figures beside the dial', () => {
  const mean = {
    speedMetresPerSecond: 5.21,
    directionDegrees: 228.6,
    coversMs: 119_750,
  }
  const figures: WindFigures = {
    ...noFigures,
    twoMinutes: mean,
    tenMinutes: { ...mean, directionDegrees: null, coversMs: 185_000 },
    gustMetresPerSecond: 8.37,
    spread: { directionDegrees: 359.8, deviationDegrees: 14.3 },
  }

  function shown(ageMs = 0, unit: 'M' | 'F' = 'M', of = figures) {
    return figureModels(of, unit, ageMs).map(({ label, soFar, number, besideMore, beside }) => [
      `${label} ${soFar}`.trim(),
      number,
      besideMore + beside,
    ])
  }

  test('each has its time; how much of it is covered is said once', () => {
    assert.deepEqual(shown(), [
      ['Mean, 2 min', '5.2', '229° SW'],
      ['Mean, 10 min (so far 3 min)', '5.2', ''],
      ['Gust, 10 min', '8.4', 'highest 3 s mean'],
      ['Spread, 1 min', '±14°', '0° N'],
    ])
  })

  test('follow the unit', () => {
    assert.deepEqual(
      shown(0, 'F').map(([, number]) => number),
      ['1026', '1026', '1648', '±14°'],
    )
  })

  test('figures whose time has passed are hidden', () => {
    const numbers = (ageMs: number) => shown(ageMs).map(([, number]) => number)
    assert.deepEqual(numbers(60_000), ['5.2', '5.2', '8.4', null])
    assert.deepEqual(numbers(120_000), [null, '5.2', '8.4', null])
    assert.deepEqual(numbers(600_000), [null, null, null, null])
  })

  test('before the first, there are names and no numbers', () => {
    assert.deepEqual(
      shown(0, 'M', noFigures).map(([label, number]) => [label, number]),
      [
        ['Mean, 2 min', null],
        ['Mean, 10 min', null],
        ['Gust, 10 min', null],
        ['Spread, 1 min', null],
      ],
    )
  })

  test('count tens of seconds while below a minute', () => {
    const young = { ...figures, tenMinutes: { ...mean, coversMs: 47_900 } }
    assert.equal(shown(0, 'M', young)[1]?.[0], 'Mean, 10 min (so far 40 s)')
  })

  test('a few readings do not make a mean', () => {
    const young = { ...figures, twoMinutes: { ...mean, coversMs: 9750 } }
    assert.deepEqual(shown(0, 'M', young)[0], ['Mean, 2 min', null, ''])
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

  test('measured: number, gust, pointer and spread', () => {
    assert.deepEqual(dialModel(panelModel(measured(5.21, 229)), figures), {
      word: null,
      number: '5.3',
      unit: 'm/s, 3 s mean',
      gust: 'gust 8.4',
      directionDegrees: 229,
      spread: figures.spread,
      isStale: false,
      isFault: false,
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
        const { number, gust } = dialModel(windModel(wind, at), figures)
        if (gust === null) continue
        compared += 1
        assert.ok(
          Number(number) <= Number(gust.replace('gust ', '')),
          `${number} beside ${gust} at ${rateHz} Hz`,
        )
      }
      assert.equal(compared > 0, rateHz > 0.25, `${compared} at ${rateHz} Hz`)
    }
  })

  test('a single reading is shown as such, without a gust', () => {
    const single = { ...figures, threeSecondMetresPerSecond: null }
    const model = dialModel(panelModel(measured(9.1, 229), 0, single), single)
    assert.deepEqual([model.number, model.unit, model.gust], ['9.1', 'm/s', null])
  })

  test('calm: the word, the small speed, no pointer', () => {
    const model = dialModel(panelModel(calm(0.03)), figures)
    assert.deepEqual([model.word, model.number, model.directionDegrees], ['Calm', '0.0', null])
  })

  test('a fault has no numbers', () => {
    const model = dialModel(panelModel(fault), figures)
    assert.deepEqual(
      [model.word, model.number, model.gust, model.spread, model.directionDegrees],
      ['Fault', null, null, null, null],
    )
    assert.equal(model.isFault, true)
  })

  test('stale: the last speed and direction, without current gust and spread', () => {
    const model = dialModel(panelModel(measured(5.21, 229), 6000), figures)
    assert.deepEqual(
      [model.number, model.directionDegrees, model.gust, model.spread],
      ['5.3', 229, null, null],
    )
    assert.equal(model.isStale, true)
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
