// What a sensor measures, and how it is. Types alone, for those who show it.

import type { WindUnit } from './wind-units.ts'

/** WindSonic formats (commands M1 to M5 and M12 to M16, manual 1405-PS-0019). */
export type FrameFormat = 'polar' | 'uv' | 'nmea' | 'tunnel'

export interface Axes {
  readonly u: number
  readonly v: number | null
}

/** What a frame says. */
export interface FrameReading {
  readonly format: FrameFormat
  /** The checksummed text: `Q,229,002.74,M,00,`, or `IIMWV,284,R,001.26,K,A`. */
  readonly raw: string
  readonly node: string | null
  readonly state: 'measured' | 'calm' | 'fault'
  /** An integer unless computed from axes. */
  readonly directionDegrees: number | null
  /** In `unit`, not negative. */
  readonly speed: number | null
  readonly unit: WindUnit
  readonly speedMetresPerSecond: number | null
  readonly axes: Axes | null
  readonly status: string
}

export interface SensorHealth {
  readonly state: 'connected' | 'silent' | 'garbled' | 'unplugged'
  readonly sentence: string
  readonly note?: string
}
