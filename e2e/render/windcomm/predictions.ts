// What the paper's formulas and the model of the networks expect, beside what was measured.

import { baseline, methodWords, modeOf } from '../../lab/windcomm/methods.ts'
import { type MethodPrediction, modelRuns, type SitePrediction } from '../../lab/windcomm/predictions.ts'
import type { WindSummary } from '../../lab/windcomm/summary.ts'
import { listed, ms, placeName } from '../../lab/windcomm/words.ts'
import { figure, interval, nothing, signed } from '../format.ts'
import { number, type Section, text } from '../section.ts'
import { expectedOf } from './figures/expected.ts'

export function predictionsSection(summary: WindSummary): Section {
  const { predictions, rateHz, intervalMs } = summary
  const rows = predictions.flatMap((site) => site.methods.map((method) => ({ site, method })))
  return {
    title: 'Expected and measured',
    figure: {
      caption: `Means in milliseconds (logarithmic). Dot: measured. Full upright: the paper’s formula, with ν the measured mean of WebSocket; dotted: its worst case. Box: the means of ${modelRuns} runs of the model.`,
      description: rows.map(({ site, method }) => `${rowLabel(site, method)}: ${words(method)}`).join('; '),
      draw: (width) =>
        expectedOf(
          rows.map(({ site, method }) => drawn(site, method)),
          width,
        ),
    },
    tables: [
      {
        caption: 'Means, in milliseconds',
        columns: [
          text('Site, method'),
          ...['Measured', 'Formula', 'Deviation', 'Model', 'Least to most', 'Without stalls'].map(number),
        ],
        rows: rows.map(({ site, method }) => cells(site, method)),
      },
    ],
    paragraphs: [
      `ν is WebSocket’s mean at the site; M = ${figure(1000 / rateHz)} ms from reading to reading; Δ = ${intervalMs} ms from an answer to the next question. Polling: 2ν + Δ/2. Long polling: ν while ν < M/2 = ${figure(500 / rateHz)} ms, beyond that 3ν/2 expected and 2ν at worst. WebSocket has no formula: it is ν.`,
      ...limitSentences(predictions),
      `The model sends as many readings as this run had over the site’s profile without a machine, ${modelRuns} times with other queues and stalls: what lies between its means and the measured ones is chance, the machine, the server, TLS and the browser. “Without stalls” is the same network with its queues alone.`,
    ],
  }
}

function rowLabel({ site }: SitePrediction, { method }: MethodPrediction): string {
  return `${placeName(site)}, ${methodWords[method]}`
}

function drawn(site: SitePrediction, prediction: MethodPrediction) {
  const { method, measuredMs, formulaMs, formulaWorstMs, model } = prediction
  return {
    label: rowLabel(site, prediction),
    measured: measuredMs,
    formula: modeOf[method] === baseline ? null : formulaMs,
    // Polling's is so far out that it would only be in the way.
    worst: modeOf[method] === modeOf['long-polling'] ? formulaWorstMs : null,
    model: model.rangeMs,
  }
}

function cells(site: SitePrediction, prediction: MethodPrediction): readonly string[] {
  const { method, measuredMs, formulaMs, deviation, model, modelWithoutStalls } = prediction
  return [
    rowLabel(site, prediction),
    figure(measuredMs),
    modeOf[method] === baseline ? nothing : figure(formulaMs),
    deviation === null ? nothing : `${signed(100 * deviation)} %`,
    figure(model.meanMs),
    interval(model.rangeMs),
    figure(modelWithoutStalls.meanMs),
  ]
}

function words({ measuredMs, formulaMs, model }: MethodPrediction): string {
  return `measured ${figure(measuredMs)}, formula ${figure(formulaMs)}, model ${figure(model.meanMs)} ms`
}

function limitSentences(predictions: readonly SitePrediction[]): readonly string[] {
  const at = (isNear: boolean) =>
    listed(
      predictions.flatMap(({ site, oneWayMs, binds }) =>
        oneWayMs === null || binds !== isNear ? [] : [`${placeName(site)} (${ms(oneWayMs)})`],
      ),
    )
  const [near, far] = [at(true), at(false)]
  return [
    ...(near === '' ? [] : [`Below M/2, where a question is usually back before the next reading: ${near}.`]),
    ...(far === '' ? [] : [`Beyond it, where readings wait for questions: ${far}.`]),
  ]
}
