// Named faults on real servers: no acknowledged message is silently lost, repeated or reordered.

import assert from 'node:assert/strict'
import { appendFile, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { readOptions, runExperiment } from '../lab/experiment.ts'
import { optionsOf } from '../lab/testing.ts'
import { createWindowRecord, type Seen } from '../load/cuttable-window.ts'
import { type FaultName, faultNames } from './named-faults.ts'
import { experimentFor, resilience } from './resilience.ts'
import { countTrial, goThrough, namedFaults, planTrials } from './resilience-trials.ts'

const read = (...flags: string[]) => optionsOf(namedFaults, ...flags)
const { signal } = new AbortController()

/**
 * Damage is tested in sqlite-faults.test.ts, most NATS outages in outages.long.broker.test.ts; others
 * take longer.
 */
const quick = ['copy-restored', 'disk-full', 'broker-frozen', 'stream-purged'].join()

for (const trial of planTrials(read('--faults', quick, '--windows', '8', '--seed', '5')))
  test(`${trial.name}: no acknowledged message is missing without notice`, {
    timeout: 300_000,
  }, async (context) => {
    const row = await goThrough(trial, read('--faults', trial.name), signal)
    if (row.untried !== null) return context.skip(row.untried)
    assert.deepEqual(row.failures, [], row.traces.join('\n'))
    assert.ok(row.acknowledged > 20, `only ${row.acknowledged} messages were acknowledged`)
    context.diagnostic(row.said.map(({ code }) => code).join(', '))
  })

const seen = (...numbers: number[]): Seen[] => numbers.map((n) => ({ id: `a-${n}`, seq: n }))

/** A writer sent four messages, and a reader missed the second and third. */
function missing(
  fault: FaultName,
  logged: readonly Seen[],
  code: 'log-lost-messages' | 'log-up',
  isTold = false,
) {
  const [writer, reader] = ['a', 'b'].map((name) => createWindowRecord(name, 'sse/2', true))
  assert.ok(writer && reader)
  writer.published.push('a-1', 'a-2', 'a-3', 'a-4')
  for (const { id, seq } of seen(1, 2, 3, 4)) writer.accepted.set(id, seq)
  writer.seen.push(...seen(1, 2, 3, 4))
  reader.seen.push(...seen(1, 4))
  if (isTold) reader.snapshots.push({ place: 1, head: 3 })
  const log = { messages: [...logged], isWhole: true }
  const lines = [{ code, message: '' }]
  const { lost, told, failures } = countTrial([fault], { windows: [writer, reader], log, lines, lastedMs: 1 })
  return { lost, told, failures: failures.join() }
}

test('messages that the log has are lost, whatever the server says, unless the window got a snapshot', () => {
  const all = seen(1, 2, 3, 4)
  const failures = '2 acknowledged and missing without notice.'
  assert.deepEqual(missing('copy-restored', all, 'log-lost-messages'), { lost: 2, told: 0, failures })
  assert.deepEqual(missing('copy-restored', all, 'log-up', true), { lost: 0, told: 2, failures: '' })
})

test('messages that the log lacks are told if the server names their loss, and allowed if the fault may cause one', () => {
  const rest = seen(1, 4)
  assert.deepEqual(missing('copy-restored', rest, 'log-lost-messages'), { lost: 0, told: 4, failures: '' })
  assert.match(
    missing('copy-restored', rest, 'log-up').failures,
    /^4 acknowledged and missing without notice/,
  )
  assert.match(missing('node-cut', seen(1, 2, 3, 4), 'log-up', true).failures, /although nothing may be/)
})

test('schedules are two to four faults of one kind of log, the same for the same seed', () => {
  const trials = planTrials(read('--schedules', '60', '--seed', '1'))
  for (const { log, faults } of trials) {
    assert.ok(faults.length >= 2 && faults.length <= 4)
    for (const fault of faults) assert.ok((faultNames[log] as readonly FaultName[]).includes(fault))
  }
  const drawn = new Set(trials.flatMap(({ faults }) => faults))
  assert.deepEqual(drawn, new Set(Object.values(faultNames).flat()))
  assert.deepEqual(planTrials(read('--schedules', '90', '--seed', '1')).slice(0, 60), trials)
})

test('a stopped run continues where it was', { timeout: 300_000 }, async (context) => {
  const folder = temporaryFolder(context)
  const whole = join(folder, 'whole')
  const stopped = join(folder, 'stopped')
  const flags = ['--faults', 'wal-missing', '--windows', '4', '--out', whole]
  const run = async (...flags: string[]) => {
    const given = readOptions(namedFaults, flags)
    const { folder, summary } = await runExperiment(namedFaults, given, 'a test', signal)
    return { folder, trials: summary.trials }
  }
  const first = await run(...flags)
  await rename(whole, `${stopped}.unfinished`)
  await appendFile(join(`${stopped}.unfinished`, 'trials.jsonl'), '{"name":"cut sh')
  const again = await run('--resume', stopped)
  assert.equal(again.folder, stopped)
  assert.deepEqual(again.trials, first.trials)
  assert.match(await readFile(join(stopped, 'report.md'), 'utf8'), /1 of 1 trials held/)
  await assert.rejects(run('--resume', stopped), /nothing to resume/)
})

test('a wrong flag is named, and how to fix it', () => {
  assert.throws(
    () => read('--faults', 'disk-fall'),
    /--faults is "disk-fall": must be all, or among copy-restored/,
  )
  assert.throws(() => read('--resume', 'x', '--seed', '1'), /leave out --seed/)
  assert.throws(() => read('--schedules', '2', '--faults', 'all'), /leave out --faults/)
  assert.equal(experimentFor(['--seconds', '5']), resilience)
  assert.equal(experimentFor(['--faults=disk-full']), namedFaults)
})
