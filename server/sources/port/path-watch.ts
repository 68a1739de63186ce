// Notices that a port's device is gone when its driver does not say so.

import { realpathSync, statSync } from 'node:fs'
import { type Cancel, nothingPlanned, type Timers } from '../../wire/time.ts'

const checkEveryMs = 1000

/** What a path leads to right now, or null where there is nothing or where paths are no files (COM3). */
export type Identify = (path: string) => string | null

/**
 * The device behind a path, links followed. A port that is plugged in anew has a new inode, whatever becomes of its owner
 * and mode meanwhile. A pseudo-terminal has its number for one (devpts), so that only its change time tells a new one.
 */
export const identifyDevice: Identify = (path) => {
  try {
    const { dev, ino, rdev, ctimeMs } = statSync(path)
    const isPseudo = realpathSync(path).startsWith('/dev/pts/')
    return `${dev}:${ino}:${rdev}${isPseudo ? `:${ctimeMs}` : ''}`
  } catch {
    return null
  }
}

interface PathWatch {
  readonly path: string
  readonly timers: Timers
  readonly identify: Identify
  readonly onGone: () => void
}

/**
 * Looks once a second and calls `onGone` once when the path is missing or leads to another device. Needed because
 * serialport 13 on Linux does not close when an unplugged device reads as empty: it reads again, for ever, and grows
 * (serialport/bindings-cpp, issue 162). Closing the port ends that loop.
 */
export function watchPath({ path, timers, identify, onGone }: PathWatch): Cancel {
  const opened = identify(path)
  if (opened === null) return nothingPlanned
  let cancel = timers.later(check, checkEveryMs)
  function check(): void {
    if (identify(path) !== opened) onGone()
    else cancel = timers.later(check, checkEveryMs)
  }
  return () => cancel()
}
