// Where polling is not what its formula says: out of its reach, or marching in step with the readings.

import { modeOf } from './methods.ts'
import { machineWords, type RatioFound } from './other-ratios.ts'
import type { SitePrediction } from './predictions.ts'
import { ms, placeName } from './words.ts'

/** Beyond this share of it the formula is missed. */
const leeway = 0.1
/** So near to the time between readings, and the questions march in step with them. */
const inStep = 0.06

interface Found extends RatioFound {
  /** As they were run, ms. */
  readonly intervalMs: number
  readonly betweenReadingsMs: number
}

export function pollingRemarks(found: Found, site: SitePrediction): readonly string[] {
  return [...offFormula(found, site), ...marching(found, site)]
}

function offFormula(found: Found, { site, binds, methods }: SitePrediction): readonly string[] {
  const polling = methods.find(({ method }) => modeOf[method] === modeOf.polling)
  if (!binds || !polling?.deviation || !polling.formulaMs || Math.abs(polling.deviation) <= leeway) return []
  const much = `${Math.abs(100 * polling.deviation).toFixed(0)} % ${polling.deviation > 0 ? 'more' : 'less'}`
  return [
    `${placeName(site)}: polling took ${much} than 2ν + Δ/2 = ${ms(polling.formulaMs)}; ${machineWords(found)}`,
  ]
}

function marching(
  { cells, intervalMs, betweenReadingsMs }: Found,
  { site, oneWayMs }: SitePrediction,
): readonly string[] {
  const cell = cells.find((one) => one.site === site && one.mode === modeOf.polling)
  if (oneWayMs === null || !cell?.effectiveN) return []
  const roundMs = 2 * oneWayMs + intervalMs
  if (Math.abs(roundMs / betweenReadingsMs - 1) > inStep) return []
  return [
    `${placeName(site)}: a round of polling, 2ν + Δ = ${ms(roundMs)}, is nearly the ${ms(betweenReadingsMs)} between two readings. Questions march in step with the readings and drift through their phases slowly, where the formula takes them to arrive at any moment alike: the mean depends on which phases a run meets. ${phasesMet(cell.n, cell.effectiveN)}`,
  ]
}

function phasesMet(readings: number, worth: number): string {
  const number = readings.toLocaleString('en-GB')
  if (worth >= readings)
    return `This run went through them evenly: its ${number} readings are worth no fewer.`
  return `Of this run ${number} readings are worth ${worth.toLocaleString('en-GB')}.`
}
