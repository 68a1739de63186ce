// What the wind sensor says, as windows receive it.

import type { WindUnit } from './wind/units.ts'

/** Where readings come from. A simulated one is said to be so wherever it is shown, and so is a recorded one. */
export type SensorSource = 'simulated' | 'serial' | 'recorded'

/** What a WindSonic can be told to send (commands M1 to M5 and M12 to M16, manual 1405-PS-0019). */
export type FrameFormat = 'polar' | 'uv' | 'nmea' | 'tunnel'

/** Along the sensor's axes, in the frame's own unit, with the signs as sent. */
export interface Axes {
  readonly u: number
  /** Null in a tunnel frame, which has one axis only. */
  readonly v: number | null
}

export interface ReadingBody {
  readonly source: SensorSource
  readonly format: FrameFormat
  /** What the checksum was made of: `Q,229,002.74,M,00,`, or `IIMWV,284,R,001.26,K,A`. */
  readonly raw: string
  /** Node letter, `A` to `Z`; null in a format that has none (NMEA). */
  readonly node: string | null
  /** Calm has a speed and no direction (never north); a fault has neither. */
  readonly state: 'measured' | 'calm' | 'fault'
  /** Where the wind comes from, 0 to below 360, relative to the sensor's north mark. Whole but where it was made of axes. */
  readonly directionDegrees: number | null
  /** In the frame's own unit, not negative. */
  readonly speed: number | null
  readonly unit: WindUnit
  readonly speedMetresPerSecond: number | null
  /** As sent, where a frame carries them; null in polar and NMEA frames and in a fault. */
  readonly axes: Axes | null
  /** Status field, `00` good; `A` or `V` in NMEA frames that say no more. */
  readonly status: string
}

/** How the sensor itself is doing; sent whenever it changes. */
export interface SensorBody {
  readonly source: SensorSource
  readonly state: 'connected' | 'silent' | 'garbled' | 'unplugged'
  /** One sentence for people: what is wrong and what is being done about it. */
  readonly sentence: string
}
