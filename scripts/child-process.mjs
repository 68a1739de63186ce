// Starts child processes with the project's Node and tools. Runs on Node 18 and later.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { delimiter, join, resolve as resolvePath } from 'node:path'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'

const isWindows = process.platform === 'win32'

export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '')

const binFolder = join(root, 'node_modules', '.bin')

export const projectNode = isWindows ? join(root, 'node_modules/node/bin/node.exe') : join(binFolder, 'node')

export const tool = (name) => join(binFolder, isWindows ? `${name}.cmd` : name)

/**
 * Node's flags for a server, and for those that the lab compares with it. V8 marks the whole heap
 * whenever less of its limit is left than the young generation may need, and the limit grows with the
 * heap: a heap of 30 MB was marked after every 65 connections. A large page freed by one thread is
 * reused for a smaller object of another, and V8 counts only the object: during an attack it saw 230 of
 * the heap's 750 MB, and collected nothing. And V8 lets the heap grow to four times its need, with
 * memory that past connections have left.
 */
export const serverFlags = [
  '--initial-old-space-size=128',
  '--no-large-page-pool',
  '--heap-growing-percent=70',
]

/**
 * Environment for the same. glibc takes blocks above a threshold from the kernel and returns them,
 * but raises the threshold to the largest block freed so far, up to 32 MB (mallopt(3)): the holes
 * that large documents left behind were 200 MB. This is the threshold that glibc begins with.
 */
export const serverEnvironment = { MALLOC_MMAP_THRESHOLD_: '131072' }

/** The project's Node comes first in PATH. */
function toolEnvironment(extra = {}) {
  return { ...outerEnvironment(), PATH: [binFolder, ...outerPath()].join(delimiter), ...extra }
}

/** Excludes the project's tools, for the npm that replaces them. */
export function outerEnvironment() {
  const others = Object.entries(process.env).filter(([name]) => name.toUpperCase() !== 'PATH')
  return { ...Object.fromEntries(others), PATH: outerPath().join(delimiter) }
}

/** PATH without node_modules/.bin, which npm adds for its scripts. */
export function outerPath() {
  const ours = (folder) => resolvePath(folder).endsWith(join('node_modules', '.bin'))
  return (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '' && !ours(folder))
}

/** A sentence for people, and the failed tool's output. */
export class StepFailure extends Error {
  constructor(sentence, output = '') {
    super(sentence)
    this.output = output
  }
}

export function showFailure({ message, output }) {
  process.stderr.write(`${[output.trim(), message].filter((text) => text !== '').join('\n\n')}\n`)
}

/** Prints `name` and the seconds that `work` took. */
export async function step(name, work) {
  process.stdout.write(`  ${name} … `)
  const startedAt = performance.now()
  const took = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`
  try {
    await work()
    process.stdout.write(`${took()}\n`)
  } catch (error) {
    process.stdout.write(`failed after ${took()}\n`)
    throw error
  }
}

/** Continues when `| head` closes the pipe or the disk is full. */
export function goOnWithoutOutput() {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
}

/** Runs silently; `sentence` describes a failure. Rejects with StepFailure. */
export async function runTool(command, args, { sentence, env = toolEnvironment() }) {
  // Windows needs a shell for .cmd files.
  const child = spawn(command, args, {
    cwd: root,
    env,
    shell: isWindows,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const chunks = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk))
  const [code, signal] = await endOf(child).catch((error) => {
    throw new StepFailure(sentence, `${command}: ${error.message}`)
  })
  if (code === 0) return
  throw new StepFailure(
    signal === null ? sentence : `Stopped by ${signal}.`,
    Buffer.concat(chunks).toString(),
  )
}

/**
 * Resolves to the exit code: 128 plus the signal's number after a signal, as in a shell. `timeout`
 * is in ms.
 */
export async function launch(args, { env = {}, stdio = 'inherit', timeout } = {}) {
  const child = spawn(projectNode, args, { cwd: root, env: toolEnvironment(env), stdio, timeout })
  const [code, signal] = await endOf(child)
  return signal === null ? code : 128 + constants.signals[signal]
}

/** Waits for the child. Until then, SIGINT, SIGHUP and SIGTERM end the child, not this process. */
export async function endOf(child) {
  const release = forwardSignals(child)
  try {
    return await once(child, 'close')
  } finally {
    release()
  }
}

/** npm repeats signals to children that may already have received them. */
const repeatMs = 500
const parentPollMs = 500

const isInTerminal = () => [0, 1, 2].some((descriptor) => isatty(descriptor))

/**
 * Forwards signals until the returned function is called. On Ctrl-C or closing, a terminal signals
 * the whole process group, including the child.
 */
export function forwardSignals(child, { hasTerminal = isInTerminal(), now = () => performance.now() } = {}) {
  const lastAt = {}
  const forward = (signal) => {
    const isRepeated = now() - lastAt[signal] < repeatMs
    lastAt[signal] = now()
    if (!isRepeated) child.kill(signal)
  }
  /** Any listener keeps this process alive until its child ends. */
  const ignore = () => undefined
  const listeners = Object.entries({
    SIGTERM: forward,
    SIGINT: hasTerminal ? ignore : forward,
    SIGHUP: hasTerminal ? ignore : forward,
  })
  for (const [signal, listener] of listeners) process.on(signal, listener)
  // The shell below npm forwards no signals: if npm is terminated, only the parent process id
  // changes.
  const parent = process.ppid
  const watch = () => {
    if (process.ppid === parent) return
    clearInterval(timer)
    forward('SIGTERM')
  }
  const timer = process.env.npm_lifecycle_event && setInterval(watch, parentPollMs).unref()
  return () => {
    clearInterval(timer)
    for (const [signal, listener] of listeners) process.off(signal, listener)
  }
}
