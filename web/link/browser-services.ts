// Browser services: timers, animation frames, Web Locks for liveness, lifecycle and network events.

import type { Cancel, Timers } from '../../server/wire/time.ts'
import { now } from '../transports/transport.ts'
import type { Link } from './link.ts'

export const browserTimers: Timers = {
  now,
  later(run, delayMs) {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}

/** Hidden and occluded windows get no animation frames. */
const withoutFramesMs = 100

interface FrameParts {
  readonly timers: Timers
  readonly request: (run: () => void) => number
  readonly cancel: (frame: number) => void
  readonly onFailure: (error: unknown) => void
}

/** One request to the browser for all that waits for the next animation frame: a request costs as much as drawing a letter. */
export function createFrames({ timers, request, cancel, onFailure }: FrameParts) {
  let waiting = new Set<() => void>()
  let frame: number | null = null
  let askedAt = 0
  let isWatched = false

  function runAll(): void {
    frame = null
    const running = waiting
    waiting = new Set()
    for (const run of running) {
      try {
        run()
      } catch (error) {
        onFailure(error)
      }
    }
  }

  /** Goes on after the frame: ending a timer costs more than letting it end. */
  function watch(): void {
    if (isWatched) return
    isWatched = true
    timers.later(
      () => {
        isWatched = false
        if (frame === null) return
        if (timers.now() < askedAt + withoutFramesMs) watch()
        else {
          cancel(frame)
          runAll()
        }
      },
      askedAt + withoutFramesMs - timers.now(),
    )
  }

  /** Runs it in the next frame, after what was given before it, or after 100 ms without a frame. */
  return function inNextFrame(run: () => void): Cancel {
    const one = () => run()
    const set = waiting.add(one)
    if (frame === null) {
      frame = request(runAll)
      askedAt = timers.now()
      watch()
    }
    return () => void set.delete(one)
  }
}

export const inNextFrame = createFrames({
  timers: browserTimers,
  request: (run) => requestAnimationFrame(run),
  cancel: (frame) => cancelAnimationFrame(frame),
  onFailure: (error) => reportError(error),
})

/**
 * Web Locks (W3C) show liveness: the browser frees a lock when its window or worker ends, even by a crash.
 * Ports and broadcast channels report no such end.
 */
export type Locks = Pick<LockManager, 'request'>

/** Never releases the lock. */
export function holdForLife(locks: Locks, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const held = () => {
      resolve()
      return new Promise<never>(() => undefined)
    }
    locks.request(name, held).catch(reject)
  })
}

export function onceFree(locks: Locks, name: string, signal: AbortSignal, onFree: () => void): void {
  // A shared lock wakes all waiters at once.
  locks.request(name, { mode: 'shared', signal }, onFree).catch((error) => {
    if (!signal.aborted) throw error
  })
}

/** Page Lifecycle (WICG), `pageshow`/`pagehide` (HTML 7.4.6) and `online` (HTML 8.10.1) events for a link. */
export function watchWakeUps(
  document: EventTarget & Pick<Document, 'visibilityState'>,
  window: EventTarget,
  link: Pick<Link, 'wake' | 'offline' | 'save' | 'rest' | 'hide'>,
): void {
  if (document.visibilityState !== 'visible') link.rest()
  window.addEventListener('online', () => link.wake('online'))
  window.addEventListener('offline', link.offline)
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') link.wake('visible')
    else {
      // On phones often the last event that a page receives.
      link.save()
      link.rest()
    }
  })
  document.addEventListener('freeze', link.save)
  document.addEventListener('resume', () => link.wake('resumed'))
  window.addEventListener('pageshow', (event) => {
    if ((event as PageTransitionEvent).persisted) link.wake('restored')
  })
  window.addEventListener('pagehide', () => {
    link.save()
    link.hide()
  })
}
