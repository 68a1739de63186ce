// The newest messages as they were encoded: windows that come back, and those that poll, need not have them encoded anew.

import { formatCursor } from '../wire/cursor.ts'
import type { Message } from '../wire/envelope.ts'
import { createDelivery, type Delivery } from './delivery.ts'

export interface RecentDeliveries {
  /** The log has just told it, with its cursor. */
  readonly add: (message: Message, cursor: string) => Delivery
  /** What was read from the log: as it was encoded, if it was lately. */
  readonly deliveryOf: (message: Message, epoch: string) => Delivery
}

const mostKept = 500
const mostCharacters = 4_000_000

export function createRecentDeliveries(): RecentDeliveries {
  const kept = new Map<number, { delivery: Delivery; message: Message; characters: number }>()
  let characters = 0

  function forgetOldest(): void {
    for (const [seq, oldest] of kept) {
      if (kept.size <= mostKept && characters <= mostCharacters) return
      kept.delete(seq)
      characters -= oldest.characters
    }
  }

  function add(message: Message, cursor: string): Delivery {
    const delivery = createDelivery({ type: 'message', message }, cursor)
    const size = charactersOf(message)
    characters += size - (kept.get(message.seq)?.characters ?? 0)
    kept.set(message.seq, { delivery, message, characters: size })
    forgetOldest()
    return delivery
  }

  return {
    add,
    deliveryOf(message, epoch) {
      const known = kept.get(message.seq)
      if (known && known.message.id === message.id) return known.delivery
      return add(message, formatCursor({ epoch, seq: message.seq }))
    },
  }
}

function charactersOf({ body }: Message): number {
  return 'html' in body ? body.html.length : 0
}
