// Notices that a port's device is gone when its driver does not say so.

import { statSync } from 'node:fs'
import { type Cancel, nothingPlanned, type Timers } from '../../wire/time.ts'

const checkEveryMs = 1000

/** What a path leads to right now, or null where there is nothing or where paths are no files (COM3). */
export type Identify = (path: string) => string | null

/** The device behind a path, links followed. Its change time tells a new terminal from an old one of the same number. */
export const identifyDevice: Identify = (path) => {
  try {
    const { dev, ino, rdev, ctimeMs } = statSync(path)
    return `${dev}:${ino}:${rdev}:${ctimeMs}`
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
