// Compares modes with the run's baseline, and each with the peer that imitates it.

import { createSeededRandom } from '../../../server/wire/random.ts'
import type { Run, Sample } from '../samples.ts'
import { medianRatio } from './median-ratio.ts'
import { clustersOf, messageMeans } from './messages.ts'
import { imitatedBy, isPeer } from './names.ts'
import { summarise } from './summary.ts'
import { welch } from './welch.ts'

/** Which of a run's modes is set against which. */
export interface Pair {
  readonly mode: string
  readonly baseline: string
}

/** How two modes differ, before correction for the number of comparisons. Times in ms, mode minus baseline. */
export interface Contrast extends Pair {
  /** Messages that arrived anywhere: the n of the comparison. */
  readonly messages: number
  readonly baselineMessages: number
  readonly difference: number
  readonly interval: readonly [number, number]
  readonly p: number
  readonly medianRatio: number
  readonly ratioInterval: readonly [number, number]
  readonly blocks: readonly BlockDifference[]
}

/** The same difference within one block, without a test: does it hold in each? */
export interface BlockDifference {
  readonly block: number
  readonly differenceMs: number
}

/** Fixed, so that the same samples give the same intervals whoever computes them again. */
const seed = 2021

/** Every comparison that the run asks for: Crosswind's modes with the baseline, then each with its peers. */
export function pairsOf({ modes, baseline }: Pick<Run, 'modes' | 'baseline'>): readonly Pair[] {
  const own = modes.filter((mode) => !isPeer(mode))
  const withBaseline = own.filter((mode) => mode !== baseline).map((mode) => ({ mode, baseline }))
  const withPeers = own.flatMap((mode) =>
    modes.filter((peer) => imitatedBy(peer) === mode).map((peer) => ({ mode, baseline: peer })),
  )
  return [...withBaseline, ...withPeers]
}

/** Undefined where either side has fewer than two messages that arrived: there is nothing to test then. */
export function contrast(run: Run, { mode, baseline }: Pair): Contrast | undefined {
  const [first, second] = [mode, baseline].map((name) => run.samples.filter((sample) => sample.mode === name))
  if (first === undefined || second === undefined) return undefined
  const [firstMeans, secondMeans] = [messageMeans(first), messageMeans(second)]
  if (firstMeans.length < 2 || secondMeans.length < 2) return undefined
  const { difference, interval, p } = welch(summarise(firstMeans), summarise(secondMeans))
  const ratio = medianRatio(clustersOf(first), clustersOf(second), { random: createSeededRandom(seed) })
  return {
    mode,
    baseline,
    messages: firstMeans.length,
    baselineMessages: secondMeans.length,
    difference,
    interval,
    p,
    medianRatio: ratio.ratio,
    ratioInterval: ratio.interval,
    blocks: blockDifferences(first, second),
  }
}

/** For each block in which both sides received something. */
function blockDifferences(first: readonly Sample[], second: readonly Sample[]): readonly BlockDifference[] {
  const firstMeans = meansByBlock(first)
  const secondMeans = meansByBlock(second)
  return [...firstMeans].flatMap(([block, mean]) => {
    const other = secondMeans.get(block)
    return other === undefined ? [] : [{ block, differenceMs: mean - other }]
  })
}

/** Mean over the messages of each block, in ms; a block in which nothing arrived is left out. */
function meansByBlock(samples: readonly Sample[]): ReadonlyMap<number, number> {
  const blocks = [...Map.groupBy(samples, (sample) => sample.block)].map(
    ([block, inBlock]) => [block, messageMeans(inBlock)] as const,
  )
  return new Map(
    blocks
      .filter(([, means]) => means.length > 0)
      .map(([block, means]) => [block, summarise(means).mean] as const)
      .sort(([a], [b]) => a - b),
  )
}
