// Names the machine's run, so that a log can tell a killed process from a machine that went down.

import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import type { Clock } from '../wire/time.ts'

/** A clock that is set while the machine runs moves the computed start; within this it counts as the same. */
const roundingSeconds = 10

/** Linux says it (random(4), boot_id); elsewhere the time of the start stands for it. */
export function readBootId(now: Clock): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return startedAt(now() / 1000, uptime())
  }
}

/** A wrong answer errs towards "another run", which costs windows a snapshot and nothing else. */
export function startedAt(nowSeconds: number, uptimeSeconds: number): string {
  const start = Math.round((nowSeconds - uptimeSeconds) / roundingSeconds) * roundingSeconds
  return `started ${start}`
}
