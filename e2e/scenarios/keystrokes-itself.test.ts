// An adapter's system against itself, in runs drawn from a real one's samples: no difference found
// where there is none, and planted ones found.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { mean } from '../../client/statistics.ts'
import { createSeededRandom, type Random, shuffled } from '../../client/wire.ts'
import { parseCsv } from '../lab/csv.ts'
import type { Sample } from '../lab/samples.ts'
import { analyseStudy, type StudyComparison } from '../lab/study.ts'
import { readCompressed } from '../report/render.ts'
import { design } from './keystrokes-report.ts'

const system = 'better-sse:sse/2'
const runs = 100
const reference = join(import.meta.dirname, '../../reports/reference-itself/samples.csv.gz')

type Timed = Pick<Sample, 'mode' | 'session' | 'block' | 'id' | 'sentAt' | 'receivedAt'>

let samples: readonly Timed[]
before(async () => {
  samples = parseCsv(await readCompressed(reference))
    .filter(({ mode }) => mode === system)
    .map(({ session, block, id = '', sentAt, receivedAt }) => ({
      mode: system,
      session: Number(session),
      block: Number(block),
      id,
      sentAt: Number(sentAt),
      receivedAt: Number(receivedAt),
    }))
})

/**
 * Each session of a run is one of the real run's, drawn with replacement, whose turns are dealt to
 * the system and itself.
 */
function againstItself(random: Random, plantedMs: number): StudyComparison | undefined {
  const sessions = [...Map.groupBy(samples, ({ session }) => session).values()]
  const dealt = sessions.flatMap((_, place) => {
    const drawn = sessions[Math.floor(random() * sessions.length)] ?? []
    const turns = shuffled([...Map.groupBy(drawn, ({ block }) => block).values()], random)
    return turns.flatMap((turn, number) =>
      turn.map((sample) => {
        const isSecond = number % 2 === 1
        const receivedAt = (sample.receivedAt ?? Number.NaN) + (isSecond ? plantedMs : 0)
        const mode = isSecond ? 'b' : 'a'
        return { mode, session: place + 1, id: sample.id, transmissionMs: receivedAt - sample.sentAt }
      }),
    )
  })
  const measured = { levels: { mode: ['a', 'b'] }, baseline: 'a', samples: dealt, boundMs: 0.05 }
  return analyseStudy(design, measured).comparisons[0]
}

function repeated(plantedMs: number): readonly StudyComparison[] {
  const random = createSeededRandom(34)
  return Array.from({ length: runs }, () => againstItself(random, plantedMs)).filter(
    (one) => one !== undefined,
  )
}

const half = (comparisons: readonly StudyComparison[]) =>
  mean(
    comparisons.map(({ ratioCi95 }) => (ratioCi95 ? Math.sqrt(ratioCi95[1] / ratioCi95[0]) - 1 : Number.NaN)),
  )

test('at least 90 of 100 runs against itself are undecided', (t) => {
  const found = repeated(0)
  const undecided = found.filter(({ verdict }) => verdict === 'undecided').length
  t.diagnostic(
    `${undecided} undecided; the interval of the ratio is ± ${(100 * half(found)).toFixed(1)} % wide`,
  )
  assert.ok(undecided >= 90, `${undecided}`)
})

for (const [plantedMs, least] of [
  [2, 99],
  [5, 99],
  [20, 99],
] as const) {
  test(`${plantedMs} ms are found in at least ${least} of 100 runs`, (t) => {
    const found = repeated(plantedMs)
    const slower = found.filter(({ verdict }) => verdict === 'higher').length
    const holding = found.filter(
      ({ differenceCi95: ci95 }) => ci95 && ci95[0] <= plantedMs && plantedMs <= ci95[1],
    ).length
    t.diagnostic(`${slower} slower; ${holding} intervals of the difference hold ${plantedMs} ms`)
    assert.ok(slower >= least && holding >= 85, `${slower} slower, ${holding} holding`)
  })
}
