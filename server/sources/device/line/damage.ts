// Spoils messages on their way, as lines in the field do.

import type { Random } from '../../../wire/random.ts'
import { misread } from '../misread.ts'
import { lasting, type Trouble } from '../troubles.ts'

/** Which share of the messages is hit at random, each 0 to 1; whichever comes first here hits alone. */
export interface Noise {
  readonly cut?: number
  readonly shifted?: number
  readonly flipped?: number
}

export type Spoil = (message: Uint8Array, random: Random) => Uint8Array

const spoils: ReadonlyArray<readonly [keyof Noise, Spoil]> = [
  ['cut', cut],
  ['shifted', shift],
  ['flipped', flip],
]

/** A host at 38400 that listens to a sensor at 9600, the commonest mistake. */
const wrongBaud = { startBits: 0, ratio: 4 }

export interface DamageOpening {
  readonly random: Random
  readonly troubles: readonly Trouble[]
  readonly noise: Noise
}

/**
 * Returns what arrives of a message that was sent so many seconds after the start; nothing in a silence. Throws a
 * RangeError on a share of noise outside 0 to 1.
 */
export function createDamage({ random, troubles, noise }: DamageOpening) {
  for (const [name, share = 0] of Object.entries(noise)) {
    if (!(share >= 0 && share <= 1)) throw new RangeError(`A share of noise is 0 to 1: ${name} is ${share}.`)
  }
  return (message: Uint8Array, seconds: number): Uint8Array => {
    if (lasting(troubles, 'silence', seconds)) return new Uint8Array()
    if (lasting(troubles, 'wrong-baud', seconds)) return misread(message, wrongBaud)
    const hit = spoils.find(([kind]) => lasting(troubles, kind, seconds) || isHit(noise[kind]))
    return hit ? hit[1](message, random) : message
  }

  function isHit(share = 0): boolean {
    return share > 0 && random() < share
  }
}

/** Loses some bytes in a row, one at least. */
function cut(message: Uint8Array, random: Random): Uint8Array {
  const from = below(random, message.length)
  const to = from + 1 + below(random, message.length - from)
  return Uint8Array.from([...message.subarray(0, from), ...message.subarray(to)])
}

/** Is heard from the middle of a character on. */
function shift(message: Uint8Array, random: Random): Uint8Array {
  return misread(message, { startBits: 10 * below(random, 8) + 1 + below(random, 8), ratio: 1 })
}

/** One to three bytes have one bit wrong. */
function flip(message: Uint8Array, random: Random): Uint8Array {
  const flipped = Uint8Array.from(message)
  for (let left = 1 + below(random, 3); left > 0; left--) {
    const at = below(random, message.length)
    flipped[at] = (flipped[at] ?? 0) ^ (1 << below(random, 8))
  }
  return flipped
}

function below(random: Random, end: number): number {
  return Math.floor(random() * end)
}
