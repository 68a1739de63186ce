// Test helpers: the lab as a child process, small runs and reports in this one, and wrong flags.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { ZodRawShape } from 'zod'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { type Experiment, experimentFiles, readOptions, runExperiment, type Summary } from './experiment.ts'
import { exitBySignals } from './signals.ts'

const main = join(import.meta.dirname, '../lab-command.ts')

/**
 * `command`: a name, and flags without spaces. Ends with the test, or with this process, at the
 * latest, and its browsers and servers with it.
 */
export function startLab(t: TestContext, command: string, ...flags: readonly string[]) {
  const child = spawn(process.execPath, [main, ...command.split(' '), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const signal = (name: NodeJS.Signals) => process.kill(-(child.pid ?? Number.NaN), name)
  function endAll(): void {
    try {
      signal('SIGKILL')
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
  }
  exitBySignals()
  process.once('exit', endAll)
  t.after(() => {
    process.off('exit', endAll)
    endAll()
  })
  let said = ''
  let more = Promise.withResolvers<void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk
      more.resolve()
      more = Promise.withResolvers()
    })
  }
  let hasEnded = false
  const ended = once(child, 'exit').finally(() => {
    hasEnded = true
  })

  /** Also resolves if the process has exited. */
  async function hasSaid(words: string): Promise<void> {
    while (!hasEnded && !said.includes(words)) await Promise.race([more.promise, ended])
  }

  /** As a terminal does: its browsers and servers are signalled too. */
  const pressCtrlC = () => void signal('SIGINT')

  return { child, ended, said: () => said, hasSaid, pressCtrlC }
}

type Read<Shape extends ZodRawShape, Options> = Pick<Experiment<Shape, Options>, 'name' | 'flags' | 'options'>

export function optionsOf<Shape extends ZodRawShape, Options>(
  experiment: Read<Shape, Options>,
  ...flags: readonly string[]
): Options {
  return readOptions(experiment, flags).options
}

/** Every file of a run's report. */
export function filesOf<Run extends object, Result extends Summary>(
  experiment: Pick<Experiment<ZodRawShape, unknown, Run, Result>, 'name' | 'analyse' | 'report'>,
  run: Run,
): Readonly<Record<string, string>> {
  const summary = experiment.analyse(run)
  return experimentFiles(experiment, experiment.report(run, summary), summary)
}

export function fileOf<Run extends object, Result extends Summary>(
  experiment: Pick<Experiment<ZodRawShape, unknown, Run, Result>, 'name' | 'analyse' | 'report'>,
  run: Run,
  name = 'report.md',
): string {
  return filesOf(experiment, run)[name] ?? assert.fail(`There is no ${name}.`)
}

/** A small real run in this process. The folder of its report is removed with the test. */
export async function runSmall<
  Shape extends ZodRawShape,
  Options,
  Run extends object,
  Result extends Summary,
>(t: TestContext, experiment: Experiment<Shape, Options, Run, Result>, flags: string) {
  const folder = temporaryFolder(t)
  const given = readOptions(experiment, [...flags.split(' '), '--out', join(folder, 'report')])
  const done = await runExperiment(experiment, given, 'test', t.signal)
  return { ...done, out: join(folder, 'report') }
}

/** A test for each misuse of flags, and its sentence. */
export function testRefusals<Shape extends ZodRawShape, Options>(
  experiment: Read<Shape, Options>,
  refusals: readonly (readonly [flags: string, sentence: RegExp])[],
): void {
  for (const [flags, sentence] of refusals)
    test(`${experiment.name} ${flags}: one sentence`, () => {
      assert.throws(() => readOptions(experiment, flags.split(' ')), sentence)
    })
}
