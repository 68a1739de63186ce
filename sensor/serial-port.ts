// Opens, reads, polls and reopens a serial port; isolates the oddities of serialport.

import type { EventEmitter } from 'node:events'
import { realpathSync, statSync } from 'node:fs'
import { SerialPort } from 'serialport'
import {
  type Cancel,
  nothingPlanned,
  type Random,
  type RetryPauses,
  repeat,
  retryPauseMs,
  type Timers,
} from '../protocol/time.ts'
import { endsWithin } from '../scripts/process.ts'

/** F1 none, F2 even, F3 odd. */
export type Parity = 'none' | 'even' | 'odd'

export interface PortSettings {
  readonly path: string
  /** Bits per second; factory setting 9600 (B3). */
  readonly baudRate: number
  readonly parity: Parity
}

export interface Port {
  readonly isOpen: boolean
  readonly opening: boolean
  open(done: (error: Error | null) => void): void
  write(text: string, encoding: 'latin1'): unknown
  /** `done` runs when everything written is sent. */
  drain(done: (error: Error | null) => void): void
  close(done: (error: Error | null) => void): void
  on(event: 'data', listener: (bytes: Uint8Array) => void): unknown
  on(event: 'close' | 'error', listener: (error?: Error | null) => void): unknown
}

/** 8 data bits, 1 stop bit, no flow control (manual 1405-PS-0019, F1 to F3). */
export function createSerialPort({ path, baudRate, parity }: PortSettings): Port {
  const port = new SerialPort({ path, baudRate, parity, dataBits: 8, stopBits: 1, autoOpen: false })
  readAtOnce(port)
  return port
}

const wakeUpMs = 4

/**
 * On Node 26.4 and later, serialport 13 reads arriving bytes only in an event-loop turn that
 * something else starts, possibly seconds later (serialport/node-serialport, issue 3148). Each
 * poller event starts a turn, or a timer on Windows, which has no poller.
 */
function readAtOnce(port: SerialPort): void {
  const nothing = () => undefined
  port.on('open', () => {
    const binding: object | undefined = port.port
    const poller = binding !== undefined && 'poller' in binding ? (binding.poller as EventEmitter) : null
    if (poller !== null) {
      for (const sign of ['readable', 'writable']) poller.on(sign, () => setImmediate(nothing))
      return
    }
    const timer = setInterval(nothing, wakeUpMs).unref()
    port.once('close', () => clearInterval(timer))
  })
}

interface SerialPortOpening extends Omit<LineOpening, 'onClose'> {
  /** For jitter. */
  readonly random: Random
  /** The port closed or failed to open. `reason` is for people. */
  onClose(reason: string, retryInMs: number): void
}

/** Pauses between attempts to open a port. */
export const portPauses: RetryPauses = { firstMs: 1000, longestMs: 10_000 }

/**
 * Opens the port, and again after a missing path, a failed opening or a lost cable, each of which
 * calls `onClose`. Never throws. No callback runs before it returns or after `stop()`, which
 * resolves when the port is closed.
 */
