// The runner with a made-up experiment: flags, help, files and failures.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { defineExperiment, experimentFiles, helpOf, readOptions, runExperiment } from './experiment.ts'
import { flag, whole } from './flags.ts'
import { Lab } from './run-sessions.ts'
import { Standstill } from './standstill.ts'

const dice = defineExperiment({
  name: 'dice',
  about: `Throws
    dice.`,
  notes: 'The order is that of throwing.',
  quick: '--throws 1',
  flags: {
    throws: flag(whole(1, 9).default(3), 'N', 'throws per session'),
    quick: flag(z.boolean().default(false), '', 'one throw'),
  },
  options(given) {
    if (given.throws === 9) throw new Error('--throws is 9: the die is worn.')
    return given
  },
  async measure({ throws }, lab) {
    const thrown = await lab.sessions(2, async (session, opened) => {
      opened.defer(() => void closed.push(session))
      if (throws === 8 || (throws === 7 && session === 2)) throw new Error('The die is lost.')
      if (throws + session === stopAt) stopping.abort()
      lab.signal.throwIfAborted()
      return throws + session
    })
    const place = { browser: 'none', server: 'none', parameters: { throws } }
    return { ...lab.circumstances(place), thrown }
  },
  analyse: (run) => ({ scenario: 'dice', ...run, finding: `Thrown: ${run.thrown.join(', ')}.` }),
  report: (_, { thrown }) => ({
    sections: [{ title: 'Throws', paragraphs: [thrown.join()] }],
    data: { 'throws.csv': thrown.join('\n') },
    isFailure: thrown.includes(3),
  }),
})

const closed: number[] = []
let stopping = new AbortController()
let stopAt = 0

async function run(t: TestContext, ...flags: string[]) {
  stopping = new AbortController()
  const folder = temporaryFolder(t)
  const out = join(folder, 'report')
  const given = readOptions(dice, [...flags, '--out', out, '--json', join(folder, 'figures.json')])
  const command = `npm run lab -- dice --out ${out} --json=figures.json`
  return { folder, out, running: runExperiment(dice, given, command, stopping.signal) }
}

test('a run is measured, analysed and written; each session closes what it opened', async (t) => {
  const { folder, out, running } = await run(t, '--throws', '4')
  const { summary, isFailure, folder: written } = await running
  assert.deepEqual([summary.finding, isFailure, written, closed], ['Thrown: 5, 6.', false, out, [1, 2]])
  const names = ['report.html', 'report.md', 'summary.json', 'throws.csv']
  assert.deepEqual((await readdir(out)).sort(), names)
  const figures = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  assert.deepEqual(
    [figures.thrown, figures.parameters, figures.command],
    [[5, 6], { throws: 4 }, 'npm run lab -- dice'],
  )
  assert.deepEqual(JSON.parse(await readFile(join(folder, 'figures.json'), 'utf8')), figures)
  assert.match(
    await readFile(join(out, 'report.md'), 'utf8'),
    /^# Crosswind lab: dice\n[\s\S]*Thrown: 5, 6\.[\s\S]*npm run lab -- dice/,
  )
})

test('a broken promise fails the run, and its report is still written', async (t) => {
  const { out, running } = await run(t, '--throws', '2')
  assert.ok((await running).isFailure && existsSync(out))
})

test('after a failure nothing looks like a report, and a folder in use is refused before measuring', async (t) => {
  const { folder, out, running } = await run(t, '--throws', '8')
  await assert.rejects(running, /The die is lost/)
  assert.deepEqual([existsSync(out), existsSync(join(folder, 'figures.json'))], [false, false])
  closed.length = 0
  await writeFile(join(folder, 'mine.txt'), '')
  const given = { options: { throws: 1 }, out: folder }
  await assert.rejects(runExperiment(dice, given, '', t.signal), /already exists/)
  assert.deepEqual(closed, [])
})

test('stopped in the second session, it reports the first; stopped in the first, it writes nothing', async (t) => {
  t.after(() => {
    stopAt = 0
  })
  stopAt = 7
  const second = await run(t, '--throws', '5')
  const { summary } = await second.running
  assert.deepEqual([summary.finding, summary.stopped], ['Thrown: 6.', { sessions: 1, planned: 2 }])
  assert.match(await readFile(join(second.out, 'report.md'), 'utf8'), /; stopped after 1 of 2 sessions\n/)
  stopAt = 6
  const first = await run(t, '--throws', '5')
  await assert.rejects(first.running, { name: 'AbortError' })
  assert.equal(existsSync(first.out), false)
})

