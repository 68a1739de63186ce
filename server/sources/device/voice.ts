// What a WindSonic says, at the speed of its line: frames and words.

import type { Random } from '../../wire/random.ts'
import { createSeededRandom } from '../../wire/random.ts'
import type { Timers } from '../../wire/time.ts'
import type { Noise } from './line/damage.ts'
import { openLine } from './line/line.ts'
import { createSensing } from './sensing.ts'
import type { Setup } from './setup.ts'
import { checkTroubles, type Trouble } from './troubles.ts'
import type { WindStrength } from './wind/wind-model.ts'

/** In which wind, with which troubles. */
export interface VoiceOptions {
  /** A breeze unless told. */
  readonly strength?: WindStrength
  readonly troubles?: readonly Trouble[]
  readonly noise?: Noise
}

export interface VoiceOpening extends VoiceOptions {
  readonly setup: Setup
  readonly timers: Timers
  readonly random: Random
  /** How many bytes a host gets at once. */
  readonly pieceBytes: number
  onBytes(bytes: Uint8Array): void
}

export interface Voice {
  /** A frame of the wind of now, which blew on for so many seconds; it has left at `dueAt`, or as soon as can be. */
  frame(afterSeconds: number, dueAt?: number): void
  /** Lines with CR LF. `byteMs` where the setup has changed since. */
  say(lines: readonly string[], byteMs?: number): void
  /** When all of it has left, ms of the timers' clock; not before now. */
  freeAt(): number
  stop(): void
}

/** Throws a RangeError that names a trouble or a noise which cannot be had. */
export function createVoice(opening: VoiceOpening): Voice {
  const { setup, timers, random, troubles = [], noise = {}, strength = 'breeze' } = opening
  checkTroubles(troubles)
  const startAt = timers.now()
  const sensing = createSensing({ random: fork(random), strength, troubles })
  const line = openLine({ ...opening, random: fork(random), troubles, noise })

  function sendNow(message: Uint8Array, byteMs: number): void {
    line.send(message, timers.now() + message.length * byteMs, byteMs)
  }

  return {
    frame(afterSeconds, dueAt) {
      sensing.pass(afterSeconds)
      const seconds = ((dueAt ?? timers.now()) - startAt) / 1000
      const frame = sensing.frame(setup.settings, seconds)
      if (dueAt === undefined) sendNow(frame, setup.byteMs)
      else line.send(frame, dueAt, setup.byteMs)
    },
    say(lines, byteMs = setup.byteMs) {
      sendNow(Buffer.from(lines.map((text) => `${text}\r\n`).join(''), 'latin1'), byteMs)
    },
    freeAt: line.freeAt,
    stop: line.stop,
  }
}

/** A stream of its own, so that draws from one change no other. */
function fork(random: Random): Random {
  return createSeededRandom(Math.floor(random() * 2 ** 32))
}
