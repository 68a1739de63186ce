// The line between sensor and host: as slow as its baud rate, and as troubled as the plan has it.

import type { Random } from '../../../wire/random.ts'
import type { Timers } from '../../../wire/time.ts'
import type { Trouble } from '../troubles.ts'
import { createDamage, type Noise } from './damage.ts'
import { createStall } from './stall.ts'
import { createUart } from './uart.ts'

export interface LineOpening {
  readonly timers: Timers
  readonly random: Random
  readonly troubles: readonly Trouble[]
  readonly noise: Noise
  /** How many bytes a host gets at once. */
  readonly pieceBytes: number
  onBytes(bytes: Uint8Array): void
}

export interface Line {
  /** The message has left at `endAt`, ms of the timers' clock, or as soon after as the line is free. */
  send(message: Uint8Array, endAt: number, byteMs: number): void
  /** When what was sent has left, ms of the timers' clock; not before now. */
  freeAt(): number
  stop(): void
}

/** Troubles count from now. */
export function openLine({ timers, random, troubles, noise, pieceBytes, onBytes }: LineOpening): Line {
  const startAt = timers.now()
  const damage = createDamage({ random, troubles, noise })
  const stall = createStall({ timers, troubles, startAt, onBytes })
  const uart = createUart({ timers, pieceBytes, onBytes: stall.take })
  return {
    send(message, endAt, byteMs) {
      const arriving = damage(message, (endAt - startAt) / 1000)
      if (arriving.length > 0) uart.send(arriving, endAt, message.length * byteMs)
    },
    freeAt: uart.freeAt,
    stop() {
      uart.stop()
      stall.stop()
    },
  }
}
