// From the samples of a run to its summary: everything that a report says in figures, as summary.json holds it.

import type { ClockCheck, Environment, Run } from '../samples.ts'
import { contrast, type Pair, pairsOf } from './comparison.ts'
import { findingOf } from './finding.ts'
import { type ModeSummary, summariseMode } from './mode-summary.ts'
import { type Comparison, decided } from './verdict.ts'

/** What summary.json holds. Measured figures have at most six significant digits, p's all of theirs. */
export interface Summary {
  readonly scenario: string
  readonly command: string
  readonly startedAt: string
  readonly finishedAt: string
  readonly environment: Environment
  readonly parameters: Run['parameters']
  readonly clock: ClockCheck
  readonly baseline: string
  readonly modes: readonly ModeSummary[]
  readonly comparisons: readonly Comparison[]
  /** Comparisons that were asked for and could not be made: fewer than two messages arrived on one side. */
  readonly notCompared: readonly Pair[]
  /** One sentence for people. */
  readonly finding: string
}

/** The summary of a run; the same run always gives the same summary. */
export function analyse(run: Run): Summary {
  const { scenario, command, startedAt, finishedAt, environment, parameters, clock, baseline } = run
  const modes = run.modes.map((mode) => summariseMode(run, mode))
  const asked = pairsOf(run).map((pair) => ({ pair, found: contrast(run, pair) }))
  const comparisons = decided(
    asked.flatMap(({ found }) => found ?? []),
    clock,
  )
  const notCompared = asked.filter(({ found }) => found === undefined).map(({ pair }) => pair)
  const finding = findingOf({ modes, comparisons, clock, baseline })
  const circumstances = { scenario, command, startedAt, finishedAt, environment, parameters, clock, baseline }
  return { ...circumstances, modes, comparisons, notCompared, finding }
}
