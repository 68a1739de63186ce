// The simulated wind compared with real winds and Kaimal's spectrum.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../../protocol/time.ts'
import {
  createGusts,
  createLulls,
  createWind,
  kaimalParts,
  type Wind,
  type WindStrength,
} from './wind-model.ts'

const stepSeconds = 0.25
const tenMinutes = 600 / stepSeconds

function blow(strength: WindStrength, count: number, seed = 2012, step = stepSeconds): Wind[] {
  const next = createWind({ random: createSeededRandom(seed), strength })
  return Array.from({ length: count }, () => next(step))
}

const speedsOf = (winds: readonly Wind[]) => winds.map(({ speedMetresPerSecond }) => speedMetresPerSecond)
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
const sd = (values: readonly number[]) => {
  const middle = mean(values)
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)))
}
const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** The highest 3-second mean divided by the overall mean. */
function gustFactor(speeds: readonly number[]): number {
  const window = 3 / stepSeconds
  const gusts = speeds.slice(window).map((_, i) => mean(speeds.slice(i, i + window)))
  return Math.max(...gusts) / mean(speeds)
}

/** Stretches of ten minutes each. */
function stretches(strength: WindStrength, count: number): number[][] {
  return Array.from({ length: count }, (_, seed) => speedsOf(blow(strength, tenMinutes, seed)))
}

/** Class B of IEC 61400-1, the expected value: 14 % at 15 m/s, more in less wind. */
const expectedIntensity = (metresPerSecond: number) =>
  (0.14 * (0.75 * metresPerSecond + 3.8)) / metresPerSecond

for (const [strength, metresPerSecond] of [
  ['breeze', 4.5],
  ['strong', 12],
  ['gale', 19],
] as const) {
  test(`${strength}: two hours have its mean and its gusts`, () => {
    const speeds = speedsOf(blow(strength, 12 * tenMinutes))
    assert.ok(Math.abs(mean(speeds) / metresPerSecond - 1) < 0.04, `mean ${mean(speeds)}`)
    const intensity = sd(speeds) / metresPerSecond
    assert.ok(Math.abs(intensity / expectedIntensity(metresPerSecond) - 1) < 0.08, `intensity ${intensity}`)
    assert.ok(Math.max(...speeds) < 60)
  })

  test(`${strength}: a day has no calm, and no half minute at half its mean`, () => {
    const speeds = speedsOf(blow(strength, 86_400, 7, 1))
    assert.ok(Math.min(...speeds) > 0.05, `down to ${Math.min(...speeds)} m/s`)
    const means = speeds.flatMap((_, i) => (i % 30 === 0 ? [mean(speeds.slice(i, i + 30))] : []))
    assert.ok(Math.min(...means) > metresPerSecond / 2, `30 s at ${Math.min(...means)} m/s`)
  })
}

test('a breeze is gustier for its speed, and a calm has at most 35 %', () => {
  const breeze = mean(stretches('breeze', 15).map((speeds) => sd(speeds) / mean(speeds)))
  assert.ok(Math.abs(breeze / expectedIntensity(4.5) - 1) < 0.15, `intensity ${breeze}`)
  const strongest = Math.max(...speedsOf(blow('calm', 12 * tenMinutes)))
  assert.ok(strongest > 0.5 && strongest < 0.4 * (1 + 6 * 0.35), `${strongest} m/s in a calm`)
})

test('the 3-second gust factor over ten minutes is about 1.3 to 1.6, and lower in more wind', () => {
  const middle = (strength: WindStrength) => median(stretches(strength, 15).map(gustFactor))
  const breeze = middle('breeze')
  const strong = middle('strong')
  const gale = middle('gale')
  const text = `breeze ${breeze}, strong ${strong}, gale ${gale}`
  assert.ok(breeze > 1.4 && breeze < 1.65, text)
  assert.ok(strong > 1.28 && strong < 1.45, text)
  assert.ok(gale > 1.22 && gale < 1.4, text)
  assert.ok(breeze > strong && strong > gale, text)
})

