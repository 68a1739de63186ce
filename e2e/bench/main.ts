// Entry point of the bench: `npm run bench -- BENCH [flags]`.

import { writeFile } from 'node:fs/promises'
import { leaveWhenDone } from '../../server/leave.ts'
import { describeEnvironment, loadNow } from '../lab/environment.ts'
import { crowd } from './crowd.ts'
import { crowdHelp, readCrowdOptions } from './crowd-options.ts'
import { crowdText } from './crowd-text.ts'
import { fanout } from './fanout.ts'
import { fanoutHelp, readFanoutOptions } from './fanout-options.ts'
import { fanoutTable } from './fanout-rows.ts'
import { frames } from './frames.ts'
import { framesHelp, readFramesOptions } from './frames-options.ts'
import { framesText } from './frames-text.ts'
import { createProgress } from './progress.ts'

const help = `npm run bench -- BENCH [flags]

  fanout   what a delivered message costs the server, for each mode and beside ws and Socket.IO
  crowd    ten thousand windows at one server process
  frames   what it costs to read a wind sensor's frames

  npm run bench -- fanout --help lists its flags.
`

leaveWhenDone()
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)

interface Bench {
  readonly help: string
  /** False when something was lost. */
  readonly run: (flags: readonly string[], command: string) => Promise<boolean>
}

const benches: Readonly<Record<string, Bench>> = {
  fanout: { help: fanoutHelp, run: runFanout },
  crowd: { help: crowdHelp, run: runCrowd },
  frames: { help: framesHelp, run: runFrames },
}

try {
  process.exitCode = (await run(process.argv.slice(2))) ? 0 : 1
} catch (error) {
  const isStopped = stopping.signal.aborted
  console.error(isStopped ? '\n  Stopped.' : `\n  ${error instanceof Error ? error.message : error}`)
  process.exitCode = isStopped ? 130 : 1
}

/** False when something was lost. */
async function run([name, ...flags]: readonly string[]): Promise<boolean> {
  const wantsHelp = (words: readonly string[]) => words.some((word) => word === '--help' || word === '-h')
  if (name === undefined || wantsHelp([name])) return tell(help)
  const bench = benches[name]
  if (!bench)
    throw new Error(
      `There is no bench "${name}"; there are ${new Intl.ListFormat('en-GB').format(Object.keys(benches))}.`,
    )
  if (wantsHelp(flags)) return tell(bench.help)
  return bench.run(flags, ['npm run bench --', name, ...flags].join(' '))
}

function tell(text: string): true {
  process.stdout.write(text)
  return true
}

async function runFanout(flags: readonly string[], command: string): Promise<boolean> {
  const options = readFanoutOptions(flags)
  const loadBefore = loadNow()
  const progress = createProgress(process.stderr)
  const { rows, sharing, failures } = await fanout(options, progress, stopping.signal)
  tell(`\n${fanoutTable(rows, sharing)}\n`)
  for (const why of failures) tell(`  ${why}\n`)
  if (options.json !== undefined)
    await writeResult(options.json, { command, environment: environment(loadBefore), rows })
  return rows.every(({ lost }) => lost === 0)
}

async function runCrowd(flags: readonly string[], command: string): Promise<boolean> {
  const options = readCrowdOptions(flags)
  const loadBefore = loadNow()
  const { row, failures } = await crowd(options, createProgress(process.stderr), stopping.signal)
  tell(`\n${crowdText(row)}\n`)
  for (const why of failures) tell(`  ${why}\n`)
  if (options.json !== undefined) {
    await writeResult(options.json, { command, environment: environment(loadBefore), rows: [row] })
  }
  return row.lost === 0
}

async function runFrames(flags: readonly string[], command: string): Promise<boolean> {
  const options = readFramesOptions(flags)
  const loadBefore = loadNow()
  const rows = frames(options, createProgress(process.stderr))
  tell(`\n${framesText(rows)}\n`)
  if (options.json !== undefined) {
    const alone = describeEnvironment({ browser: 'none', server: 'none: the parser alone', loadBefore })
    await writeResult(options.json, { command, environment: alone, rows })
  }
  return rows.every(({ damagePercent, sent, read }) => damagePercent > 0 || read === sent)
}

function environment(loadBefore: number) {
  return describeEnvironment({
    browser: 'none: load clients in a process of their own',
    server: 'a process for each mode and peer, on this machine, over loopback',
    loadBefore,
  })
}

async function writeResult(file: string, result: unknown): Promise<void> {
  await writeFile(file, `${JSON.stringify(result, null, 2)}\n`)
}

/** The first signal ends it in order, servers and clients with it; a second one ends it at once. */
function stop(): void {
  stopping.abort(new Error('stopped'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
}
