// Hands this process over to a program of the project: its output, its signals, its exit code.

import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { projectNode, root, toolEnvironment } from './project.mjs'
import { forwardSignals } from './signals.mjs'

/**
 * Runs the project's Node with these arguments until it ends. Resolves to its exit code; that of a program which
 * a signal ended is 128 and the signal's number, as in a shell. After `timeout` ms it is told to end.
 */
export function launch(args, { env = {}, stdio = 'inherit', timeout } = {}) {
  const child = spawn(projectNode, args, { cwd: root, env: toolEnvironment(env), stdio, timeout })
  const release = forwardSignals(child)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      release()
      resolve(signal === null ? code : 128 + constants.signals[signal])
    })
  })
}
