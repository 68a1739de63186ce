// What a serial receiver hears when it is set otherwise than the sender, bit by bit.

import type { Parity } from './serial-line.ts'

export interface Uart {
  readonly baudRate: number
  readonly parity: Parity
}

/**
 * The bytes that `receiver` makes of `sent`. Frames of characters: start, 8 data bits from the lowest, parity if any, one
 * stop bit. Characters with a wrong stop bit or parity are dropped, as serialport asks the driver (IGNPAR); some keep them.
 */
export function hearAs(sent: Uint8Array, sender: Uart, receiver: Uart): Uint8Array {
  const levels = [1, ...Array.from(sent, (byte) => character(byte, sender.parity)).flat()]
  const levelAt = (seconds: number) => levels[Math.floor(seconds * sender.baudRate)] ?? 1
  const bit = 1 / receiver.baudRate
  const endAt = levels.length / sender.baudRate
  const heard: number[] = []
  for (let at = nextStart(0); at < endAt; ) {
    const bits = Array.from({ length: bitsOf(receiver) }, (_, index) => levelAt(at + (index + 1.5) * bit))
    const byte = byteFrom(bits, receiver.parity)
    if (byte !== null) heard.push(byte)
    at = nextStart(at + (bits.length + 0.5) * bit)
  }
  return Uint8Array.from(heard)

  /** The next fall of the line, to an eighth of a bit, as a receiver that samples eight times a bit sees it. */
  function nextStart(from: number): number {
    let at = from
    while (at < endAt && levelAt(at) === 0) at += bit / 8
    while (at < endAt && levelAt(at) === 1) at += bit / 8
    return at
  }
}

/** Data, parity if any, stop. */
function bitsOf({ parity }: Uart): number {
  return parity === 'none' ? 9 : 10
}

function character(byte: number, parity: Parity): number[] {
  const data = Array.from({ length: 8 }, (_, index) => (byte >> index) & 1)
  return parity === 'none' ? [0, ...data, 1] : [0, ...data, parityBit(data, parity), 1]
}

function byteFrom(bits: readonly number[], parity: Parity): number | null {
  const data = bits.slice(0, 8)
  if (bits.at(-1) !== 1) return null
  if (parity !== 'none' && bits[8] !== parityBit(data, parity)) return null
  return data.reduce((byte, one, index) => byte | (one << index), 0)
}

function parityBit(data: readonly number[], parity: Parity): number {
  const ones = data.reduce((sum, one) => sum + one, 0)
  return parity === 'even' ? ones % 2 : (ones + 1) % 2
}
