// Whether the server's memory stayed where it was: compares the beginning and the end of its last process's life.

import type { MemorySample } from './record.ts'

export interface MemoryVerdict {
  readonly start: MemorySample
  readonly end: MemorySample
  readonly isFlat: boolean
}

export interface MemoryFigures {
  /** Of the first process, with all windows joined and nothing else done; null when it was not to be had. */
  readonly atFirst: MemorySample | null
  /** Of the last process: from after its warm-up to its end; null when it lived too short to say. */
  readonly last: MemoryVerdict | null
}

/** In which the windows come back, code is compiled and the first floods have made buffers grow. */
const warmupMs = 12_000

/** Samples that a judgement takes at least, a third of them at either end. */
const leastSamples = 6

/** What may be added beside the share: buffers, compiled code and pages that the collector keeps. */
const allowance = { heapBytes: 16e6, rssBytes: 48e6, share: 1.25 }

export const flatCriterion = `Flat means: in the life of the server’s last process, ${warmupMs / 1000} s of warm-up left out, the smallest heap and the median resident set of the last third are at most ${allowance.share} times those of the first third, or within ${allowance.heapBytes / 1e6} MB (heap) and ${allowance.rssBytes / 1e6} MB (resident set) of them.`

export function judgeMemory(samples: readonly MemorySample[]): MemoryFigures {
  const life = Math.max(0, ...samples.map(({ life }) => life))
  const ofLast = samples.filter((sample) => sample.life === life)
  const bornMs = ofLast[0]?.atMs ?? 0
  // One that was never restarted was warmed up as the run began.
  const warm = ofLast.filter(({ atMs }) => atMs - bornMs >= warmupMs)
  return { atFirst: samples[0] ?? null, last: warm.length < leastSamples ? null : verdictOf(warm) }
}

function verdictOf(warm: readonly MemorySample[]): MemoryVerdict {
  const third = Math.floor(warm.length / 3)
  const start = typical(warm.slice(0, third))
  const end = typical(warm.slice(-third))
  return { start, end, isFlat: isFlat(start, end) }
}

/** The collector lets the heap rise and fall: its floor is what is kept. */
function typical(part: readonly MemorySample[]): MemorySample {
  const byRss = part.toSorted((one, other) => one.rssBytes - other.rssBytes)
  const middle = byRss[Math.floor(byRss.length / 2)] ?? {
    atMs: 0,
    life: 0,
    rssBytes: 0,
    heapUsedBytes: 0,
    windows: 0,
  }
  const heapUsedBytes = Math.min(...part.map((sample) => sample.heapUsedBytes))
  return { ...middle, heapUsedBytes }
}

function isFlat(start: MemorySample, end: MemorySample): boolean {
  const { share, heapBytes, rssBytes } = allowance
  const heapMost = Math.max(start.heapUsedBytes * share, start.heapUsedBytes + heapBytes)
  const rssMost = Math.max(start.rssBytes * share, start.rssBytes + rssBytes)
  return end.heapUsedBytes <= heapMost && end.rssBytes <= rssMost
}
