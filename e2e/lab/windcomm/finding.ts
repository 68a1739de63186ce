// Says in one sentence what a run found: what went wrong first, then how many times WebSocket's time the others took.

import type { Method } from '../../network/predict.ts'
import type { CellSummary } from './cells.ts'
import { mostLateMs } from './links.ts'
import { methodWords, modeOf } from './methods.ts'
import { paperRange } from './paper.ts'
import type { SitePrediction } from './predictions.ts'
import { listed, ms, placeName, span } from './words.ts'

interface Found {
  readonly cells: readonly CellSummary[]
  readonly predictions: readonly SitePrediction[]
  readonly faster: number
  /** Of the link that was late most, on average. */
  readonly latenessMs: number
}

export function findingOf({ cells, predictions, faster, latenessMs }: Found): string {
  const faults = cells.flatMap(faultsOf)
  const near = predictions.filter(({ binds }) => binds).map(({ site }) => site)
  const far = predictions.filter(({ binds, oneWayMs }) => !binds && oneWayMs !== null).map(({ site }) => site)
  const groups = [near, far].flatMap((sites) => groupWords(cells, sites))
  const pace = faster === 1 ? '' : `${faster} times as fast as asked for: `
  const found = groups.length === 0 ? 'there is no WebSocket time to compare with' : groups.join('; ')
  const opening = faults.length === 0 ? '' : `${faults.join('; ')}. `
  const busy =
    latenessMs > mostLateMs
      ? `on a machine too busy for it, its links late by ${ms(latenessMs)} on average, `
      : ''
  const sentence = `${pace}${busy}${found}.`
  return `${opening}${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`
}

function faultsOf({ site, mode, expected, lost, duplicated, reordered }: CellSummary): readonly string[] {
  const counts = [
    lost > 0 ? `lost ${lost} of ${expected} readings` : '',
    duplicated > 0 ? `repeated ${duplicated}` : '',
    reordered > 0 ? `reordered ${reordered}` : '',
  ].filter(Boolean)
  return counts.length === 0 ? [] : [`${mode} at ${placeName(site)} ${counts.join(', ')}`]
}

/** `at Lund long polling took 1.00 times WebSocket’s mean (paper: 0.95 to 1.03) and polling 2.86 (2.63 to 3.00)`. */
function groupWords(cells: readonly CellSummary[], sites: readonly string[]): readonly string[] {
  const told = (['long-polling', 'polling'] as const).flatMap((method) => methodWord(cells, sites, method))
  const [first, ...others] = told
  if (first === undefined) return []
  const { method, ratios, papers } = first
  const opening = `${method} took ${ratios} times WebSocket’s mean${papers === '' ? '' : ` (paper: ${papers})`}`
  const rest = others.map(
    (other) => `${other.method} ${other.ratios}${other.papers === '' ? '' : ` (${other.papers})`}`,
  )
  return [`at ${listed(sites.map(placeName))} ${listed([opening, ...rest])}`]
}

function methodWord(
  cells: readonly CellSummary[],
  sites: readonly string[],
  method: Exclude<Method, 'websocket'>,
): readonly { readonly method: string; readonly ratios: string; readonly papers: string }[] {
  const ratios = sites.flatMap((name) => {
    const cell = cells.find(({ site, mode }) => site === name && mode === modeOf[method])
    return cell?.ratioToWebsocket ?? []
  })
  if (ratios.length === 0) return []
  const papers = sites.flatMap((name) => paperRange(name, method, 'ratio') ?? [])
  const paperWords = papers.length === 0 ? '' : span(papers)
  return [{ method: methodWords[method], ratios: span(ratios), papers: paperWords }]
}
