// Starts the wind sensor that the config names and publishes what it says.

import type { Random } from '../wire/random.ts'
import type { ReadingBody, SensorBody, SensorSource } from '../wire/reading.ts'
import type { Timers } from '../wire/time.ts'
import type { ByteSource } from './byte-source.ts'
import { openSimulator } from './device/simulator.ts'
import { createFrameSplitter, type Split } from './frames/frame-splitter.ts'
import type { createSerialPort } from './port/serial-line.ts'
import { openSerialPort } from './port/serial-port.ts'
import { watchSensor } from './sensor-state.ts'

/** Which sensor there is; the config's own words. */
export type Sensor =
  | { readonly source: 'simulated'; readonly rateHz: number }
  | { readonly source: 'serial'; readonly path: string; readonly baudRate: number }
  | { readonly source: 'none' }

export interface Publish {
  /** `at`: the host's stamp of the frame's first byte, ms since the epoch, with fractions. */
  reading(body: ReadingBody, at: number): void
  /** `at`: when the host noticed, ms since the epoch. */
  sensor(body: SensorBody, at: number): void
}

export interface SourceOpening {
  readonly sensor: Sensor
  readonly publish: Publish
  /** The simulated wind, or the jitter of a port's retries. */
  readonly random: Random
  readonly timers: Timers
  /** Without a good frame for this long a sensor is said to be silent or garbled; 3 s unless told. */
  readonly silentAfterMs?: number
  /** A stand-in for tests. */
  readonly createPort?: typeof createSerialPort
}

/**
 * Publishes every reading, repeats included, and the sensor's state whenever it changes. A silent, garbled or unplugged
 * sensor is a state, never an error. After `stop()` nothing is published.
 */
export function startSource(opening: SourceOpening): ByteSource {
  const { sensor } = opening
  if (sensor.source === 'simulated') return startSimulated(opening, sensor.rateHz)
  if (sensor.source === 'serial') return startSerial(opening, sensor)
  return { stop: async () => undefined }
}

function startSimulated({ publish, random, timers }: SourceOpening, rateHz: number): ByteSource {
  const splitter = createFrameSplitter()
  const sentence = 'Simulated wind: no sensor is attached.'
  return openSimulator({
    rateHz,
    timers,
    random,
    onOpen: () => publish.sensor({ source: 'simulated', state: 'connected', sentence }, timers.now()),
    onBytes(bytes, at) {
      for (const split of splitter.push(bytes, at)) publishReading(publish, 'simulated', split)
    },
    onClose: () => splitter.clear(),
  })
}

function startSerial(
  opening: SourceOpening,
  { path, baudRate }: { path: string; baudRate: number },
): ByteSource {
  const { publish, random, timers, silentAfterMs = 3000 } = opening
  const splitter = createFrameSplitter()
  const onChange = (body: SensorBody) => publish.sensor(body, timers.now())
  const watch = watchSensor({ path, baudRate, timers, silentAfterMs, onChange })
  const port = openSerialPort({
    path,
    baudRate,
    timers,
    random,
    ...(opening.createPort && { createPort: opening.createPort }),
    onOpen() {
      splitter.clear()
      watch.opened()
    },
    onBytes(bytes, at) {
      if (bytes.some(isNoLineEnd)) watch.noise(false)
      for (const split of splitter.push(bytes, at)) {
        if (split.kind === 'frame') watch.frame()
        else watch.noise(split.code === 'layout')
        publishReading(publish, 'serial', split)
      }
    },
    onClose: watch.closed,
  })
  return {
    stop() {
      watch.stop()
      return port.stop()
    },
  }
}

function publishReading(publish: Publish, source: SensorSource, split: Split): void {
  if (split.kind === 'frame') publish.reading({ source, ...split.reading }, split.at)
}

/** The line end that trails a good frame in a chunk of its own is no sign of garbage. */
function isNoLineEnd(byte: number): boolean {
  return byte !== 0x0d && byte !== 0x0a
}
