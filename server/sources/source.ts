// Starts the wind sensor that the config names and publishes what it says.

import { basename } from 'node:path'
import type { Random } from '../wire/random.ts'
import type { ReadingBody, SensorBody, SensorSource } from '../wire/reading.ts'
import type { Timers } from '../wire/time.ts'
import type { ByteSource } from './byte-source.ts'
import { openSimulator } from './device/simulator.ts'
import { createFrameSplitter, type Split } from './frames/frame-splitter.ts'
import type { createSerialPort } from './port/serial-line.ts'
import { openSerialSource } from './port/serial-source.ts'
import { openRecorded } from './recorded/recorded.ts'
import type { RecordedSensor, Sensor, SerialSensor, SimulatedSensor } from './sensor.ts'

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
  switch (sensor.source) {
    case 'simulated':
      return startSimulated(opening, sensor)
    case 'serial':
      return startSerial(opening, sensor)
    case 'recorded':
      return startRecorded(opening, sensor)
    case 'none':
      return { stop: async () => undefined }
  }
}

function startSimulated({ publish, random, timers }: SourceOpening, sensor: SimulatedSensor): ByteSource {
  const says = (body: Omit<SensorBody, 'source'>) =>
    publish.sensor({ source: 'simulated', ...body }, timers.now())
  return openSimulator({
    ...sensor,
    timers,
    random,
    onOpen: () => says({ state: 'connected', sentence: 'Simulated wind: no sensor is attached.' }),
    onBytes: createReader(publish, 'simulated'),
    onClose: ({ reason }) =>
      says({ state: 'unplugged', sentence: `The simulated wind has ended: ${reason}.` }),
  })
}

/** Windows are told the log's name, not where it is. */
function startRecorded(
  { publish, timers }: SourceOpening,
  { file, pace, rateHz }: RecordedSensor,
): ByteSource {
  const says = (body: Omit<SensorBody, 'source'>) =>
    publish.sensor({ source: 'recorded', ...body }, timers.now())
  const name = basename(file)
  const speed = pace === 1 ? 'at its own pace' : `${pace} times as fast`
  return openRecorded({
    path: file,
    pace,
    rateHz,
    timers,
    onOpen: () =>
      says({ state: 'connected', sentence: `Recorded wind, ${name} ${speed}: no sensor is attached.` }),
    onBytes: createReader(publish, 'recorded'),
    onClose({ reason }) {
      const why = reason.replaceAll(file, name)
      says({ state: 'unplugged', sentence: `The recorded wind has ended: ${why}.` })
    },
  })
}

/** What is played needs no watching: it comes, or it says why not. */
function createReader(publish: Publish, source: SensorSource) {
  const splitter = createFrameSplitter()
  return (bytes: Uint8Array, at: number): void => {
    for (const split of splitter.push(bytes, at)) publishReading(publish, source, split)
  }
}

function startSerial({ publish, ...opening }: SourceOpening, sensor: SerialSensor): ByteSource {
  return openSerialSource({
    parity: 'none',
    polling: null,
    ...opening,
    ...sensor,
    onFrame: (frame) => publishReading(publish, 'serial', frame),
    onState: (body) => publish.sensor(body, opening.timers.now()),
  })
}

function publishReading(publish: Publish, source: SensorSource, split: Split): void {
  if (split.kind === 'frame') publish.reading({ source, ...split.reading }, split.at)
}
