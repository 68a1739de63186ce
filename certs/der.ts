// The few bytes of ASN.1 that the certificate library leaves to us (X.690, DER).

import { isIPv6 } from 'node:net'

/** One DER element: tag, length, and the parts as its content. Lengths up to 65,535 bytes. */
export function der(tag: number, ...parts: readonly Buffer[]): Buffer<ArrayBuffer> {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(content.length)]), content])
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length]
  if (length < 0x100) return [0x81, length]
  if (length < 0x10000) return [0x82, length >> 8, length & 0xff]
  throw new RangeError(`a DER element of ${length} bytes is longer than 65535`)
}

/** An IP address as the 4 or 16 bytes of a certificate (RFC 5280, section 4.2.1.6). The text must be an address. */
export function ipBytes(address: string): Buffer {
  return isIPv6(address) ? ipv6Bytes(address) : Buffer.from(address.split('.').map(Number))
}

/** A network mask of `length` bytes whose first `prefix` bits are set. */
export function maskBytes(prefix: number, length: number): Buffer {
  const bitsOf = (index: number) => Math.min(8, Math.max(0, prefix - 8 * index))
  return Buffer.from(Array.from({ length }, (_, index) => 0xff & (0xff00 >> bitsOf(index))))
}

function ipv6Bytes(address: string): Buffer {
  // The URL parser writes the last four bytes of `::ffff:127.0.0.1` as groups too, and drops needless zeros.
  const [left = '', right = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const head = groups(left)
  const tail = groups(right)
  const zeros = Array<number>(8 - head.length - tail.length).fill(0)
  return Buffer.from([...head, ...zeros, ...tail].flatMap((group) => [group >> 8, group & 0xff]))
}

const groups = (text: string) =>
  text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
