// Which sensor there is, as the configuration names it.

import { resolve } from 'node:path'
import type { Config } from '../config/config.ts'
import type { WindStrength } from './device/wind/wind-model.ts'
import type { Polling } from './port/polling.ts'
import type { Parity } from './port/serial-line.ts'

export type Sensor = SimulatedSensor | SerialSensor | RecordedSensor | { readonly source: 'none' }

export interface SimulatedSensor {
  readonly source: 'simulated'
  readonly rateHz: number
  /** A breeze unless told. */
  readonly strength?: WindStrength
}

export interface SerialSensor {
  readonly source: 'serial'
  readonly path: string
  readonly baudRate: number
  /** `none` unless told. */
  readonly parity?: Parity
  /** How a polled sensor is asked. Without it the port is never written to. */
  readonly polling?: Polling | null
}

export interface RecordedSensor {
  readonly source: 'recorded'
  readonly file: string
  /** 1 is the log's own, 10 is ten times as fast. */
  readonly pace: number
  /** Of a log without times, readings a second. */
  readonly rateHz: number
}

/** Of a configuration that was checked. A relative path of a log is taken from `root`; that of a port may be no file. */
export function sensorIn({ sensor }: Pick<Config, 'sensor'>, root: string): Sensor {
  const { source, path, file, mode, node, rateHz } = sensor
  const { baudRate, parity, strength, pace } = sensor
  const polling = mode === 'polled' ? { node, rateHz } : null
  switch (source) {
    case 'simulated':
      return { source, rateHz, strength }
    case 'serial':
      return { source, path: path ?? '', baudRate, parity, polling }
    case 'recorded':
      return { source, file: resolve(root, file ?? ''), pace, rateHz }
    case 'none':
      return { source }
  }
}
