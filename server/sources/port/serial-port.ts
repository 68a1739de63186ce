// Keeps a serial port open: whenever it closes, it is tried again after a growing pause.

import type { Random } from '../../wire/random.ts'
import { retryPauseMs } from '../../wire/retry-pause.ts'
import { nothingPlanned, type Timers } from '../../wire/time.ts'
import type { ByteSource, Listening } from '../byte-source.ts'
import { type Identify, identifyDevice, watchPath } from './path-watch.ts'
import { createSerialPort, type Line, openLine, type PortSettings, portPauses } from './serial-line.ts'

export interface SerialPortOpening extends PortSettings, Listening {
  readonly timers: Timers
  /** For the jitter of the pauses. */
  readonly random: Random
  /** Stand-ins for tests. */
  readonly createPort?: typeof createSerialPort
  readonly identify?: Identify
}

/**
 * Reports bytes with the host's stamp of their arrival. A missing path, a refused opening and a lost cable all end in
 * `onClose` with the next attempt already planned. Never throws, never writes to the port.
 */
export function openSerialPort(opening: SerialPortOpening): ByteSource {
  const { path, timers, random, onOpen, onBytes, onClose } = opening
  const { createPort = createSerialPort, identify = identifyDevice } = opening
  let failures = 0
  let line: Line | null = null
  let cancelRetry = nothingPlanned
  let cancelWatch = nothingPlanned

  function connect(): void {
    line = openLine({
      path,
      baudRate: opening.baudRate,
      clock: timers.now,
      createPort,
      onOpen: opened,
      onBytes(bytes, at) {
        failures = 0
        onBytes(bytes, at)
      },
      onClose: retry,
    })
  }

  function opened(): void {
    cancelWatch = watchPath({ path, timers, identify, onGone: drop })
    onOpen()
  }

  function drop(): void {
    void line?.close()
    retry('the device is gone')
  }

  function retry(reason: string): void {
    cancelWatch()
    const retryInMs = retryPauseMs(failures, portPauses, random)
    failures += 1
    cancelRetry = timers.later(connect, retryInMs)
    onClose({ reason, retryInMs })
  }

  connect()
  return {
    async stop() {
      cancelRetry()
      cancelWatch()
      await line?.close()
    },
  }
}