test('gusts are forgotten after the time that their eddies take to pass', () => {
  const metresPerSecond = 12
  const speeds = speedsOf(blow('strong', 12 * tenMinutes, 4))
  const middle = mean(speeds)
  const variance = sd(speeds) ** 2
  const kept = (seconds: number) => {
    const lag = Math.round(seconds / stepSeconds)
    return (
      mean(speeds.slice(lag).map((speed, i) => (speed - middle) * ((speeds[i] ?? 0) - middle))) / variance
    )
  }
  const lagSeconds = Array.from({ length: 120 }, (_, i) => (i + 0.5) * 0.5)
  const integralSeconds = lagSeconds.reduce((sum, seconds) => sum + 0.5 * kept(seconds), 0)
  const expectedSeconds = (8.1 * 7) / metresPerSecond
  assert.ok(
    Math.abs(integralSeconds / expectedSeconds - 1) < 0.3,
    `${integralSeconds} s, not ${expectedSeconds} s`,
  )
  assert.ok(kept(1) > 0.5 && kept(60) < 0.2, `${kept(1)} after 1 s, ${kept(60)} after a minute`)
})

test('directions range from 0 to below 360, and vary more in lighter wind', () => {
  const turns = (strength: WindStrength) => {
    const winds = blow(strength, tenMinutes)
    assert.ok(winds.every(({ directionDegrees }) => directionDegrees >= 0 && directionDegrees < 360))
    const angles = winds.slice(1).map(({ directionDegrees }, i) => {
      const before = winds[i]?.directionDegrees ?? 0
      return Math.abs(((directionDegrees - before + 540) % 360) - 180)
    })
    return median(angles)
  }
  const breeze = turns('breeze')
  const gale = turns('gale')
  assert.ok(breeze > gale && gale > 0.1 && breeze < 15, `${breeze} in a breeze, ${gale} in a gale`)
})

test('a day’s wind comes from everywhere, including across north', () => {
  const day = blow('strong', 86_400 / 4, 2012, 4)
  const quarters = new Set(day.map(({ directionDegrees }) => Math.floor(directionDegrees / 90)))
  assert.equal(quarters.size, 4)
})

test('a calm is calm for most of the time', () => {
  const speeds = speedsOf(blow('calm', 14_400, 2012, 1))
  const share = mean(speeds.map((speed) => (speed < 0.05 ? 1 : 0)))
  assert.ok(share > 0.5 && share < 0.9, `${share}`)
})

test('the same seed gives the same wind, another seed another', () => {
  assert.deepEqual(blow('breeze', 100, 1), blow('breeze', 100, 1))
  assert.notDeepEqual(blow('breeze', 100, 1), blow('breeze', 100, 2))
})

/** Share of the variance at each corner frequency y, per unit of y: the docstring's integrand. */
const shareAt = (y: number) => (2 / 3) * (1 + y * y) ** (-5 / 6) * Math.sin((5 / 3) * Math.atan(y))

/** Midpoints on a logarithmic scale. */
function integral(of: (y: number) => number, from: number, to: number): number {
  const steps = 20_000
  const width = Math.log(to / from) / steps
  let sum = 0
  for (let i = 0; i < steps; i++) {
    const y = from * Math.exp((i + 0.5) * width)
    sum += of(y) * y * width
  }
  return sum
}

test('the processes of all corners have all of the variance and produce Kaimal’s spectrum', () => {
  assert.ok(Math.abs(integral(shareAt, 1e-6, 1e9) - 1) < 1e-5)
  for (const y of [0.01, 0.1, 1, 10, 100]) {
    const sum = integral(
      (corner) => (shareAt(corner) * 2 * corner) / (Math.PI * (corner ** 2 + y ** 2)),
      1e-6,
      1e9,
    )
    const kaimal = (2 / 3) * (1 + y) ** (-5 / 3)
    assert.ok(Math.abs(sum / kaimal - 1) < 1e-3, `${sum} against ${kaimal} at y = ${y}`)
  }
})

