// A real WindSonic on a serial port: its readings, and in words how it is doing.

import type { Random } from '../../wire/random.ts'
import type { SensorBody } from '../../wire/reading.ts'
import type { Timers } from '../../wire/time.ts'
import type { ByteSource } from '../byte-source.ts'
import { createFrameSplitter, type Split } from '../frames/frame-splitter.ts'
import { isIntact } from '../frames/windsonic-frame.ts'
import { watchSensor } from '../sensor-state.ts'
import type { Polling } from './polling.ts'
import type { createSerialPort, PortSettings } from './serial-line.ts'
import { openSerialPort } from './serial-port.ts'

export interface SerialSourceOpening extends PortSettings {
  /** How a polled sensor is asked; null for one that sends by itself. */
  readonly polling: Polling | null
  readonly timers: Timers
  readonly random: Random
  /** Without a good frame for this long a sensor is said to be silent or garbled; 3 s unless told. */
  readonly silentAfterMs?: number
  readonly createPort?: typeof createSerialPort
  onFrame(frame: Extract<Split, { kind: 'frame' }>): void
  /** Comes when the state, or the reason for it, is another. */
  onState(body: SensorBody): void
}

/** Nothing is heard after `stop()` was called. */
export function openSerialSource(opening: SerialSourceOpening): ByteSource {
  const { polling, silentAfterMs = 3000, onFrame, onState } = opening
  const splitter = createFrameSplitter()
  const watch = watchSensor({
    ...opening,
    silentAfterMs: Math.max(silentAfterMs, polling === null ? 0 : 2500 / polling.rateHz),
    onChange: onState,
  })
  const port = openSerialPort({
    ...opening,
    onOpen() {
      splitter.clear()
      watch.opened()
    },
    onBytes(bytes, at) {
      watch.bytes(bytes)
      for (const split of splitter.push(bytes, at)) {
        if (split.kind === 'refused') watch.refused(isIntact(split.code))
        else {
          watch.frame()
          onFrame(split)
        }
      }
    },
    onMissed: watch.missed,
    onClose: watch.closed,
  })
  return {
    stop() {
      watch.stop()
      return port.stop()
    },
  }
}
