// A disk that fills soon, for tests and the lab.

import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'

/** Mounts a small disk over the folder; null if this user may not mount one. */
export function mountSmallDisk(folder: string, bytes: number) {
  mkdirSync(folder, { recursive: true })
  const options = ['-t', 'tmpfs', '-o', `size=${bytes}`, 'crosswind-test', folder]
  if (spawnSync('mount', options).status !== 0) return null
  return { [Symbol.dispose]: () => void spawnSync('umount', [folder]) }
}