test('if a later session fails, the report has the earlier ones and the reason, and the run has failed', async (t) => {
  const { out, running } = await run(t, '--throws', '7')
  const { summary, isFailure } = await running
  assert.deepEqual(
    [summary.finding, summary.stopped, isFailure],
    ['Thrown: 8.', { sessions: 1, planned: 2, failure: 'The die is lost.' }, true],
  )
  assert.match(
    await readFile(join(out, 'report.md'), 'utf8'),
    /; ended by a failure after 1 of 2 sessions: The die is lost\.\n/,
  )
})

test('a session in which the machine stood still is measured again, and the report says so', async (t) => {
  const lab = new Lab('', t.signal, null, {})
  let times = 0
  const thrown = await lab.sessions(2, async (session) => {
    times += 1
    if (times === 2) throw new Standstill(20_000)
    return session
  })
  assert.deepEqual([thrown, times], [[1, 2], 3])
  const known = lab.circumstances({ browser: 'none', server: 'none', parameters: {} })
  assert.deepEqual([known.standstills, known.stopped], [1, undefined])
  const files = experimentFiles(dice, { sections: [] }, { ...known, finding: '' })
  assert.match(files['report.md'] ?? '', /The machine stood still in 1 session, which was measured again\./)
})

test('a machine that keeps standing still ends the run', async (t) => {
  const lab = new Lab('', t.signal, null, {})
  const session = async () => {
    throw new Standstill(20_000)
  }
  await assert.rejects(lab.sessions(2, session), Standstill)
})

test('after a session that failed no other is measured', async (t) => {
  const lab = new Lab('', t.signal, null, {})
  const first = await lab.sessions(2, async (session) => {
    if (session === 2) throw new Error('The die is lost.')
    return session
  })
  assert.deepEqual([first, await lab.sessions(1, async () => 1)], [[1], []])
})

test('a file or folder that cannot be written is refused before measuring', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'a file')
  await writeFile(file, 'kept')
  closed.length = 0
  const options = { throws: 1 }
  const refused = (given: object, words: RegExp) =>
    assert.rejects(runExperiment(dice, { options, ...given }, '', t.signal), words)
  await refused(
    { out: join(file, 'report') },
    /A report cannot be written to .*a file.*Name another with --out\./,
  )
  await refused(
    { out: join(folder, 'one'), json: join(file, 'figures.json') },
    /figures\.json cannot be written/,
  )
  await refused({ out: join(folder, 'two'), json: folder }, /cannot be written: EISDIR/)
  assert.deepEqual([closed, await readFile(file, 'utf8'), await readdir(folder)], [[], 'kept', ['a file']])
  await runExperiment(
    dice,
    { options, out: join(folder, 'three'), json: join(folder, 'new', 'figures.json') },
    '',
    t.signal,
  )
  assert.ok(existsSync(join(folder, 'new', 'figures.json')))
})

test('--quick stands for flags, and others come on top', () => {
  const throwsWith = (...flags: string[]) => readOptions(dice, flags).options.throws
  assert.deepEqual([throwsWith(), throwsWith('--quick'), throwsWith('--throws', '5', '--quick')], [3, 1, 5])
})

test('a bench writes a report only on request', async (t) => {
  const given = { options: { throws: 1 } }
  const { folder } = await runExperiment({ ...dice, isBench: true }, given, '', t.signal)
  assert.equal(folder, null)
})

test("the help has the experiment's description, its own flags and the common ones", () => {
  assert.match(
    helpOf(dice),
    /^npm run lab -- dice \[flags\]\n\n {2}Throws dice\.\n\n {2}--throws N +throws per session \(3\)\n {2}--quick +one throw\n {2}--out DIR .*\(reports\/<date>-dice\)\n {2}--json FILE .*\n {2}--budget FILE [\s\S]*The order is that of throwing\.\n$/,
  )
  assert.match(helpOf({ ...dice, isBench: true }), /--out DIR +folder of the report \(none is written\)/)
})

test('invalid flags are refused in one sentence', () => {
  assert.throws(() => readOptions(dice, ['--throws', '10']), /^Error: --throws is "10": .+\.$/)
  assert.throws(() => readOptions(dice, ['--throws', '9']), /the die is worn\.$/)
  assert.throws(
    () => readOptions(dice, ['--trows', '1']),
    /There is no flag --trows; did you mean --throws\?/,
  )
})
