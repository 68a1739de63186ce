// One frame on its way to many windows, encoded once for each framing and not once for each window.

import type { DownFrame } from '../wire/frames.ts'

/** How a transport puts a frame into bytes. `cursor` is set for messages alone. */
export interface Framing {
  readonly encode: (frame: DownFrame, cursor: string | null) => Buffer
}

export interface Delivery {
  readonly frame: DownFrame
  /** The log's number and the channel of a message; null for what is not in the log. */
  readonly seq: number | null
  readonly channel: string | null
  /** A newer one makes it worthless, so that it may be left out of a full queue: true of readings and overviews, never of edits. */
  readonly isReplaceable: boolean
  readonly bytes: (framing: Framing) => Buffer
}

export function createDelivery(frame: DownFrame, cursor: string | null = null): Delivery {
  const message = frame.type === 'message' ? frame.message : null
  let framingKnown: Framing | null = null
  let bytesKnown: Buffer | null = null
  let others: Map<Framing, Buffer> | null = null

  function encode(framing: Framing): Buffer {
    const known = others?.get(framing)
    if (known) return known
    const bytes = framing.encode(frame, cursor)
    if (framingKnown === null) {
      framingKnown = framing
      bytesKnown = bytes
    } else {
      others ??= new Map()
      others.set(framing, bytes)
    }
    return bytes
  }

  return {
    frame,
    seq: message?.seq ?? null,
    channel: message?.channel ?? null,
    isReplaceable: message?.kind === 'reading' || message?.kind === 'overview',
    bytes: (framing) => (framing === framingKnown && bytesKnown ? bytesKnown : encode(framing)),
  }
}
