// The serial line between sensor and host: speed, planned faults and random noise.

import { nothingPlanned, type Random, type Timers } from '../../protocol/time.ts'

/**
 * - `blocked-u`, `blocked-v`, `blocked`: one or both axes fail; status 01, 02 or 04, no values.
 * - `cut`, `shifted`, `flipped`: messages lose bytes, are read from mid-character, have wrong bits.
 * - `stall`: the converter buffers everything, then delivers it at once.
 * - `silence`: nothing is delivered or kept.
 * - `wrong-baud`: the host reads at four times the sensor's rate.
 */
const faultKinds = [
  'blocked-u',
  'blocked-v',
  'blocked',
  'cut',
  'shifted',
  'flipped',
  'stall',
  'silence',
  'wrong-baud',
] as const

type FaultKind = (typeof faultKinds)[number]

export interface Fault {
  readonly kind: FaultKind
  readonly atSeconds: number
  readonly forSeconds: number
}

/** The longest stall observed in the field. */
const longestStallSeconds = 9

/** Manual 1405-PS-0019, section 11.5. */
const statuses = { blocked: '04', 'blocked-u': '01', 'blocked-v': '02' } as const

/** `stall@30+9`: kind, start, duration. Throws a RangeError with an example. */
export function readFault(text: string): Fault {
  const [, word, at, duration] = /^([a-z-]+)@(\d+(?:\.\d+)?)\+(\d+(?:\.\d+)?)$/.exec(text) ?? []
  const kind = faultKinds.find((known) => known === word)
  const forSeconds = Number(duration)
  if (!kind)
    throw new RangeError(
      `"${text}" is not a fault: write one like stall@30+9, with one of ${faultKinds.join(', ')}.`,
    )
  if (forSeconds === 0)
    throw new RangeError(`${text} is not a valid time: begin at 0 s or later, for more than 0 s.`)
  if (kind === 'stall' && forSeconds > longestStallSeconds)
    throw new RangeError(`${text} is too long: a stall lasts up to ${longestStallSeconds} s.`)
  return { kind, atSeconds: Number(at), forSeconds }
}

/** `seconds` count from the sensor's start. */
export function lasting(faults: readonly Fault[], kind: FaultKind, seconds: number): Fault | undefined {
  return faults.find(
    (fault) =>
      fault.kind === kind && seconds >= fault.atSeconds && seconds < fault.atSeconds + fault.forSeconds,
  )
}

/** `00` without a fault. */
export function statusAt(faults: readonly Fault[], seconds: number): string {
  const kind = (['blocked', 'blocked-u', 'blocked-v'] as const).find((one) => lasting(faults, one, seconds))
  return kind ? statuses[kind] : '00'
}

const damages = { cut, shifted: shift, flipped: flip }

/** A host at 38400 and a sensor at 9600, the commonest mistake. */
const wrongBaud = { ratio: 4 }

/** The sensor's send buffer. */
const sendBufferBytes = 4096

interface FaultyLineOpening {
  readonly timers: Timers
  readonly random: Random
  /** Its times count from construction. */
  readonly faults: readonly Fault[]
  /** Share of damaged messages, 0 to 1; the kind of damage is random. */
  readonly noise: number
  /** Chunk size: 16 for a 16550's buffer, or more. */
  readonly pieceBytes: number
  onBytes(bytes: Uint8Array): void
}

/**
 * Delivers a chunk when its last byte has left the line. Like real ports, it gathers bytes before
 * an interrupt, so that a frame needs two timers instead of 24. Overdue chunks follow at once.
 */
export class FaultyLine {
  readonly #opening: FaultyLineOpening
  readonly #startAt: number
  readonly #queue: { readonly bytes: Uint8Array; readonly dueAt: number }[] = []
  /** Buffered by a stall. */
  #held: Uint8Array[] = []
  #cancelDelivery = nothingPlanned
  #cancelRelease = nothingPlanned

  constructor(opening: FaultyLineOpening) {
    this.#opening = opening
    this.#startAt = opening.timers.now()
  }

