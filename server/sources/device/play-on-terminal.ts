// Plays a WindSonic on a pseudo-terminal, so that a real serial port can be opened without the hardware.

import type { Random } from '../../wire/random.ts'
import type { Timers } from '../../wire/time.ts'
import { openTerminal } from './terminal/terminal.ts'
import { createWindSonic, type DeviceOptions } from './windsonic.ts'

export interface TerminalPlay {
  /** Where the link to the pseudo-terminal stands, such as /tmp/windsonic. */
  readonly path: string
  /** The factory's settings in a breeze, without trouble, unless told. */
  readonly device?: DeviceOptions
  readonly timers: Timers
  readonly random: Random
  /** Ends it. */
  readonly signal: AbortSignal
}

export interface Playing {
  /**
   * Resolves when the signal has ended it and the link is gone; rejects when no terminal can be made any more.
   */
  readonly ended: Promise<void>
}

/** The buffer of a 16550, the chip of ordinary serial ports. */
const portBufferBytes = 16

/**
 * Resolves when the path can be opened. The sensor is powered up now, and goes on measuring whether or not anybody has the
 * path open; what it says meanwhile is lost. Any baud rate reads it. Rejects with an Error for people where socat is
 * missing, or the path belongs to something else, or an option is none of a WindSonic.
 */
export async function playOnTerminal(play: TerminalPlay): Promise<Playing> {
  const { path, device: options = {}, timers, random, signal } = play
  const failed = Promise.withResolvers<never>()
  const sensor = createWindSonic({
    ...options,
    timers,
    random,
    isPoweredUp: true,
    pieceBytes: portBufferBytes,
    onBytes: (bytes) => terminal?.write(bytes),
  })
  let terminal: Awaited<ReturnType<typeof openTerminal>> | null = null
  try {
    terminal = await openTerminal({ path, timers, onInput: sensor.write, onFailure: failed.reject })
  } catch (error) {
    sensor.stop()
    throw error
  }
  return { ended: untilAborted(signal, failed.promise, [sensor.stop, terminal.close]) }
}

async function untilAborted(signal: AbortSignal, failed: Promise<never>, end: ReadonlyArray<() => unknown>) {
  const aborted = Promise.withResolvers<void>()
  const abort = () => aborted.resolve()
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    await Promise.race([aborted.promise, failed])
  } finally {
    signal.removeEventListener('abort', abort)
    for (const step of end) await step()
  }
}
