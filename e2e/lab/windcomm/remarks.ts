// Where what was measured and what the paper says part, in sentences made from the figures: what, by how much, and why.

import { spokenName } from '../stats/names.ts'
import { level, type TestSummary } from './hypotheses.ts'
import { baseline, methodOf, methodWords, modeOf } from './methods.ts'
import { otherRatio, type RatioFound, type Slower } from './other-ratios.ts'
import { pollingRemarks } from './polling-remarks.ts'
import type { MethodPrediction, SitePrediction } from './predictions.ts'
import { capital, listed, ms, placeName, span } from './words.ts'

interface Found extends RatioFound {
  readonly intervalMs: number
  readonly betweenReadingsMs: number
  readonly tests: readonly TestSummary[]
  readonly predictions: readonly SitePrediction[]
}

const slower: readonly Slower[] = ['long-polling', 'polling']

/** One paragraph each; none where all agrees. */
export function remarksOf(found: Found): readonly string[] {
  return [
    ...found.predictions.flatMap((site) => slower.flatMap((method) => otherRatio(found, site, method))),
    ...found.predictions.flatMap((site) => pollingRemarks(found, site)),
    ...found.predictions.flatMap((site) => beyondTheLimit(site)),
    ...found.predictions.flatMap((site) => stallsOf(site)),
    ...neighbours(found.tests),
    ...onlyPaired(found.tests),
    ...clocks(found.tests),
    ...besides(found),
  ]
}

/** Long polling where ν ≥ M/2: the paper's expectation against the model's and the measured one. */
function beyondTheLimit({ site, binds, oneWayMs, limitMs, methods }: SitePrediction): readonly string[] {
  const found = methods.find(({ method }) => modeOf[method] === modeOf['long-polling'])
  if (binds || oneWayMs === null || !found?.measuredMs || !found.formulaMs || !found.formulaWorstMs) return []
  const { measuredMs, formulaMs, formulaWorstMs, model } = found
  return [
    `${placeName(site)}, ν = ${ms(oneWayMs)}, beyond M/2 = ${ms(limitMs)}: for long polling the paper expects 3ν/2 = ${ms(formulaMs)} and at worst 2ν = ${ms(formulaWorstMs)}; measured were ${ms(measuredMs)}, and the model, which sends readings over such a network without a machine, has ${ms(model.meanMs)}. Once no question waits at the server any more, long polling is polling without a pause: a reading waits for half of a round trip on average, and 2ν + Δ/2 with Δ = 0 is 2ν, not 3ν/2; a reading that has just missed a question waits for a whole one, 3ν.`,
  ]
}

function stallsOf({ site, methods }: SitePrediction): readonly string[] {
  const added = methods.filter(({ model, modelWithoutStalls }) => model.meanMs !== modelWithoutStalls.meanMs)
  if (added.length === 0) return []
  const words = added.map(
    ({ method, model, modelWithoutStalls }) =>
      `${ms(model.meanMs - modelWithoutStalls.meanMs)} to ${methodWords[method]}’s mean`,
  )
  return [
    `${placeName(site)}: in the model the stalls add ${listed(words)}, and raise the standard deviation ${listed(added.map(spreadWords))}. ${ratiosWords(added)}`,
  ]
}

function spreadWords({ method, model, modelWithoutStalls }: MethodPrediction): string {
  return `from ${ms(modelWithoutStalls.sdMs)} to ${ms(model.sdMs)} for ${methodWords[method]}`
}

/** What stalls do to the ratios: hardly anything, where they meet all methods alike. */
function ratiosWords(methods: readonly MethodPrediction[]): string {
  const base = methods.find(({ method }) => modeOf[method] === baseline)
  const others = methods.filter((method) => method !== base)
  if (!base || others.length === 0) return ''
  const words = others.map(({ method, model, modelWithoutStalls }) => {
    const [without, withThem] = [
      modelWithoutStalls.meanMs / base.modelWithoutStalls.meanMs,
      model.meanMs / base.model.meanMs,
    ]
    return `${methodWords[method]} from ${without.toFixed(2)} to ${withThem.toFixed(2)} times WebSocket`
  })
  return `Together with spread they move ${listed(words)}.`
}

/** What only the paper's dream shows: the same reading over the same network by two methods. */
function onlyPaired(tests: readonly TestSummary[]): readonly string[] {
  const found = tests.filter(
    ({ doubt, paired, differenceMs, clockMs }) =>
      doubt === 'chance' && paired.p < 1 - level && Math.abs(differenceMs) > clockMs,
  )
  if (found.length === 0) return []
  return [
    `Welch’s test cannot see these through the network’s spread, and leaves them open; reading by reading, over the same queues and stalls, they are there: ${found.map(pairWords).join('; ')}.`,
  ]
}

function neighbours(tests: readonly TestSummary[]): readonly string[] {
  const doubted = tests.filter(({ doubt }) => doubt === 'neighbours')
  if (doubted.length === 0) return []
  return [
    `Welch’s test, which takes each reading for independent, finds a difference where the correlated readings leave it open: ${doubted.map(pairWords).join('; ')}.`,
  ]
}

function clocks(tests: readonly TestSummary[]): readonly string[] {
  const doubted = tests.filter(({ doubt }) => doubt === 'clock')
  if (doubted.length === 0) return []
  return [
    `Smaller than what the clocks are known to, as the paper’s 1.0 ms at Edmonton was: ${doubted.map(pairWords).join('; ')}.`,
  ]
}

function pairWords({ site, mode, against, differenceMs }: TestSummary): string {
  return `${placeName(site)}, ${spokenName(mode)} against ${spokenName(against)}, ${differenceMs > 0 ? '+' : ''}${ms(differenceMs)}`
}

/** What the paper could not have, in one sentence. */
function besides({ cells }: Found): readonly string[] {
  const others = cells.filter(({ mode, ratioToWebsocket }) => !methodOf(mode) && ratioToWebsocket !== null)
  if (others.length === 0) return []
  const byMode = Map.groupBy(others, ({ mode }) => mode)
  const words = [...byMode].map(
    ([mode, own]) =>
      `${spokenName(mode)} ${span(own.flatMap(({ ratioToWebsocket }) => ratioToWebsocket ?? []))}`,
  )
  return [capital(`beside the paper’s methods, in times of WebSocket’s mean: ${words.join(', ')}.`)]
}