  /**
   * The last byte leaves at `endAt` (ms of the timers' clock) or as soon as the line is free. Drops a
   * message that exceeds the send buffer.
   */
  send(message: Uint8Array, endAt: number, byteMs: number): void {
    const { pieceBytes } = this.#opening
    const arriving = this.#damaged(message, (endAt - this.#startAt) / 1000)
    const waiting = this.#queue.reduce((sum, { bytes }) => sum + bytes.length, 0)
    if (arriving.length === 0 || waiting + arriving.length > sendBufferBytes) return
    // Damage changes the byte count, not the duration.
    const durationMs = message.length * byteMs
    const leftAt = Math.max(endAt, (this.#queue.at(-1)?.dueAt ?? 0) + durationMs)
    for (let from = 0; from < arriving.length; from += pieceBytes) {
      const bytes = arriving.subarray(from, from + pieceBytes)
      const leftShare = 1 - (from + bytes.length) / arriving.length
      this.#queue.push({ bytes, dueAt: leftAt - leftShare * durationMs })
    }
    this.#planDelivery()
  }

  /** When everything will have been sent, ms of the timers' clock; not before now. */
  freeAt(): number {
    return Math.max(this.#opening.timers.now(), this.#queue.at(-1)?.dueAt ?? 0)
  }

  stop(): void {
    this.#cancelDelivery()
    this.#cancelRelease()
    this.#queue.length = 0
    this.#held = []
  }

  #damaged(message: Uint8Array, seconds: number): Uint8Array {
    const { random, faults, noise } = this.#opening
    if (lasting(faults, 'silence', seconds)) return new Uint8Array()
    if (lasting(faults, 'wrong-baud', seconds)) return misread(message, wrongBaud)
    let drawn = random()
    for (const kind of ['cut', 'shifted', 'flipped'] as const) {
      drawn -= noise / 3
      if (drawn < 0 || lasting(faults, kind, seconds)) return damages[kind](message, random)
    }
    return message
  }

  #planDelivery(): void {
    const { timers } = this.#opening
    this.#cancelDelivery()
    const [next] = this.#queue
    if (!next) return
    this.#cancelDelivery = timers.later(() => this.#deliverDue(), next.dueAt - timers.now())
  }

  #deliverDue(): void {
    const { timers } = this.#opening
    do {
      const piece = this.#queue.shift()
      if (piece) this.#deliver(piece.bytes)
    } while (this.#queue[0] && this.#queue[0].dueAt <= timers.now())
    this.#planDelivery()
  }

  /** During a stall, buffers until its end. */
  #deliver(bytes: Uint8Array): void {
    const { timers, faults, onBytes } = this.#opening
    const seconds = (timers.now() - this.#startAt) / 1000
    const stall = lasting(faults, 'stall', seconds)
    const isHolding = this.#held.length > 0
    if (isHolding || stall) this.#held.push(bytes)
    else onBytes(bytes)
    if (isHolding || !stall) return
    const release = () => {
      const backlog = Buffer.concat(this.#held)
      this.#held = []
      onBytes(backlog)
    }
    this.#cancelRelease = timers.later(release, (stall.atSeconds + stall.forSeconds - seconds) * 1000)
  }
}

function cut(message: Uint8Array, random: Random): Uint8Array {
  const from = below(random, message.length)
  const to = from + 1 + below(random, message.length - from)
  return Uint8Array.from([...message.subarray(0, from), ...message.subarray(to)])
}

function shift(message: Uint8Array, random: Random): Uint8Array {
  return misread(message, { startBits: 10 * below(random, 8) + 1 + below(random, 8) })
}

function flip(message: Uint8Array, random: Random): Uint8Array {
  const flipped = Uint8Array.from(message)
  for (let left = 1 + below(random, 3); left > 0; left--) {
    const at = below(random, message.length)
    flipped[at] = (flipped[at] ?? 0) ^ (1 << below(random, 8))
  }
  return flipped
}

function below(random: Random, end: number): number {
  return Math.floor(random() * end)
}

const places = [0, 1, 2, 3, 4, 5, 6, 7]

/**
 * Simulates a serial port that reads from mid-character or at another rate. Samples the line (start bit
 * low, eight bits from the lowest, stop bit high, idle) as a port does: waits for low, checks half a
 * bit later, reads eight bits at their middles. Keeps bytes with a wrong stop bit, as most drivers do.
 * The results match the shifted bytes of the field (0xFE, 0x82, 0x92 …). `startBits` counts sender bits
 * after the first start bit began. `ratio` is the host's baud rate divided by the sender's.
 */
export function misread(bytes: Uint8Array, { startBits = 0, ratio = 1 }): Uint8Array {
  const levels = Array.from(bytes, (byte) => [0, ...places.map((index) => (byte >> index) & 1), 1]).flat()
  const levelAt = (bits: number) => levels[Math.floor(bits)] ?? 1
  const bit = 1 / ratio
  const read: number[] = []
  for (let at = startBits; at < levels.length; ) {
    if (levelAt(at) === 1 || levelAt(at + bit / 2) === 1) at += bit / 16
    else {
      const start = at + 1.5 * bit
      read.push(places.reduce((byte, index) => byte | (levelAt(start + index * bit) << index), 0))
      at += 9.5 * bit
    }
  }
  return Uint8Array.from(read)
}