test('the table is that integral in six parts', () => {
  const edges = [1e-6, 0.25, 1, 4, 16, 64, 1e9]
  for (const [index, { corner, variance }] of kaimalParts.entries()) {
    const [from = 0, to = 0] = edges.slice(index)
    const share = integral(shareAt, from, to)
    const meanLog = integral((y) => shareAt(y) * Math.log(y), from, to) / share
    assert.ok(Math.abs(variance - share) < 1e-4, `variance ${variance} against ${share}`)
    assert.ok(
      Math.abs(corner / Math.exp(meanLog) - 1) < 0.002,
      `corner ${corner} against ${Math.exp(meanLog)}`,
    )
  }
})

test('the six follow Kaimal’s spectrum within 8 % over three decades', () => {
  for (let y = 1 / 16; y <= 128; y *= 1.1) {
    const sum = kaimalParts.reduce(
      (all, { corner, variance }) => all + (variance * 2 * corner) / (Math.PI * (corner ** 2 + y ** 2)),
      0,
    )
    const ratio = sum / ((2 / 3) * (1 + y) ** (-5 / 3))
    assert.ok(Math.abs(ratio - 1) < 0.08, `${ratio} at y = ${y}`)
  }
})

const scaleSeconds = 10

function draw(stepSeconds: number, count: number, seed: number): number[] {
  const next = createGusts(createSeededRandom(seed), scaleSeconds)
  return Array.from({ length: count }, () => next(stepSeconds))
}

test('the mean is 0 and the standard deviation 1, whatever the step', () => {
  for (const stepSeconds of [0.1, 0.25, 1, 4, 60]) {
    const values = draw(stepSeconds, Math.round(20_000 / Math.min(stepSeconds, 1)), 5)
    assert.ok(Math.abs(mean(values)) < 0.08, `mean ${mean(values)} at ${stepSeconds} s`)
    const sd = Math.sqrt(mean(values.map((value) => value ** 2)))
    assert.ok(Math.abs(sd - 1) < 0.05, `sd ${sd} at ${stepSeconds} s`)
  }
})

test('it starts in its stationary state', () => {
  const firsts = Array.from({ length: 4000 }, (_, seed) => draw(0.25, 1, seed)[0] ?? 0)
  assert.ok(Math.abs(mean(firsts.map((value) => value ** 2)) - 1) < 0.07)
})

test('the correlation after a while is the sum of each part’s correlation', () => {
  const values = draw(0.25, 400_000, 11)
  for (const lag of [1, 4, 12, 40, 120]) {
    const products = values.slice(lag).map((value, i) => value * (values[i] ?? 0))
    const expected = kaimalParts.reduce(
      (sum, { corner, variance }) =>
        sum + variance * Math.exp((-lag * 0.25 * 2 * Math.PI * corner) / (6 * scaleSeconds)),
      0,
    )
    assert.ok(
      Math.abs(mean(products) - expected) < 0.03,
      `${mean(products)} against ${expected} at ${lag / 4} s`,
    )
  }
})

test('it starts blowing, drops and rises within five seconds, and lulls for its share of the time', () => {
  const next = createLulls(createSeededRandom(3), { everySeconds: 60, lastSeconds: 30 })
  const shares = Array.from({ length: 400_000 }, () => next(0.25))
  assert.equal(shares[0], 1)
  assert.ok(shares.every((share) => share >= 0 && share <= 1))
  assert.ok(shares.every((share, i) => Math.abs(share - (shares[i - 1] ?? 1)) <= 0.0501))
  const share = shares.reduce((sum, share) => sum + share, 0) / shares.length
  assert.ok(Math.abs(share - 2 / 3) < 0.03, `blows ${share} of the time`)
})

test('its share is the same in long steps', () => {
  const next = createLulls(createSeededRandom(4), { everySeconds: 600, lastSeconds: 300 })
  const shares = Array.from({ length: 40_000 }, () => next(10))
  const share = shares.reduce((sum, share) => sum + share, 0) / shares.length
  assert.ok(Math.abs(share - 2 / 3) < 0.03, `blows ${share} of the time`)
})
