// Starts the configured wind source and publishes its readings and the sensor's state.

import { basename, resolve } from 'node:path'
import type { Bodies } from '../protocol/messages.ts'
import type { Random, Timers } from '../protocol/time.ts'
import { createFrameSplitter, type Split } from '../sensor/frame-splitter.ts'
import type { FrameReading, SensorHealth } from '../sensor/readings.ts'
import { openRecorded } from '../sensor/recorded.ts'
import { SensorWatch, type TroubleCode, TroubleReport } from '../sensor/sensor-health.ts'
import { type createSerialPort, openSerialPort } from '../sensor/serial-port.ts'
import { WindSonic } from '../sensor/simulator/windsonic.ts'
import type { Crosswind } from '../server/index.ts'
import type { Config } from './config/config.ts'
import { output } from './output.ts'
import { sensorName, windChannel } from './shared/page-messages.ts'

/**
 * `at`: ms since the epoch, fractional; the arrival of a reading's first byte, or the time a state
 * was detected.
 */
type Publish = <Kind extends 'reading' | 'sensor'>(kind: Kind, body: Bodies[Kind], at: number) => void

export const publishReadings =
  ({ publish }: Pick<Crosswind, 'publish'>): Publish =>
  (kind, body, at) => {
    publish(windChannel, body, { kind, at, from: sensorName }).catch((error) =>
      output.incident('reading-not-stored', 'A reading could not be stored', error),
    )
  }

interface SourceOpening {
  readonly sensor: Config['sensor']
  /** Folder to which a relative log file belongs. */
  readonly root: string
  readonly publish: Publish
  readonly random: Random
  readonly timers: Timers
  /** Maximum time without a valid frame. */
  readonly silentAfterMs?: number
  readonly print?: (code: TroubleCode, sentence: string) => void
  /** For tests. */
  readonly createPort?: typeof createSerialPort
}

interface Source {
  /** Resolves when everything is closed. Never rejects. */
  stop(): Promise<void>
}

/**
 * Publishes every reading, including repeats, and every change of the sensor's state. A silent,
 * garbled or unplugged sensor is a state, not an error.
 */
export function startSource(opening: SourceOpening): Source {
  const { publish, timers, print = () => undefined } = opening
  const { source } = opening.sensor
  if (source === 'none' || source === 'remote') return { stop: async () => undefined }
  const report = new TroubleReport(print, timers)
  const started = starters[source](opening, {
    reading: (reading, at) => publish('reading', { source, ...reading }, at),
    state(body) {
      publish('sensor', { source, ...body }, timers.now())
      report.sensor(body)
    },
  })
  return {
    stop() {
      report.stop()
      return started.stop()
    },
  }
}

interface Output {
  reading(reading: FrameReading, at: number): void
  state(body: SensorHealth): void
}

const starters = { simulated: startSimulated, serial: startSerial, recorded: startRecorded }

/** Longer than any frame. */
const wholeFrames = 256

function startSimulated({ sensor, random, timers }: SourceOpening, output: Output): Source {
  const { rateHz, strength } = sensor
  const read = readerInto(output)
  const onBytes = (bytes: Uint8Array) => read(bytes, timers.now())
  const simulated = { rateHz, strength, timers, random, isPoweredUp: false, pieceBytes: wholeFrames, onBytes }
  const windSonic = new WindSonic(simulated)
  const sentence = 'Simulated wind: no sensor is attached.'
  const cancel = timers.later(() => output.state({ state: 'connected', sentence }), 0)
  return {
    async stop() {
      cancel()
      windSonic.stop()
    },
  }
}

/** Clients see the log's name, not its path. */
function startRecorded({ sensor, root, timers }: SourceOpening, output: Output): Source {
  const { pace, rateHz } = sensor
  const path = resolve(root, sensor.file ?? '')
  const name = basename(path)
  let hasBegun = false
  return openRecorded({
    path,
    pace,
    rateHz,
    timers,
    onOpen(notes) {
      hasBegun = true
      const speed = pace === 1 ? 'at its own pace' : `${pace} times as fast`
      const sentence = `Recorded wind, ${name} ${speed}: no sensor is attached.`
      output.state({ state: 'connected', sentence, ...(notes.length > 0 && { note: notes.join(' ') }) })
    },
    onBytes: readerInto(output),
    onClose(reason) {
      const what = hasBegun ? 'has ended' : 'cannot be played'
      output.state({ state: 'unplugged', sentence: `The recorded wind ${what}: ${name}: ${reason}.` })
    },
  })
}

/** Damage is not reported: these sources are not monitored. */
function readerInto(output: Output): (bytes: Uint8Array, at: number) => void {
  const splitter = createFrameSplitter()
  return (bytes, at) => publishFrames(splitter.push(bytes, at), output)
}

function publishFrames(splits: readonly Split[], output: Output): void {
  for (const split of splits) if (split.kind === 'frame') output.reading(split.reading, split.at)
}

/** A port's path is not resolved against a folder: it need not be a file (COM3). */
function startSerial(opening: SourceOpening, output: Output): Source {
  const { timers, silentAfterMs = 3000 } = opening
  const { path, baudRate, parity, mode, node, rateHz } = opening.sensor
  const polling = mode === 'polled' ? { node, rateHz } : null
  const line = { path: path ?? '', baudRate, parity, polling }
  const watch = new SensorWatch({
    ...line,
    timers,
    silentAfterMs: Math.max(silentAfterMs, polling === null ? 0 : 2500 / rateHz),
    onChange: output.state,
  })
  const port = openSerialPort({
    ...opening,
    ...line,
    onOpen: () => watch.opened(),
    onBytes: (bytes, at) => publishFrames(watch.push(bytes, at), output),
    onMissed: () => watch.missed(),
    onClose: (reason) => watch.closed(reason),
  })
  return {
    stop() {
      watch.stop()
      return port.stop()
    },
  }
}
