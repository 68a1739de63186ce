// Each site drawn twice: how its times spread, and its course through the run, where stalls meet all methods at once.

import { median } from '../../lab/stats/summary.ts'
import { baseline } from '../../lab/windcomm/methods.ts'
import { type Arrived, cellOf, hasArrived, latencyMs, type WindRun } from '../../lab/windcomm/run.ts'
import { placeName } from '../../lab/windcomm/words.ts'
import type { Section } from '../section.ts'
import { courseOf, type Stretch } from './figures/course.ts'
import { spreadOf } from './figures/spread.ts'
import { colourOf, modeLabel } from './labels.ts'

/** So many times its median, and WebSocket stood still. */
const stalledTimes = 2

export function siteSections(run: WindRun): readonly Section[] {
  return run.sites.flatMap(({ name, windows }) => {
    const who = windows === 'browser' ? 'windows of a real browser' : 'clients without a browser'
    const cells = run.modes.map((mode) => ({ mode, samples: cellOf(run, name, mode).filter(hasArrived) }))
    if (cells.every(({ samples }) => samples.length === 0))
      return [
        { title: placeName(name), tables: [], paragraphs: ['Nothing arrived: there is nothing to draw.'] },
      ]
    return [spreadSection(name, who, cells), courseSection(run, name, cells)]
  })
}

interface Cell {
  readonly mode: string
  readonly samples: readonly Arrived[]
}

function spreadSection(site: string, who: string, cells: readonly Cell[]): Section {
  const rows = cells.map(({ mode, samples }) => ({
    label: modeLabel(mode),
    colour: colourOf(mode),
    values: samples.map(latencyMs),
  }))
  return {
    title: `${placeName(site)}: how the times spread`,
    figure: {
      caption: `One way, in milliseconds (logarithmic), to ${who}. A hill is as high as its densest place; the slowest twentieth of each stands on its foot as dots, none left out. Below: the middle half (thick), the 5th to the 95th percentile (thin) and the median.`,
      description: `Distribution of latencies at ${placeName(site)} for ${rows.map(({ label }) => label).join('; ')}. The table of all cells gives the same in figures.`,
      draw: (width) => spreadOf(rows, width),
    },
    tables: [],
    paragraphs: [],
  }
}

function courseSection({ readings }: WindRun, site: string, cells: readonly Cell[]): Section {
  const startMs = readings[0]?.acceptedAt ?? 0
  const rows = cells.map(({ mode, samples }) => ({
    label: modeLabel(mode),
    colour: colourOf(mode),
    values: samples.map((sample) => ({
      atSeconds: (sample.acceptedAt - startMs) / 1000,
      ms: latencyMs(sample),
    })),
  }))
  const stalls = stallsIn(cells.find(({ mode }) => mode === baseline)?.samples ?? [], startMs)
  return {
    title: `${placeName(site)}: all methods through the same minutes`,
    figure: {
      caption: `One way, in milliseconds (logarithmic), by the moment at which the server had the reading. ${shadeWords(stalls.length)}`,
      description: `Latency of each reading at ${placeName(site)} through the run; ${stalls.length} stalls of the way down.`,
      draw: (width) => courseOf(rows, stalls, width),
    },
    tables: [],
    paragraphs: [],
  }
}

function shadeWords(stalls: number): string {
  if (stalls === 0)
    return `WebSocket never took ${stalledTimes} times its median: the way down never stood still.`
  return `Shaded: WebSocket took more than ${stalledTimes} times its median, ${stalls === 1 ? 'once' : `${stalls} times`}. There the way down stood still, or this machine, and every method is late at that same moment. Where only the methods that ask are late, it was the way up.`
}

/** From the first reading that was held up to the moment at which the last of them came. */
function stallsIn(samples: readonly Arrived[], startMs: number): readonly Stretch[] {
  if (samples.length === 0) return []
  const most = stalledTimes * median(samples.map(latencyMs))
  const stalls: [number, number][] = []
  let isStalled = false
  for (const sample of samples) {
    const wasStalled = isStalled
    isStalled = latencyMs(sample) > most
    const [from, to] = [sample.acceptedAt, sample.receivedAt].map((at) => (at - startMs) / 1000)
    const last = stalls.at(-1)
    if (!isStalled || from === undefined || to === undefined) continue
    if (wasStalled && last) last[1] = Math.max(last[1], to)
    else stalls.push([from, to])
  }
  return stalls
}