export function openSerialPort(opening: SerialPortOpening): { stop(): Promise<void> } {
  const { path, timers, random, onOpen, onBytes, onClose } = opening
  let failures = 0
  let line: Line | null = null
  let cancelRetry = nothingPlanned
  let cancelWatch = nothingPlanned

  function connect(): void {
    line = openLine({
      ...opening,
      onOpen() {
        cancelWatch = watchPath(path, timers, deviceGone)
        onOpen()
      },
      onBytes(bytes, at) {
        failures = 0
        onBytes(bytes, at)
      },
      onClose: retry,
    })
  }

  function deviceGone(): void {
    void line?.close('')
    retry('the device is gone')
  }

  function retry(reason: string): void {
    cancelWatch()
    const retryInMs = retryPauseMs(failures, portPauses, random)
    failures += 1
    cancelRetry = timers.later(connect, retryInMs)
    onClose(reason, retryInMs)
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

const watchEveryMs = 1000

/**
 * Calls `onGone` once if the path is missing or leads to another device. On Linux, serialport 13
 * does not close an unplugged device that reads as empty, but loops and leaks memory
 * (serialport/bindings-cpp, issue 162).
 */
function watchPath(path: string, timers: Timers, onGone: () => void): Cancel {
  const opened = deviceAt(path)
  if (opened === null) return nothingPlanned
  const look = () => {
    if (deviceAt(path) === opened) return
    cancel()
    onGone()
  }
  const cancel = repeat(timers, look, watchEveryMs)
  return cancel
}

/**
 * Null if there is no device, or if paths are not files (COM3). A replugged port has a new inode,
 * whatever its owner and mode. A pseudo-terminal reuses its inode number (devpts), so only its
 * change time tells.
 */
function deviceAt(path: string): string | null {
  try {
    const { dev, ino, rdev, ctimeMs } = statSync(path)
    const isPseudo = realpathSync(path).startsWith('/dev/pts/')
    return `${dev}:${ino}:${rdev}${isPseudo ? `:${ctimeMs}` : ''}`
  } catch {
    return null
  }
}

interface LineOpening extends PortSettings {
  /** Null for a sensor that sends continuously, to which nothing is written. */
  readonly polling: Polling | null
  readonly timers: Timers
  /** For tests. */
  readonly createPort?: typeof createSerialPort
  /** Partial frames received earlier are void. */
  onOpen(): void
  /** `at` is the arrival time, ms since the epoch, fractional. */
  onBytes(bytes: Uint8Array, at: number): void
  /** A poll was not answered. */
  onMissed?(): void
  /** Runs once, even if the line never opened, unless `close()` came first. */
  onClose(reason: string): void
}

export type Line = ReturnType<typeof openLine>

/** Covers the time from the attempt to open a port to its close. Does not throw. */
export function openLine(opening: LineOpening) {
  const { path, baudRate, parity, polling, timers, createPort = createSerialPort } = opening
  const closed = Promise.withResolvers<void>()
  let port: Port | null = null
  let isOver = false
  let isClosing = false
  let poller: ReturnType<typeof startPolling> | null = null

  function end(reason: string): void {
    if (isOver) return
    isOver = true
    release()
    opening.onClose(reason)
  }

  /** An opening port cannot be closed; `open`'s callback calls this again. */
  function release(): void {
    poller?.stop()
    if (port?.opening || isClosing) return
    isClosing = true
    if (port?.isOpen) port.close(() => closed.resolve())
    else closed.resolve()
  }

  /** Characters up to 0xFF; dropped unless the port is open. */
  function write(text: string): void {
    if (port?.isOpen) port.write(text, 'latin1')
  }

  try {
    port = createPort({ path, baudRate, parity })
  } catch (error) {
    queueMicrotask(() => end(reasonOf(error)))
  }
  port?.on('data', (bytes) => {
    if (isOver) return
    poller?.heard(bytes)
    opening.onBytes(bytes, timers.now())
  })
  port?.on('close', () => end('the port closed'))
  port?.on('error', (error) => end(reasonOf(error)))
  port?.open((error) => {
    if (error) end(reasonOf(error))
    if (isOver) return release()
    opening.onOpen()
    if (polling !== null) poller = startPolling(polling, opening, write)
  })

  return {
    get isOpen() {
      return !isOver && port?.isOpen === true
    },
    write,
    /** Stops all callbacks; resolves when the port is closed. Disables a polled sensor. */
    async close(lastWords = polling === null ? '' : disable): Promise<void> {
      if (lastWords !== '' && !isOver && port?.isOpen) {
        isOver = true
        poller?.stop()
        write(lastWords)
        await endsWithin(new Promise<void>((resolve) => port.drain(() => resolve())), lastWordsMs, timers)
      }
      isOver = true
      release()
      return closed.promise
    },
  }
}

/** A stuck converter may never send the last words. */
const lastWordsMs = 500

const reasons: ReadonlyArray<readonly [begins: RegExp, reason: string]> = [
  [/cannot lock port/i, 'another program has it open'],
  [/^Inappropriate ioctl/, 'it is not a serial port'],
  [
    /^No such file/,
    'there is no such port; plug the sensor in, or name another with --sensor-path (npm run sensor -- --list shows them)',
  ],
  [
    /^Permission denied/,
    'this user may not use it; on Linux run sudo usermod -aG dialout $USER, or the group that ls -l shows, and log in again',
  ],
]

/** `Error: Input/output error, cannot open /dev/ttyUSB0` becomes `input/output error`. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const bare = text.replace(/^Error:? */, '').replace(/, cannot open .*$/, '')
  const [, reason] = reasons.find(([begins]) => begins.test(bare)) ?? []
  return reason ?? bare.charAt(0).toLowerCase() + bare.slice(1)
}

/** Settings for a polled sensor (M3, M4). */
export interface Polling {
  /** Factory setting `Q`. */
  readonly node: string
  /** At most `1000 / replyMs`, to leave time for the reply. */
  readonly rateHz: number
}

/** Polled mode (manual 1405-PS-0019). */
const enable = '?'
const disable = '!'

/** A reply begins within this time (same section). */
const replyMs = 130
/**
 * A sensor is ready this long after power-up (same section), unannounced; hence enabling is
 * repeated.
 */
const readyMs = 5000

const frameStarts = Buffer.from('\x02$')

/**
 * Poll n is due at start + n / rate; polls that a stall delays are skipped. Writes only `?` and the
 * node letter.
 */
function startPolling(
  { node, rateHz }: Polling,
  { timers, onMissed = () => undefined }: LineOpening,
  write: (text: string) => void,
) {
  const startAt = timers.now() + replyMs
  let lastActiveAt = timers.now()
  let next = 0
  let cancelNext = nothingPlanned
  let cancelMissed = nothingPlanned

  function plan(): void {
    cancelNext = timers.later(ask, startAt + (next * 1000) / rateHz - timers.now())
  }

  function ask(): void {
    next = Math.max(next, Math.floor(((timers.now() - startAt) * rateHz) / 1000)) + 1
    plan()
    if (timers.now() - lastActiveAt >= readyMs) sendEnable()
    cancelMissed()
    cancelMissed = timers.later(onMissed, replyMs)
    write(node)
  }

  function sendEnable(): void {
    lastActiveAt = timers.now()
    write(enable)
  }

  sendEnable()
  plan()
  return {
    heard(bytes: Uint8Array): void {
      // A two-wire adapter echoes what is written: a node letter alone is not a reply.
      if (!frameStarts.some((start) => bytes.includes(start))) return
      cancelMissed()
      lastActiveAt = timers.now()
    },
    stop(): void {
      cancelNext()
      cancelMissed()
    },
  }
}
