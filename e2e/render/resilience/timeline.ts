// Draws the run: a row for each window, its outages as bars, its cuts as dots, the server's ends as uprights.

import * as Plot from '@observablehq/plot'
import { labelOf } from '../../lab/stats/names.ts'
import type { ResilienceRecord, WindowRecord } from '../../resilience/record.ts'
import type { ResilienceSummary } from '../../resilience/summary.ts'
import { panelName } from '../figures/names.ts'
import { svg } from '../figures/svg.ts'
import type { Section } from '../section.ts'

export function timelineSection(record: ResilienceRecord, { modes }: ResilienceSummary): Section {
  const names = modes.map(({ mode }) => mode)
  return {
    title: 'The run, window by window',
    figure: {
      caption:
        'A row for each window. Bars: not open, as the window saw it. Dots: its connection was cut. Uprights: the server was restarted (dashed) or killed (full).',
      description: `Outages of ${record.windows.length} windows over ${Math.round(record.lastedMs / 1000)} seconds; all are listed in outages.csv.`,
      draw: (width) => timeline(record, names, width),
    },
    tables: [],
    paragraphs: [],
  }
}

const rowHeight = 7
const panelHead = 26

function timeline(record: ResilienceRecord, names: readonly string[], width: number): string {
  const { windows, lastedMs } = record
  const endsAt = (lastedMs + (record.settledAfterMs ?? 0)) / 1000
  const places = placesOf(windows, names)
  const rows = Math.max(1, ...names.map((name) => windows.filter(({ mode }) => mode === name).length))
  const panels = names.map((name) => ({ mode: labelOf(name) }))
  return svg({
    width,
    height: names.length * (rows * rowHeight + panelHead) + 50,
    marginLeft: 4,
    marginRight: 8,
    marginTop: 24,
    marginBottom: 40,
    x: { label: 's', labelAnchor: 'right', domain: [0, endsAt], grid: true, ticks: width < 500 ? 5 : 10 },
    y: { axis: null, domain: [rows, 0] },
    fy: { axis: null, domain: panels.map(({ mode }) => mode), padding: 0.24 },
    marks: [
      Plot.rect(outagesOf(windows, places, endsAt), {
        fy: 'mode',
        x1: 'from',
        x2: 'to',
        y1: (outage) => outage.place + 0.12,
        y2: (outage) => outage.place + 0.88,
        fill: 'var(--accent)',
        fillOpacity: 0.75,
      }),
      Plot.ruleX(endsOf(record, 'kill'), { x: 'at', stroke: 'var(--ink)', strokeWidth: 1.2 }),
      Plot.ruleX(endsOf(record, 'restart'), {
        x: 'at',
        stroke: 'var(--ink)',
        strokeWidth: 1.2,
        strokeDasharray: '4 3',
      }),
      Plot.dot(cutsOf(record, places), {
        fy: 'mode',
        x: 'at',
        y: (cut) => cut.place + 0.5,
        r: 1.8,
        fill: 'var(--ink)',
      }),
      Plot.text(panels, {
        fy: 'mode',
        text: 'mode',
        dy: -2,
        ...panelName,
      }),
    ],
  })
}

interface Place {
  readonly mode: string
  readonly place: number
}

function placesOf(windows: readonly WindowRecord[], names: readonly string[]): ReadonlyMap<string, Place> {
  return new Map(
    names.flatMap((name) =>
      windows
        .filter(({ mode }) => mode === name)
        .map((window, place) => [window.name, { mode: labelOf(name), place }] as const),
    ),
  )
}

function outagesOf(windows: readonly WindowRecord[], places: ReadonlyMap<string, Place>, endsAt: number) {
  return windows.flatMap(({ name, outages }) => {
    const place = places.get(name)
    if (!place) return []
    return outages
      .slice(1)
      .map(({ fromMs, toMs }) => ({
        ...place,
        from: fromMs / 1000,
        to: Math.min(endsAt, (toMs ?? endsAt * 1000) / 1000),
      }))
      .filter(({ from, to }) => to > from)
  })
}

function cutsOf({ faults }: ResilienceRecord, places: ReadonlyMap<string, Place>) {
  return faults.flatMap(({ kind, target, atMs, lastedMs }) => {
    const place = places.get(target)
    return kind === 'cut' && place ? [{ ...place, at: (atMs + lastedMs) / 1000 }] : []
  })
}

function endsOf({ faults }: ResilienceRecord, kind: 'restart' | 'kill') {
  return faults.filter((fault) => fault.kind === kind).map(({ atMs }) => ({ at: atMs / 1000 }))
}
