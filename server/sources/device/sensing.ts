// What the sensor head does: feels the wind and makes a frame of it.

import type { Random } from '../../wire/random.ts'
import { writeFrame } from '../frames/write-frame.ts'
import { messageOf } from './meaning.ts'
import { createMeasure } from './measurement.ts'
import type { Settings } from './settings.ts'
import { statusAt, type Trouble } from './troubles.ts'
import { createWind, type WindStrength } from './wind/wind-model.ts'

export interface SensingOpening {
  readonly random: Random
  readonly strength: WindStrength
  readonly troubles: readonly Trouble[]
}

export interface Sensing {
  /** Lets the wind blow on; after 0 s it is the same. */
  pass(seconds: number): void
  /** The wind of now as a frame; `seconds` after the start, for the troubles. */
  frame(settings: Settings, seconds: number): Uint8Array
}

export function createSensing({ random, strength, troubles }: SensingOpening): Sensing {
  const blow = createWind({ random, strength })
  const measure = createMeasure()
  let wind = blow(0)
  return {
    pass(seconds) {
      if (seconds > 0) wind = blow(seconds)
    },
    frame: (settings, seconds) =>
      writeFrame(measure(wind, statusAt(troubles, seconds), settings), messageOf(settings)),
  }
}
