// What waits for one window: bounded in bytes; a newer reading takes an older one's place, an edit never does.

import type { Delivery, Framing } from './delivery.ts'

export interface Queue {
  /** False when it does not fit any more: then the window has to go and resume. */
  readonly push: (delivery: Delivery) => boolean
  readonly shift: () => Delivery | undefined
  readonly length: () => number
  readonly bytes: () => number
  /** Readings that gave way to newer ones. */
  readonly dropped: () => number
}

/** Holds up to `maxBytes` of encoded frames, but always at least one, however large. */
export function createQueue(framing: Framing, maxBytes: number): Queue {
  const waiting: Delivery[] = []
  let bytes = 0
  let dropped = 0
  const sizeOf = (delivery: Delivery) => delivery.bytes(framing).length

  function dropOlderReading(channel: string | null): void {
    const index = waiting.findIndex((old) => old.isReplaceable && old.channel === channel)
    if (index < 0) return
    for (const old of waiting.splice(index, 1)) bytes -= sizeOf(old)
    dropped += 1
  }

  return {
    push(delivery) {
      if (delivery.isReplaceable) dropOlderReading(delivery.channel)
      const size = sizeOf(delivery)
      if (waiting.length > 0 && bytes + size > maxBytes) return false
      waiting.push(delivery)
      bytes += size
      return true
    },
    shift() {
      const delivery = waiting.shift()
      if (delivery) bytes -= sizeOf(delivery)
      return delivery
    },
    length: () => waiting.length,
    bytes: () => bytes,
    dropped: () => dropped,
  }
}
