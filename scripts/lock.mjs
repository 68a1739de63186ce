// A lock between processes: a file that names its owner. Runs on Node 18 and later.

import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const pollMs = 100

/**
 * Serializes `work` across processes. A lock counts as abandoned if its owner is gone, or after
 * `staleMs`, because the process id may have been reused. Rejects if `file` cannot be written.
 */
export async function exclusively(file, work, { staleMs, onWait }) {
  if (!takeLock(file, staleMs)) {
    onWait?.()
    while (!takeLock(file, staleMs)) await delay(pollMs)
  }
  const release = () => rmSync(file, { force: true })
  process.on('exit', release)
  try {
    return await work()
  } finally {
    process.off('exit', release)
    release()
  }
}

function takeLock(file, staleMs) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
  // Removal needs a lock too: a slower process would remove a faster one's new lock.
  const removal = `${file}.removal`
  if (!isAbandoned(file, staleMs) || !takeLock(removal, staleMs)) return false
  if (isAbandoned(file, staleMs)) rmSync(file)
  rmSync(removal)
  return takeLock(file, staleMs)
}

function isAbandoned(file, staleMs) {
  try {
    const owner = Number(readFileSync(file, 'utf8'))
    return Date.now() - statSync(file).mtimeMs > staleMs || (owner > 0 && !isAlive(owner))
  } catch (error) {
    // The owner has just released the lock.
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
