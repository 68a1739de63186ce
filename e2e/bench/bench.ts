// Entry point of the bench: `npm run bench -- BENCH [flags]`.

import { writeFile } from 'node:fs/promises'
import { leaveWhenDone } from '../../server/process.ts'
import { describeEnvironment, loadNow } from '../lab/run-environment.ts'
import { Progress } from '../lab/terminal-output.ts'
import { crowdBench } from './crowd-bench.ts'
import { editorBench } from './editor-bench.ts'
import { fanoutBench, messageBench } from './fanout-bench.ts'
import { framesBench } from './frames-bench.ts'
import { scalingBench } from './scaling-bench.ts'
import { stagesBench } from './stages-bench.ts'

const help = `npm run bench -- BENCH [flags]

  fanout   the server's processor time per delivered message, for each mode and for bare relays
  message  what one message costs the server, beside bare relays
  crowd    memory, load and latency with ten thousand windows at one server process
  scaling  what a million windows need, from what one costs, and whether the model agrees with measurements
  frames   processor time per frame of a wind sensor
  stages   what the stamps of the lab's stages add to the time of a message
  editor   what a keystroke costs both editors in Chromium, and opening a document with a long history

  npm run bench -- fanout --help lists its flags.
`

const overLoopback = {
  browser: 'none: load clients in a process of their own',
  server: 'a process for each mode and peer, on this machine, over loopback',
}

/** Each rejects a wrong flag before anything starts. */
const benches = {
  fanout: { ...fanoutBench, ...overLoopback },
  message: { ...messageBench, ...overLoopback },
  crowd: { ...crowdBench, ...overLoopback },
  scaling: { ...scalingBench, ...overLoopback },
  editor: { ...editorBench, browser: 'Chromium', server: overLoopback.server },
  frames: { ...framesBench, browser: 'none', server: 'none: the parser alone' },
  stages: { ...stagesBench, ...overLoopback },
}

leaveWhenDone()
const progress = new Progress(process.stderr)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
try {
  await run(process.argv.slice(2))
} catch (error) {
  const isStopped = stopping.signal.aborted
  console.error(isStopped ? '\n  Stopped.' : `\n  ${error instanceof Error ? error.message : error}`)
  process.exitCode = isStopped ? 130 : 1
}

async function run([name, ...flags]: readonly string[]): Promise<void> {
  if (name === undefined || wantsHelp([name])) return void process.stdout.write(help)
  if (!isBench(name))
    throw new Error(
      `There is no bench "${name}"; there are ${new Intl.ListFormat('en-GB').format(Object.keys(benches))}.`,
    )
  const bench = benches[name]
  if (wantsHelp(flags)) return void process.stdout.write(bench.help)
  const loadBefore = loadNow()
  const result = await bench.run(flags, showStep, stopping.signal)
  const { text, failures, rows, isComplete, json } = result
  progress.clear()
  process.stdout.write(`\n${[text, ...failures.map((why) => `  ${why}`)].join('\n')}\n`)
  if (json !== undefined) {
    const command = ['npm run bench --', name, ...flags].join(' ')
    const { browser, server } = { ...bench, ...result }
    const environment = describeEnvironment({ browser, server, loadBefore })
    await writeFile(json, `${JSON.stringify({ command, environment, rows }, null, 2)}\n`)
  }
  process.exitCode = isComplete ? 0 : 1
}

function isBench(name: string): name is keyof typeof benches {
  return Object.hasOwn(benches, name)
}

function wantsHelp(words: readonly string[]): boolean {
  return words.some((word) => word === '--help' || word === '-h')
}

/** Nothing elsewhere than on a terminal. */
function showStep(step: string): void {
  if (progress.isTerminal) progress.update(step)
}

/** The first signal stops servers and clients in order; the second exits at once. */
function stop(): void {
  stopping.abort(new Error('stopped'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
}
