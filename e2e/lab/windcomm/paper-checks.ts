// Whether the sites of the paper come out as the paper has them, where its formulas bind: each point with its figure.

import type { Method } from '../../network/predict.ts'
import { rounded } from '../stats/significant.ts'
import type { CellSummary } from './cells.ts'
import type { Check } from './checks.ts'
import { level, type TestSummary } from './hypotheses.ts'
import { baseline, methodWords, modeOf } from './methods.ts'
import type { SitePrediction } from './predictions.ts'
import { capital } from './words.ts'

export interface Found {
  readonly cells: readonly CellSummary[]
  readonly tests: readonly TestSummary[]
  readonly predictions: readonly SitePrediction[]
}

/** Where the paper's long polling was WebSocket. */
const near = ['edmonton', 'lund', 'caracas']
const far = ['nagaoka']

const longPollingWithin = 0.15
const pollingTimes = [2.2, 4.5] as const
const formulaWithin = 0.1
const slowerTimes: readonly (readonly [Method, number])[] = [
  ['long-polling', 1.4],
  ['polling', 2.2],
]

/** Of those among the run's sites. */
export function paperChecks(found: Found, sites: readonly string[]): readonly Check[] {
  return [
    ...near.filter((name) => sites.includes(name)).flatMap((name) => nearChecks(found, name)),
    ...far.filter((name) => sites.includes(name)).flatMap((name) => farChecks(found, name)),
  ]
}

function nearChecks(found: Found, site: string): readonly Check[] {
  const [least, most] = pollingTimes
  return [
    ...ratioChecks(found, site, 'long-polling', {
      what: 'Long polling over WebSocket',
      wanted: `${1 - longPollingWithin}–${1 + longPollingWithin}`,
      isRight: (ratio) => Math.abs(ratio - 1) <= longPollingWithin,
    }),
    ...ratioChecks(found, site, 'polling', {
      what: 'Polling over WebSocket',
      wanted: `${least}–${most}`,
      isRight: (ratio) => ratio >= least && ratio <= most,
    }),
    ...formulaChecks(found, site),
  ]
}

function farChecks(found: Found, site: string): readonly Check[] {
  return slowerTimes.flatMap(([method, times]) => {
    const mode = modeOf[method]
    const test = found.tests.find((one) => one.site === site && one.mode === mode && one.against === baseline)
    return ratioChecks(found, site, method, {
      what: `${capital(methodWords[method])} over WebSocket, slower at ${100 * level} %`,
      wanted: `≥ ${times}`,
      isRight: (ratio) => ratio >= times && test !== undefined && test.verdict === 'slower',
    })
  })
}

function ratioChecks(
  { cells }: Found,
  site: string,
  method: Method,
  { what, wanted, isRight }: { what: string; wanted: string; isRight: (ratio: number) => boolean },
): readonly Check[] {
  const cell = cells.find((one) => one.site === site && one.mode === modeOf[method])
  if (!cell) return []
  const found = cell.ratioToWebsocket
  return [{ site, what, wanted, unit: 'times', found, holds: found !== null && isRight(found) }]
}

function formulaChecks({ predictions }: Found, site: string): readonly Check[] {
  const polling = predictions
    .find((prediction) => prediction.site === site)
    ?.methods.find(({ method }) => modeOf[method] === modeOf.polling)
  if (!polling) return []
  const { deviation } = polling
  return [
    {
      site,
      what: 'Polling against 2ν + Δ/2',
      wanted: `± ${100 * formulaWithin} %`,
      unit: '%',
      found: deviation === null ? null : rounded(100 * deviation),
      holds: deviation !== null && Math.abs(deviation) <= formulaWithin,
    },
  ]
}
