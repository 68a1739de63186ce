// Finished runs, worked out again from their reports' folders.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { fanout } from '../bench/fanout-bench.ts'
import { type Experiment, experimentFiles, type Summary, again as workedOutAgain } from '../lab/experiment.ts'
import { filesOf } from '../lab/testing.ts'
import { writeFolder } from '../report/render.ts'
import { capacity } from './capacity.ts'
import { keystrokes } from './keystrokes.ts'
import { payload } from './payload.ts'
import { pubsub } from './pubsub.ts'
import {
  madeCapacityRun,
  madePayloadRun,
  madePubsubRun,
  madeRun,
  madeWindowsRun,
  withSamples,
} from './testing.ts'
import { windows } from './windows.ts'

const small = { sessions: 2, keys: 10, blocks: 2, windows: 3 }

/** Writes its report, and reads it back. */
async function again<Run extends object, Result extends Summary>(
  t: TestContext,
  experiment: Pick<Experiment<never, never, Run, Result>, 'name' | 'analyse' | 'report' | 'reread'>,
  run: Run,
) {
  const folder = join(temporaryFolder(t), 'report')
  const files = filesOf(experiment, run)
  await writeFolder(folder, files)
  const { content, summary } = await workedOutAgain(experiment, folder, 'abc1234')
  return { files, filesAgain: experimentFiles(experiment, content, summary) }
}

/** As precise as the files. */
function inMicros(run: ReturnType<typeof madeRun>) {
  const micros = (ms: number) => Number(ms.toFixed(3))
  const samples = run.samples.map((sample) => ({
    ...sample,
    sentAt: micros(sample.sentAt),
    receivedAt: sample.receivedAt === null ? null : micros(sample.receivedAt),
  }))
  return withSamples(run, samples)
}

/** Ten deliveries of one system never arrived, and a window said why. */
function madeFanoutRun(): ReturnType<typeof madePayloadRun> {
  const { costs: _, ...others } = madePayloadRun()
  const modes = ['sse/2 x10', 'ws']
  return {
    ...others,
    levels: { mode: modes, rate: [50] },
    baseline: 'ws',
    samples: modes.flatMap((mode) =>
      [1, 2].map((session) => ({
        mode,
        rate: 50,
        session,
        expected: 100,
        lost: mode === 'ws' ? 0 : 5,
        cpuMicros: 10 + session,
        clientPercent: 95,
      })),
    ),
    observations: ['Window 3: its stream ended.'],
  }
}
test('keystrokes: what only it has is read again too', async (t) => {
  const made = inMicros(
    madeRun({
      ...small,
      behaviours: [
        { mode: 'sse/2', medianMs: 4 },
        { mode: 'hub:sse/2', medianMs: 3 },
      ],
    }),
  )
  const run = {
    ...made,
    endedPeers: [{ name: 'hub', session: 2, why: 'its process ended' }],
    uncompared: ['hub:sse/2'],
    growing: made.samples.map((sample) => ({ ...sample, characters: 200 })),
    until: 'limit',
    matters: { amount: 5, isPercent: true },
  } as const
  const { files, filesAgain } = await again(t, keystrokes, run)
  assert.equal(filesAgain['growing.csv.gz'], files['growing.csv.gz'])
  const [before, after] = [files, filesAgain].map((all) => JSON.parse(all['summary.json'] ?? ''))
  for (const name of ['endedPeers', 'uncompared', 'until', 'matters', 'clock', 'boundMs', 'remarks'])
    assert.deepEqual(after[name], before[name], name)
  assert.deepEqual([after.comparisons, after.details.growing[0].n], [[], before.details.growing[0].n])
})

for (const [name, run] of [
  ['fanout', (t: TestContext) => again(t, fanout, madeFanoutRun())],
  ['keystrokes', (t: TestContext) => again(t, keystrokes, inMicros(madeRun(small)))],
  ['capacity', (t: TestContext) => again(t, capacity, madeCapacityRun({ flags: ['--sessions', '2'] }))],
  ['payload', (t: TestContext) => again(t, payload, madePayloadRun())],
  ['pubsub', (t: TestContext) => again(t, pubsub, madePubsubRun())],
  ['windows', (t: TestContext) => again(t, windows, madeWindowsRun())],
] as const)
  test(`${name}: the same samples and the same finding, by another commit`, async (t) => {
    const { files, filesAgain } = await run(t)
    assert.deepEqual(Object.keys(filesAgain), Object.keys(files))
    assert.equal(filesAgain['samples.csv.gz'], files['samples.csv.gz'])
    const [before, after] = [files, filesAgain].map((all) => JSON.parse(all['summary.json'] ?? ''))
    assert.equal(after.finding, before.finding)
    assert.deepEqual(after.remarks, before.remarks)
    assert.deepEqual([before.analysedBy, after.analysedBy], [undefined, 'abc1234'])
    assert.match(filesAgain['report.md'] ?? '', /commit \w+; figures worked out again by commit abc1234/)
  })

test('observations follow the finding, and a lost delivery is a failure of the bench', () => {
  const run = madeFanoutRun()
  const summary = fanout.analyse(run)
  assert.match(
    summary.finding,
    /^SSE \+ XHR over HTTP\/2 with 10 to a browser at 50 a second lost 10 of 200 samples\. /,
  )
  assert.match(
    summary.remarks?.join(' ') ?? '',
    /^Window 3: its stream ended\. The load clients were saturated, /,
  )
  assert.equal(fanout.report(run, summary).isFailure, true)
})
