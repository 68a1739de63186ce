// One opening of a serial port, from the attempt to the close; every oddity of serialport ends here.

import { SerialPort } from 'serialport'
import type { RetryPauses } from '../../wire/retry-pause.ts'
import type { Timers } from '../../wire/time.ts'
import { readAtOnce } from './turns.ts'

/** What a line needs of a port; serialport's own fits, and so does a test's. */
export interface Port {
  readonly isOpen: boolean
  readonly opening: boolean
  open(done: (error: Error | null) => void): void
  write(text: string, encoding: 'latin1'): unknown
  /** `done` comes when everything written has left. */
  drain(done: (error: Error | null) => void): void
  close(done: (error: Error | null) => void): void
  on(event: 'data', listener: (bytes: Uint8Array) => void): unknown
  on(event: 'close' | 'error', listener: (error?: Error | null) => void): unknown
}

/** The sensor's F2 and F3 are even and odd, F1 is none. */
export type Parity = 'none' | 'even' | 'odd'

export interface PortSettings {
  readonly path: string
  /** Bits a second; the sensor's default is 9600 (B3). */
  readonly baudRate: number
  readonly parity: Parity
}

/** Between two tries to open a port. */
export const portPauses: RetryPauses = { firstMs: 1000, longestMs: 10_000 }

/** For the last words of a line to leave; a stuck converter may never let them. */
const lastWordsMs = 500

export interface LineOpening extends PortSettings {
  readonly timers: Timers
  readonly createPort: (settings: PortSettings) => Port
  onOpen(): void
  /** `at`: when these bytes were handed over, ms since the epoch, with fractions. */
  onBytes(bytes: Uint8Array, at: number): void
  /** Comes exactly once, whether or not the line ever opened, unless `close()` was called first. */
  onClose(reason: string): void
}

export interface Line {
  /** Characters up to 0xFF; dropped while the port is not open. What goes wrong is the reason given to `onClose`. */
  write(text: string): void
  /** Nothing is heard from here on; resolves when `lastWords` have left, or could not, and the port is closed. */
  close(lastWords?: string): Promise<void>
}

/** 8 data bits, 1 stop bit, no flow control (manual 1405-PS-0019, F1 to F3). */
export function createSerialPort({ path, baudRate, parity }: PortSettings): Port {
  const port = new SerialPort({ path, baudRate, parity, dataBits: 8, stopBits: 1, autoOpen: false })
  readAtOnce(port)
  return port
}

/** Opens the port and reads; writes only what its owner says. Does not throw. */
export function openLine(opening: LineOpening): Line {
  const { timers, createPort, onOpen, onBytes, onClose } = opening
  const closed = Promise.withResolvers<void>()
  let isOver = false
  let isClosing = false

  function end(reason: string): void {
    if (isOver) return
    isOver = true
    release()
    onClose(reason)
  }

  /** While the port is opening it cannot be closed: the end of its opening comes back here. */
  function release(): void {
    if (port?.opening || isClosing) return
    isClosing = true
    if (port?.isOpen) port.close(() => closed.resolve())
    else closed.resolve()
  }

  function create(): Port | null {
    try {
      return createPort({ path: opening.path, baudRate: opening.baudRate, parity: opening.parity })
    } catch (error) {
      queueMicrotask(() => end(reasonOf(error)))
      return null
    }
  }

  const port = create()
  port?.on('data', (bytes) => {
    if (!isOver) onBytes(bytes, timers.now())
  })
  port?.on('close', () => end('the port closed'))
  port?.on('error', (error) => end(reasonOf(error)))
  port?.open((error) => {
    if (error) end(reasonOf(error))
    if (isOver) release()
    else onOpen()
  })

  function write(text: string): void {
    if (port?.isOpen) port.write(text, 'latin1')
  }

  return {
    write,
    async close(lastWords = '') {
      const wasOver = isOver
      isOver = true
      if (lastWords !== '' && !wasOver && port?.isOpen) {
        write(lastWords)
        await drained(port, timers)
      }
      release()
      return closed.promise
    },
  }
}

function drained(port: Port, timers: Timers): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = timers.later(resolve, lastWordsMs)
  port.drain(() => {
    cancel()
    resolve()
  })
  return promise
}

/** `Error: No such file or directory, cannot open /dev/ttyUSB0` becomes `no such file or directory`. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  if (/cannot lock port/i.test(text)) return 'another program has it open'
  if (/^Error:? Inappropriate ioctl/.test(text)) return 'it is no serial port'
  const bare = text.replace(/^Error:? */, '').replace(/, cannot open .*$/, '')
  return bare.charAt(0).toLowerCase() + bare.slice(1)
}
