// One frame on its way to many windows, encoded once for each framing and not once for each window.

import type { DownFrame } from '../wire/frames.ts'

/** How a transport puts a frame into bytes. `cursor` is set for messages alone. */
export interface Framing {
  readonly encode: (frame: DownFrame, cursor: string | null) => Buffer
}

export interface Delivery {
  readonly frame: DownFrame
  /** The log's number for a message; null for what is not in the log. */
  readonly seq: number | null
  /** A newer one makes it worthless, so that it may be left out of a full queue: true of wind readings, never of edits. */
  readonly isReplaceable: boolean
  readonly bytes: (framing: Framing) => Buffer
}

export function createDelivery(frame: DownFrame, cursor: string | null = null): Delivery {
  const encoded = new Map<Framing, Buffer>()
  return {
    frame,
    seq: frame.type === 'message' ? frame.message.seq : null,
    isReplaceable: frame.type === 'message' && frame.message.kind === 'reading',
    bytes(framing) {
      const known = encoded.get(framing)
      if (known) return known
      const bytes = framing.encode(frame, cursor)
      encoded.set(framing, bytes)
      return bytes
    },
  }
}
