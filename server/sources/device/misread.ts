// What a serial port makes of bytes when it joins in the middle of one, or listens at another rate.

const bitsPerByte = 10

export interface Misreading {
  /** Where the host begins to listen, in the sender's bits after the first byte's start bit began. */
  readonly startBits: number
  /** The host's baud rate over the sender's. */
  readonly ratio: number
}

/**
 * Lays the bytes out as the line carries them (start bit low, eight bits from the lowest up, stop bit high, then idle)
 * and samples that as a port does: it waits for low, looks again half a bit later, and takes eight bits by their middles. A
 * byte with a wrong stop bit is kept, as most drivers do. So the shifted bytes of the field (0xFE, 0x82, 0x92 …) come out
 * of ordinary frames, and realign at the first pause.
 */
export function misread(bytes: Uint8Array, { startBits, ratio }: Misreading): Uint8Array {
  const bit = 1 / ratio
  const read: number[] = []
  for (let at = startBits; at < bytes.length * bitsPerByte; ) {
    if (levelAt(bytes, at) || levelAt(bytes, at + bit / 2)) at += bit / 16
    else {
      read.push(byteAt(bytes, at + 1.5 * bit, bit))
      at += 9.5 * bit
    }
  }
  return Uint8Array.from(read)
}

function levelAt(bytes: Uint8Array, atBits: number): boolean {
  const byte = bytes[Math.floor(atBits / bitsPerByte)]
  const place = Math.floor(atBits % bitsPerByte)
  if (byte === undefined || place === bitsPerByte - 1) return true
  return place > 0 && ((byte >> (place - 1)) & 1) === 1
}

function byteAt(bytes: Uint8Array, firstMiddle: number, bit: number): number {
  let value = 0
  for (let place = 0; place < 8; place++) {
    if (levelAt(bytes, firstMiddle + place * bit)) value |= 1 << place
  }
  return value
}
