// Each mode against the peer that does the same work with nothing around it: what does Crosswind itself cost?

import type { Summary } from '../../lab/stats/analysis.ts'
import { isPeer, labelOf, opponentLabel } from '../../lab/stats/names.ts'
import type { Comparison } from '../../lab/stats/verdict.ts'
import { intervals } from '../figures/intervals.ts'
import { figure, interval } from '../format.ts'
import { number, type Section, text } from '../section.ts'

/** Median of a mode over that of its peer which Crosswind sets itself as its limit. */
const goal = 1.3

/** Undefined where no peers were run. */
export function peersSection({ comparisons }: Summary): Section | undefined {
  const withPeers = comparisons.filter(({ baseline }) => isPeer(baseline))
  if (withPeers.length === 0) return undefined
  return {
    title: 'Against bare peers',
    figure: figureOf(withPeers),
    tables: [
      {
        caption: `Ratio of the medians, mode over peer; the goal is at most ${goal}`,
        columns: [text('Mode / peer'), number('Ratio'), number('95 % interval'), text('Goal')],
        rows: withPeers.map((comparison) => [
          pairLabel(comparison),
          figure(comparison.medianRatio),
          interval(comparison.medianRatioCi95),
          outcome(comparison),
        ]),
      },
    ],
    paragraphs: [
      'The intervals come from 2,000 bootstrap resamples of whole messages, with a fixed seed. The goal is met where the whole interval keeps to it and missed where the whole interval is beyond.',
    ],
  }
}

function pairLabel({ mode, baseline }: Comparison): string {
  return `${labelOf(mode)} / ${opponentLabel(baseline)}`
}

function outcome({ medianRatioCi95: [low, high] }: Comparison): string {
  if (high <= goal) return 'met'
  return low > goal ? 'missed' : 'undecided'
}

function figureOf(withPeers: readonly Comparison[]) {
  const rows = withPeers.map((comparison) => ({
    label: pairLabel(comparison),
    point: comparison.medianRatio,
    interval: comparison.medianRatioCi95,
    isDecided: outcome(comparison) !== 'undecided',
    blocks: [],
  }))
  return {
    caption: `Ratio of the medians with its 95 % interval. At 1 both are alike; the dashed line is the goal, ${goal}. Filled: met or missed; hollow: undecided.`,
    description: withPeers
      .map(
        (pair) =>
          `${labelOf(pair.mode)}: ${figure(pair.medianRatio)}, ${interval(pair.medianRatioCi95)}, goal ${outcome(pair)}`,
      )
      .join('; '),
    draw: (width: number) =>
      intervals(rows, { width, axis: 'times the peer’s median', references: [1, goal], shadedTo: 0 }),
  }
}
