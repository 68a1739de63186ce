// The few bytes of RFC 6455 that a client has to write: the opening request, and masked texts.

import { randomBytes } from 'node:crypto'

/** RFC 6455, 4.1. */
export function upgradeRequest(path: string, host: string): string {
  const key = randomBytes(16).toString('base64')
  return [
    `GET ${path} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${key}`,
    '\r\n',
  ].join('\r\n')
}

/** One unfragmented text frame (RFC 6455, 5.2). Throws past 65,535 bytes, which no load client sends. */
export function maskedText(text: string): Buffer {
  const payload = Buffer.from(text)
  if (payload.length > 0xffff)
    throw new RangeError(`A load client's frame has 65535 bytes at most, got ${payload.length}`)
  const mask = randomBytes(4)
  for (const [index, byte] of payload.entries()) payload[index] = byte ^ (mask[index & 3] ?? 0)
  const head =
    payload.length < 126
      ? [0x81, 0x80 | payload.length]
      : [0x81, 0x80 | 126, payload.length >> 8, payload.length & 0xff]
  return Buffer.concat([Buffer.from(head), mask, payload])
}
