// A WindComm report's sections of one site: how its times spread, and their course.

import { hasArrived } from '../lab/samples.ts'
import { median } from '../lab/statistics.ts'
import { cumulative, distribution } from '../report/charts.ts'
import { lineColour } from '../report/figure-file.ts'
import { capital, type Section } from '../report/section.ts'
import { courseFigure, type Stretch } from './windcomm-figures.ts'
import { baseline, formatMode, methodOf } from './windcomm-paper.ts'
import { cellOf, latencyMs, type WindRun } from './windcomm-summary.ts'
import type { Site, WindSample } from './windcomm-testbed.ts'

export function siteSections(run: WindRun, { name, windows }: Site): readonly Section[] {
  const cells = run.modes.map((mode) => ({
    mode,
    label: capital(formatMode(mode)),
    colour: methodOf(mode) ? 'var(--accent)' : 'var(--peer)',
    samples: cellOf(run, name, mode).filter(hasArrived),
  }))
  const place = capital(name)
  if (cells.every(({ samples }) => samples.length === 0))
    return [{ title: place, paragraphs: ['Nothing arrived: there is nothing to draw.'] }]
  const startMs = run.readings[0]?.acceptedAt ?? 0
  const secondsAt = (ms: number) => (ms - startMs) / 1000
  const rows = cells.map(({ label, colour, samples }) => ({
    label,
    colour,
    values: samples.map((sample) => ({
      ms: latencyMs(sample),
      atSeconds: secondsAt(sample.acceptedAt),
      key: sample.place,
      block: 1,
    })),
  }))
  const curves = rows.map((row, order) => ({
    ...row,
    colour: lineColour(order),
    isDashed: false,
    expected: run.readings.length,
  }))
  const stalls = stallsIn(cells.find(({ mode }) => mode === baseline)?.samples ?? [], secondsAt)
  const shaded =
    stalls.length === 0
      ? `WebSocket never took ${stalledTimes} times its median.`
      : `Shaded: WebSocket took more than ${stalledTimes} times its median, ${stalls.length === 1 ? 'once' : `${stalls.length} times`}. There the way down stalled, or this machine, and every method is late. If only the polling methods are late, it was the way up.`
  return [
    {
      title: `${place}: how the times spread`,
      figure: {
        caption: `One way, in milliseconds (logarithmic), to ${windows === 'browser' ? 'windows of a real browser' : 'clients without a browser'}. A dot is one reading; its height only separates it from others. Below: the middle half (thick), the 5th to the 95th percentile (thin) and the median.`,
        description: `Distribution of latencies at ${place} for ${rows.map(({ label }) => label).join('; ')}. The table of all cells gives the same in figures.`,
        draw: (width) => distribution(rows, width),
      },
      figures: [
        {
          caption: `How many of all readings had arrived within a time, in milliseconds (logarithmic). A line crosses 50 % at its median. A steep line is a method that takes about as long each time; polling’s is slanted, as a reading waits for the next request. Where two cross, neither is faster for all readings.${curves.some(({ values, expected }) => values.length < expected) ? ' A line that ends below 100 % lost the rest.' : ''}`,
          description: `Cumulative distribution of latencies at ${place} for ${rows.map(({ label }) => label).join('; ')}.`,
          draw: (width) => cumulative(curves, width),
        },
      ],
    },
    {
      title: `${place}: all methods through the same minutes`,
      figure: {
        caption: `One way, in milliseconds (logarithmic), by the time at which the server had the reading. ${shaded}`,
        description: `Latency of each reading at ${place} over the run; ${stalls.length} stalls of the way down.`,
        draw: (width) => courseFigure(rows, stalls, width),
      },
    },
  ]
}

/** Multiple of WebSocket's median above which a reading counts as stalled. */
const stalledTimes = 2

/** From the first delayed reading to the last one's arrival. */
function stallsIn(
  samples: readonly (WindSample & { readonly receivedAt: number })[],
  secondsAt: (ms: number) => number,
): readonly Stretch[] {
  if (samples.length === 0) return []
  const most = stalledTimes * median(samples.map(latencyMs))
  const stalls: [number, number][] = []
  let wasStalled = false
  for (const sample of samples) {
    const isStalled = latencyMs(sample) > most
    const last = stalls.at(-1)
    const from = secondsAt(sample.acceptedAt)
    const to = secondsAt(sample.receivedAt)
    if (isStalled && wasStalled && last) last[1] = Math.max(last[1], to)
    else if (isStalled) stalls.push([from, to])
    wasStalled = isStalled
  }
  return stalls
}
