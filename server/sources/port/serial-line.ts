// One opening of a serial port, from the attempt to the close; every oddity of serialport ends here.

import { SerialPort } from 'serialport'
import type { RetryPauses } from '../../wire/retry-pause.ts'
import type { Clock } from '../../wire/time.ts'

/** What a line needs of a port; serialport's own fits, and so does a test's. */
export interface Port {
  readonly isOpen: boolean
  readonly opening: boolean
  open(done: (error: Error | null) => void): void
  close(done: (error: Error | null) => void): void
  on(event: 'data', listener: (bytes: Uint8Array) => void): unknown
  on(event: 'close' | 'error', listener: (error?: Error | null) => void): unknown
}

export interface PortSettings {
  readonly path: string
  /** Bits a second; the sensor's default is 9600 (B3). */
  readonly baudRate: number
}

/** Between two tries to open a port. */
export const portPauses: RetryPauses = { firstMs: 1000, longestMs: 10_000 }

export interface LineOpening extends PortSettings {
  readonly clock: Clock
  readonly createPort: (settings: PortSettings) => Port
  onOpen(): void
  onBytes(bytes: Uint8Array, at: number): void
  /** Comes exactly once, whether or not the line ever opened, unless `close()` was called first. */
  onClose(reason: string): void
}

export interface Line {
  /** Nothing is heard from here on; resolves when the port is closed. */
  close(): Promise<void>
}

/** 8 data bits, no parity, 1 stop bit, no flow control (manual 1405-PS-0019, F1). */
export function createSerialPort({ path, baudRate }: PortSettings): Port {
  return new SerialPort({ path, baudRate, dataBits: 8, parity: 'none', stopBits: 1, autoOpen: false })
}

/**
 * Opens the port, reads, and never writes: a stray `*` would stop the sensor. Does not throw; what goes wrong is the
 * reason given to `onClose`.
 */
export function openLine({ path, baudRate, clock, createPort, onOpen, onBytes, onClose }: LineOpening): Line {
  const closed = Promise.withResolvers<void>()
  let isOver = false

  function end(reason: string): void {
    if (isOver) return
    isOver = true
    release()
    onClose(reason)
  }

  /** While the port is opening it cannot be closed: the end of its opening comes back here. */
  function release(): void {
    if (port?.opening) return
    if (port?.isOpen) port.close(() => closed.resolve())
    else closed.resolve()
  }

  function create(): Port | null {
    try {
      return createPort({ path, baudRate })
    } catch (error) {
      queueMicrotask(() => end(reasonOf(error)))
      return null
    }
  }

  const port = create()
  port?.on('data', (bytes) => {
    if (!isOver) onBytes(bytes, clock())
  })
  port?.on('close', () => end('the port closed'))
  port?.on('error', (error) => end(reasonOf(error)))
  port?.open((error) => {
    if (error) end(reasonOf(error))
    if (isOver) release()
    else onOpen()
  })

  return {
    close() {
      isOver = true
      release()
      return closed.promise
    },
  }
}

/** `Error: No such file or directory, cannot open /dev/ttyUSB0` becomes `no such file or directory`. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const bare = text.replace(/^Error:? */, '').replace(/, cannot open .*$/, '')
  return bare.charAt(0).toLowerCase() + bare.slice(1)
}
