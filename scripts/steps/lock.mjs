// Lets one command at a time install or build in this folder; the others wait for it.

import { createHash } from 'node:crypto'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from './project.mjs'

const pollMs = 200
/** No installation takes this long: its process is another one that was given the same number. */
const staleMs = 30 * 60 * 1000

/** The lock's file, outside the project because `npm ci` empties node_modules. */
export const lockFile = join(
  tmpdir(),
  `crosswind-${createHash('sha256').update(root).digest('hex').slice(0, 16)}.lock`,
)

/** Does the work while no other process does its own. */
export async function exclusively(work) {
  if (!take()) await waitForTurn()
  process.on('exit', release)
  try {
    return await work()
  } finally {
    process.off('exit', release)
    release()
  }
}

async function waitForTurn() {
  process.stdout.write('  waiting for another Crosswind command to finish …\n')
  while (!take()) await delay(pollMs)
}

function take() {
  try {
    writeFileSync(lockFile, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    if (isAbandoned()) release()
    return false
  }
}

function release() {
  rmSync(lockFile, { force: true })
}

function isAbandoned() {
  try {
    const owner = Number(readFileSync(lockFile, 'utf8'))
    const isOld = Date.now() - statSync(lockFile).mtimeMs > staleMs
    return isOld || (owner > 0 && !isAlive(owner))
  } catch (error) {
    // Its owner has just let go of it.
    if (error.code === 'ENOENT') return false
    throw error
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}
