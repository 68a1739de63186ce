// What the wind sensor says, as windows receive it.

/** Where readings come from. A simulated one is said to be so wherever it is shown. */
export type SensorSource = 'simulated' | 'serial'

/** Units as sent by a WindSonic: m/s, knots, mph, km/h, ft/min (manual 1405-PS-0019). */
export type WindUnit = 'M' | 'N' | 'P' | 'K' | 'F'

export interface ReadingBody {
  readonly source: SensorSource
  /** The frame's text between STX and ETX, `Q,229,002.74,M,00,`. */
  readonly raw: string
  /** Node letter, `A` to `Z`. */
  readonly node: string
  /** Calm has a speed and no direction (never north); a fault has neither. */
  readonly state: 'measured' | 'calm' | 'fault'
  /** Where the wind comes from, 0 to 359, relative to the sensor's north mark. */
  readonly directionDegrees: number | null
  /** In the frame's own unit. */
  readonly speed: number | null
  readonly unit: WindUnit
  readonly speedMetresPerSecond: number | null
  /** Status field, `00` good. */
  readonly status: string
}

/** How the sensor itself is doing; sent whenever it changes. */
export interface SensorBody {
  readonly source: SensorSource
  readonly state: 'connected' | 'silent' | 'garbled' | 'unplugged'
  /** One sentence for people: what is wrong and what is being done about it. */
  readonly sentence: string
}
