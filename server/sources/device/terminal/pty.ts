// A pseudo-terminal that can be opened once, or again at once after it was closed.

import { nothingPlanned, type Timers } from '../../../wire/time.ts'
import { type SocatOpening, startSocat } from './socat.ts'

export interface PtyOpening {
  readonly timers: Timers
  /** What whoever has the device open writes. */
  onInput(bytes: Uint8Array): void
  /** The device was opened and is closed for good, or socat is gone: it is of no use any more. Comes once. */
  onEnd(): void
  /** A stand-in for tests. */
  readonly start?: typeof startSocat
}

export interface Pty {
  /** Such as `/dev/pts/3`. */
  readonly device: string
  /** Lost while nobody has the device open, and where the reader is too slow, as on a line without flow control. */
  write(bytes: Uint8Array): void
  /** Resolves when nothing is left of it; `onEnd` does not come any more. */
  stop(): Promise<void>
}

/** A host that changes its baud rate closes the device and opens it again: so often and so long it is looked out for. */
const looks = 5
const lookMs = 30
/** By then it has to say something, since socat waits for that before it passes anything on. */
const patienceMs = 1000

/**
 * Rejects where socat is missing or makes no terminal. What is written before the device is opened is lost, so that
 * nobody is given stale bytes; hence a closed one cannot be kept, since only writing to it would show that it is open. It
 * can be opened again at once by a host that then says something, as one does that configures; any other is hung up on.
 */
export async function openPty({ timers, onInput, onEnd, start = startSocat }: PtyOpening): Promise<Pty> {
  const made = Promise.withResolvers<string>()
  const ended = Promise.withResolvers<void>()
  let state: 'unmade' | 'waiting' | 'open' | 'closed' | 'over' = 'unmade'
  let isOpenAgain = false
  let cancel = nothingPlanned

  function end(): void {
    const isNews = state !== 'unmade' && state !== 'over'
    state = 'over'
    cancel()
    socat.kill()
    if (isNews) onEnd()
  }

  /** Writes a line end, which no reader minds, and sees whether socat complains. */
  function look(left: number): void {
    isOpenAgain = true
    socat.write('\n')
    cancel = timers.later(() => {
      if (isOpenAgain) cancel = timers.later(end, patienceMs)
      else if (left > 1) look(left - 1)
      else end()
    }, lookMs)
  }

  const hears: SocatOpening = {
    onMade(device) {
      state = 'waiting'
      made.resolve(device)
    },
    onOpened() {
      state = 'open'
    },
    onClosed() {
      isOpenAgain = false
      if (state !== 'open') return
      state = 'closed'
      look(looks)
    },
    onInput(bytes) {
      if (state === 'over') return
      cancel()
      state = 'open'
      onInput(bytes)
    },
    onEnd(error) {
      made.reject(error)
      ended.resolve()
      end()
    },
  }
  const socat = start(hears)
  return {
    device: await made.promise,
    write(bytes) {
      if (state === 'open' && !socat.isFull) socat.write(bytes)
    },
    stop() {
      state = 'over'
      end()
      return ended.promise
    },
  }
}
