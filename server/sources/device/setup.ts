// How a WindSonic is set up right now, and how fast that makes it.

import { type Answer, answer } from './configuration.ts'
import { byteMsOf, longestFrameBytes, rateOf, rateSetting } from './meaning.ts'
import { changed, readSettings, type Settings } from './settings.ts'

export interface SetupOptions {
  /** Settings as they are typed in configuration mode, parted by spaces: `"M5 U2 P3"`. The factory's where not named. */
  readonly configuration?: string
  /** Frames a second in place of P, until a P is typed; the line is then as fast as they need. */
  readonly rateHz?: number
}

export interface Setup {
  readonly settings: Settings
  /** Frames a second. */
  readonly rateHz: number
  /** How long a byte takes on the line. */
  readonly byteMs: number
  /** Answers a command, which is in force from then on. */
  obey(command: string): Answer
}

/** How much of the line frames take at a rate that no sensor has. */
const highestLoad = 0.9

/** Throws a RangeError on a rate that is not positive, an Error on settings that no WindSonic has. */
export function createSetup({ configuration = '', rateHz }: SetupOptions): Setup {
  if (rateHz !== undefined && !(rateHz > 0 && Number.isFinite(rateHz)))
    throw new RangeError(`The rate must be positive, in Hz: ${rateHz}`)
  const setting = rateHz === undefined ? null : rateSetting(rateHz)
  let settings = readSettings(`${configuration} ${setting ?? ''}`)
  let foreignHz = setting === null ? rateHz : undefined

  return {
    get settings() {
      return settings
    },
    get rateHz() {
      return foreignHz ?? rateOf(settings)
    },
    get byteMs() {
      const neededMs =
        foreignHz === undefined ? Infinity : (1000 * highestLoad) / (longestFrameBytes * foreignHz)
      return Math.min(byteMsOf(settings), neededMs)
    },
    obey(command) {
      const answered = answer(command, settings)
      const isRate = command.startsWith('P') && changed(settings, command) !== null
      if (isRate) foreignHz = undefined
      settings = answered.settings
      return answered
    },
  }
}
