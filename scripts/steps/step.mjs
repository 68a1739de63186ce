// A step of a command: says what it does and how long it took, and shows a tool's output only when it failed.

import { spawn } from 'node:child_process'
import { root, toolEnvironment } from './project.mjs'
import { forwardSignals } from './signals.mjs'

/** A step that cannot be done: one sentence for people, and the output of the tool that said so. */
export class StepFailure extends Error {
  constructor(sentence, output = '') {
    super(sentence)
    this.output = output
  }
}

/** Runs a command's work, which answers the exit code. A failed step is shown and makes it 1; other errors go through. */
export async function main(work) {
  try {
    process.exitCode = await work()
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error
    showFailure(error)
    process.exitCode = 1
  }
}

/** Shows what a tool had to say, and the sentence. */
export function showFailure({ message, output }) {
  process.stderr.write(`${[output.trim(), message].filter((text) => text !== '').join('\n\n')}\n`)
}

/** Says `name`, does the work, adds the seconds it took. */
export async function step(name, work) {
  process.stdout.write(`  ${name} … `)
  const startedAt = performance.now()
  const took = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`
  try {
    const result = await work()
    process.stdout.write(`${took()}\n`)
    return result
  } catch (error) {
    process.stdout.write(`failed after ${took()}\n`)
    throw error
  }
}

/**
 * Runs a tool silently; `sentence` says what its failure means. Resolves to its output.
 * A signal that ends this process ends the tool first.
 */
export function run(command, args, { sentence, env = toolEnvironment(), cwd = root }) {
  return new Promise((resolve, reject) => {
    // Windows starts .cmd files through a shell only.
    const shell = process.platform === 'win32'
    const child = spawn(command, args, { cwd, env, shell, stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk))
    const output = () => Buffer.concat(chunks).toString()
    const release = forwardSignals(child)
    child.once('error', (error) => {
      release()
      reject(new StepFailure(sentence, `${command}: ${error.message}`))
    })
    child.once('close', (code, signal) => {
      release()
      if (code === 0) resolve(output())
      else reject(new StepFailure(signal === null ? sentence : `Stopped by ${signal}.`, output()))
    })
  })
}
