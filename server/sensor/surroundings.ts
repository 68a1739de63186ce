// What the sensor command works with, so that its tests need no terminal, no port and no real time.

import type { createSerialPort } from '../sources/port/serial-line.ts'
import type { Random } from '../wire/random.ts'
import type { Timers } from '../wire/time.ts'

/** A serial port as the operating system knows it; undefined is what it does not know. */
export interface ListedPort {
  readonly path: string
  readonly manufacturer?: string | undefined
  readonly serialNumber?: string | undefined
}

export interface Surroundings {
  /** One line, without its end. */
  readonly print: (line: string) => void
  readonly timers: Timers
  readonly random: Random
  readonly listPorts: () => Promise<readonly ListedPort[]>
  readonly createPort: typeof createSerialPort
  /** Somebody wants it to end: Ctrl-C. */
  readonly signal: AbortSignal
}
