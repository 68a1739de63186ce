// Keeps a serial port open: whenever it closes, it is tried again after a growing pause.

import type { ByteSource, Listening } from './byte-source.ts'
import { type Identify, identifyDevice, watchPath } from './path-watch.ts'
import { retryPauseMs } from './retry-pause.ts'
import { createSerialPort, type Line, openLine, type PortSettings } from './serial-line.ts'
import { type Clock, nothingPlanned, type Random, type Timers } from './time.ts'

export interface SerialPortOpening extends PortSettings, Listening {
  readonly clock: Clock
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
  const { path, clock, timers, random, onOpen, onBytes, onClose } = opening
  const { createPort = createSerialPort, identify = identifyDevice } = opening
  let failures = 0
  let line: Line | null = null
  let cancelRetry = nothingPlanned
  let cancelWatch = nothingPlanned

  function connect(): void {
    line = openLine({
      path,
      baudRate: opening.baudRate,
      clock,
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
    const retryInMs = retryPauseMs(failures, random)
    failures += 1
    cancelRetry = timers.after(retryInMs, connect)
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
