// What waits for one window: bounded in bytes; a newer reading takes an older one's place, an edit never does.

import type { Delivery, Framing } from './delivery.ts'

export interface Queue {
  /** False when it does not fit any more: then the window has to go and resume. */
  readonly push: (delivery: Delivery) => boolean
  readonly shift: () => Delivery | undefined
  readonly length: () => number
  readonly bytes: () => number
}

/** Holds up to `maxBytes` of encoded frames, but always at least one, however large. */
export function createQueue(framing: Framing, maxBytes: number): Queue {
  const waiting: Delivery[] = []
  let bytes = 0
  const sizeOf = (delivery: Delivery) => delivery.bytes(framing).length

  function dropOlderReading(): void {
    const index = waiting.findIndex((delivery) => delivery.isReplaceable)
    if (index >= 0) for (const old of waiting.splice(index, 1)) bytes -= sizeOf(old)
  }

  return {
    push(delivery) {
      if (delivery.isReplaceable) dropOlderReading()
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
  }
}
