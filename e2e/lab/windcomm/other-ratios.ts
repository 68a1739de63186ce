// A ratio that is another than the paper's: by how much, and whether the network, the machine or the paper's own way of measuring is behind it.

import type { Method } from '../../network/predict.ts'
import type { CellSummary } from './cells.ts'
import { mostLateMs } from './links.ts'
import { methodWords, modeOf } from './methods.ts'
import { paperRange, paperTests } from './paper.ts'
import type { SitePrediction } from './predictions.ts'
import { ms, placeName, span } from './words.ts'

export interface RatioFound {
  readonly cells: readonly CellSummary[]
  readonly faster: number
  /** Of the link that was late most, on average. */
  readonly latenessMs: number
}

export type Slower = Exclude<Method, 'websocket'>

/** A ratio so far outside the paper's own tests is another one. */
const leeway = 0.05
/** Δ/2 in the paper, ms. */
const halfPauseMs: Readonly<Record<Slower, number>> = { 'long-polling': 0, polling: 75 }

/** One paragraph; none where the ratio is within reach of the paper's own tests. */
export function otherRatio(found: RatioFound, prediction: SitePrediction, method: Slower): readonly string[] {
  const { site } = prediction
  const cell = found.cells.find((one) => one.site === site && one.mode === modeOf[method])
  const papers = paperRange(site, method, 'ratio')
  if (!cell?.ratioToWebsocket || !papers) return []
  const [least, most] = papers
  const ratio = cell.ratioToWebsocket
  if (ratio >= least * (1 - leeway) && ratio <= most * (1 + leeway)) return []
  const what = `${placeName(site)}, ${methodWords[method]}: ${ratio.toFixed(2)} times WebSocket here, ${span(papers)} times in the paper.`
  const modelled = modelRatio(prediction, method)
  const byModel = `The model, which sends readings over such a network without a machine, has ${modelled.toFixed(2)}`
  const fromPaper = ratio < least ? least - ratio : ratio - most
  // Nearer to the paper than to the model: no network is behind that.
  if (Math.abs(ratio - modelled) > fromPaper) return [`${what} ${byModel}; ${machineWords(found)}`]
  const why = ratio < least ? ` ${networkWords(site, method)}` : ''
  return [`${what} ${byModel}: it is the method over this network, not the machine.${why}`]
}

function modelRatio({ methods }: SitePrediction, method: Slower): number {
  const meanOf = (wanted: Method) => methods.find((one) => one.method === wanted)?.model.meanMs ?? Number.NaN
  return meanOf(method) / meanOf('websocket')
}

export function machineWords({ faster, latenessMs }: Pick<RatioFound, 'faster' | 'latenessMs'>): string {
  if (latenessMs > mostLateMs)
    return `the rest is this machine, which had too much to do: its links alone were late by ${ms(latenessMs)} on average.`
  if (faster > 1)
    return `the rest is the machine, whose own few milliseconds do not get faster and weigh ${faster} times as much at this pace.`
  return 'the rest is chance, this machine, the server and the browser.'
}

/** The paper's own formula turned round: which network would its higher figure take? */
function networkWords(site: string, method: Slower): string {
  const means = paperTests(site, method).map(({ meanMs }) => meanMs)
  const implied = means.map((meanMs) => (meanMs - halfPauseMs[method]) / 2)
  const met = paperTests(site, 'websocket').map(({ meanMs }) => meanMs)
  const formula = halfPauseMs[method] > 0 ? '2ν + Δ/2' : '2ν, its worst case,'
  return `By ${formula} the paper’s ${span(means, 1)} ms take a network of ${span(implied, 0)} ms one way, where its WebSocket had met ${span(met, 0)} ms some minutes before: there the methods ran one after the other, each over a network of its own, and the paper puts the rest down to their high variance. Here all methods met the same queues and stalls at the same moments: what slows the one slows the other too, and the ratio is what the method itself adds.`
}
