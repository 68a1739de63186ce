// Each frame one JSON text with its WebSocket head: a server masks nothing, so that the bytes are the same for every window.

import type { Framing } from '../hub/delivery.ts'

/** RFC 6455, 5.2: a whole text message in one unmasked frame. */
export const socketFraming: Framing = {
  encode(frame) {
    const text = Buffer.from(JSON.stringify(frame))
    return Buffer.concat([headOf(text.length), text])
  },
}

const wholeText = 0x81

function headOf(length: number): Buffer {
  if (length < 126) return Buffer.from([wholeText, length])
  const head = Buffer.alloc(length <= 0xffff ? 4 : 10)
  head[0] = wholeText
  head[1] = head.length === 4 ? 126 : 127
  if (head.length === 4) head.writeUInt16BE(length, 2)
  else head.writeBigUInt64BE(BigInt(length), 2)
  return head
}
