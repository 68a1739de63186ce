// `--listen`: prints each line from the sensor beside its parsed reading, and counts.

import type { Split } from '../frame-splitter.ts'
import { complaint, Evidence, slowestMs } from '../sensor-health.ts'
import { openLine, type Polling, type PortSettings } from '../serial-port.ts'
import {
  formatLineSettings,
  linesOf,
  readAs,
  rowOf,
  type SensorContext,
  SensorFailure,
  visible,
} from './sensor-context.ts'

interface ListenOptions {
  readonly port: PortSettings
  /** Null for a sensor that sends continuously, to which nothing is written. */
  readonly polling: Polling | null
  readonly forSeconds: number
}

/**
 * Ends after the time or at the signal. Rejects with SensorFailure if the port closes or no reading
 * arrived.
 */
export async function listen(
  { port, polling, forSeconds }: ListenOptions,
  context: SensorContext,
): Promise<void> {
  const { print, timers, signal } = context
  const startAt = timers.now()
  const readout = new Readout(print, startAt)
  const { promise: ended, resolve: end } = Promise.withResolvers<string | null>()
  let missed = 0
  const line = openLine({
    ...port,
    ...context,
    polling,
    onOpen() {
      const doing =
        polling === null
          ? 'nothing is written to it'
          : `asked for ${polling.node}, ${polling.rateHz} times a second`
      for (const text of [
        '',
        `  ${port.path} at ${formatLineSettings(port)}, for ${forSeconds} s; ${doing}`,
        '',
      ])
        print(text)
    },
    onBytes: (bytes, at) => readout.push(bytes, at),
    onMissed: () => void missed++,
    onClose: end,
  })
  const cancel = timers.later(() => end(null), forSeconds * 1000)
  signal.addEventListener('abort', () => end(null), { once: true })
  const closedBecause = await ended
  cancel()
  await line.close()
  const readings = readout.end()
  if (closedBecause !== null) throw new SensorFailure(`${port.path} cannot be used: ${closedBecause}.`)
  if (readings > 0) return
  const verdict = readout.evidence.judge()
  const forMs = timers.now() - startAt
  const longer =
    polling === null && verdict.kind === 'nothing' && forMs < slowestMs
      ? '. At its slowest (P20) it sends once in 4 s: listen for longer'
      : ''
  throw new SensorFailure(`${complaint({ ...port, polling }, verdict, forMs, missed)}${longer}.`)
}

/** Seconds, and the longest frame. */
const widths = [7, 38]
/** An unprintable byte takes four characters. */
const longestShown = 80

const STX = 0x02
/** A frame has up to 29 bytes, a banner line a few more; longer garbage is cut. */
const longestLine = 48

class Readout {
  readonly evidence = new Evidence()
  readonly #print: (line: string) => void
  readonly #startAt: number
  readonly #counts = new Map<string, number>()
  #readings = 0
  #hasRows = false
  #line: number[] = []
  /** Arrival of the line's first byte, ms since the epoch. */
  #begunAt = 0

  /** `startAt`: ms since the epoch, origin of the printed times. */
  constructor(print: (line: string) => void, startAt: number) {
    this.#print = print
    this.#startAt = startAt
  }

  /** Prints lines: up to CR, LF or both (L1, L2), before STX, or when too long. */
  push(bytes: Uint8Array, at: number): void {
    for (const byte of bytes) {
      if (byte === STX) this.#endLine()
      if (this.#line.length === 0) this.#begunAt = at
      this.#line.push(byte)
      if (isLineEnd(byte) || this.#line.length === longestLine) this.#endLine()
    }
  }

  /** Prints the last partial line and the counts. Returns the number of readings. */
  end(): number {
    this.#endLine()
    const counts = Array.from(this.#counts, ([name, times]) => `${times} ${name}`)
    if (this.#hasRows) this.#print('')
    if (counts.length > 0) for (const text of [`  ${counts.join(', ')}`, '']) this.#print(text)
    return this.#readings
  }

  #endLine(): void {
    const line = Buffer.from(this.#line)
    this.#line = []
    if (line.every(isLineEnd)) return
    if (!this.#hasRows) this.#print(rowOf(['seconds', 'as it came', 'read as'], widths))
    this.#hasRows = true
    const words = this.evidence.push(line, this.#begunAt).map((split) => this.#count(split))
    const [text = ''] = linesOf(line.toString('latin1'))
    const passed = ((this.#begunAt - this.#startAt) / 1000).toFixed(3).padStart(7)
    this.#print(rowOf([passed, shortened(visible(text)), words.join(', ')], widths))
  }

  #count(split: Split): string {
    const isReading = split.kind === 'frame'
    const name = isReading ? split.reading.state : `refused (${split.code})`
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    if (isReading) this.#readings += 1
    return isReading ? readAs(split.reading) : `refused: ${split.code}`
  }
}

function shortened(text: string): string {
  return text.length > longestShown ? `${text.slice(0, longestShown - 2)} …` : text
}

function isLineEnd(byte: number): boolean {
  return byte === 0x0d || byte === 0x0a
}
