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
const lockFile = join(
  tmpdir(),
  `crosswind-${createHash('sha256').update(root).digest('hex').slice(0, 16)}.lock`,
)

/** Does the work while no other process that takes the same lock does its own. */
export async function exclusively(work, file = lockFile) {
  if (!take(file)) await waitForTurn(file)
  const release = () => rmSync(file, { force: true })
  process.on('exit', release)
  try {
    return await work()
  } finally {
    process.off('exit', release)
    release()
  }
}

async function waitForTurn(file) {
  process.stdout.write('  waiting for another Crosswind command to finish …\n')
  while (!take(file)) await delay(pollMs)
}

function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    if (!isAbandoned(file)) return false
    rmSync(file, { force: true })
    return take(file)
  }
}

function isAbandoned(file) {
  try {
    const owner = Number(readFileSync(file, 'utf8'))
    const isOld = Date.now() - statSync(file).mtimeMs > staleMs
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
