// Keeps a serial port open: whenever it closes, it is tried again after a growing pause.

import type { Random } from '../../wire/random.ts'
import { retryPauseMs } from '../../wire/retry-pause.ts'
import { nothingPlanned, type Timers } from '../../wire/time.ts'
import type { ByteSource, Listening } from '../byte-source.ts'
import { type Identify, identifyDevice, watchPath } from './path-watch.ts'
import { disable, type Poller, type Polling, startPolling } from './polling.ts'
import { createSerialPort, type Line, openLine, type PortSettings, portPauses } from './serial-line.ts'

export interface SerialPortOpening extends PortSettings, Listening {
  /** How a polled sensor is asked; null for one that sends by itself, to which nothing is ever written. */
  readonly polling: Polling | null
  /** A question was not answered. */
  onMissed(): void
  readonly timers: Timers
  /** For the jitter of the pauses. */
  readonly random: Random
  /** Stand-ins for tests. */
  readonly createPort?: typeof createSerialPort
  readonly identify?: Identify
}

/**
 * Reports bytes with the host's stamp of their arrival. A missing path, a refused opening and a lost cable all end in
 * `onClose` with the next attempt already planned. Never throws. Writes what `startPolling` does and `!` at the end,
 * without `polling` nothing.
 */
export function openSerialPort(opening: SerialPortOpening): ByteSource {
  const { path, polling, timers, random, onOpen, onBytes, onMissed, onClose } = opening
  const { createPort = createSerialPort, identify = identifyDevice } = opening
  let failures = 0
  let line: Line | null = null
  let poller: Poller | null = null
  let cancelRetry = nothingPlanned
  let cancelWatch = nothingPlanned

  function connect(): void {
    const current = openLine({
      ...opening,
      createPort,
      onOpen: () => opened(current),
      onBytes(bytes, at) {
        failures = 0
        poller?.heard(bytes)
        onBytes(bytes, at)
      },
      onClose: retry,
    })
    line = current
  }

  function opened({ write }: Line): void {
    cancelWatch = watchPath({ path, timers, identify, onGone: drop })
    onOpen()
    if (polling !== null) poller = startPolling({ ...polling, timers, write, onMissed })
  }

  function drop(): void {
    void line?.close()
    retry('the device is gone')
  }

  function rest(): void {
    cancelWatch()
    poller?.stop()
    poller = null
  }

  function retry(reason: string): void {
    rest()
    const retryInMs = retryPauseMs(failures, portPauses, random)
    failures += 1
    cancelRetry = timers.later(connect, retryInMs)
    onClose({ reason, retryInMs })
  }

  connect()
  return {
    async stop() {
      cancelRetry()
      rest()
      await line?.close(polling === null ? '' : disable)
    },
  }
}
