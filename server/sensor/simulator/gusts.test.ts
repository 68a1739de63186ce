// Gusts against Kaimal's spectrum, by formula and as drawn; how often and how long the wind drops.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom } from '../../wire/time.ts'
import { createGusts, createLulls, kaimalParts } from './gusts.ts'

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

test('the processes of all corners have all of the variance and make Kaimal’s spectrum', () => {
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

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

test('mean 0 and standard deviation 1, whatever the step', () => {
  for (const stepSeconds of [0.1, 0.25, 1, 4, 60]) {
    const values = draw(stepSeconds, Math.round(20_000 / Math.min(stepSeconds, 1)), 5)
    assert.ok(Math.abs(mean(values)) < 0.08, `mean ${mean(values)} at ${stepSeconds} s`)
    const sd = Math.sqrt(mean(values.map((value) => value ** 2)))
    assert.ok(Math.abs(sd - 1) < 0.05, `sd ${sd} at ${stepSeconds} s`)
  }
})

test('it begins as it goes on', () => {
  const firsts = Array.from({ length: 4000 }, (_, seed) => draw(0.25, 1, seed)[0] ?? 0)
  assert.ok(Math.abs(mean(firsts.map((value) => value ** 2)) - 1) < 0.07)
})

test('what is remembered after a while is the sum of what each part remembers', () => {
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

test('it begins blowing, drops and rises within five seconds, and lulls for its share of the time', () => {
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
