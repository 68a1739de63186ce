// Who listens to the log: each hears every message from when it came to when it leaves, whatever the others do.

import type { Message } from '../wire/envelope.ts'
import type { OnFailure, OnMessage } from './log.ts'

export interface Followers {
  /** Returns the way to stop. */
  readonly add: (onMessage: OnMessage) => () => void
  readonly tell: (message: Message, cursor: string) => void
}

export function createFollowers(onFailure: OnFailure): Followers {
  const followers = new Set<{ readonly onMessage: OnMessage }>()

  function tellOne(onMessage: OnMessage, message: Message, cursor: string): void {
    try {
      onMessage(message, cursor)
    } catch (error) {
      onFailure(error)
    }
  }

  return {
    add(onMessage) {
      // An object of its own, so that one function can follow twice.
      const follower = { onMessage }
      followers.add(follower)
      return () => void followers.delete(follower)
    },
    tell(message, cursor) {
      // A copy: who comes while this message is told begins with the next one.
      for (const follower of [...followers]) {
        if (followers.has(follower)) tellOne(follower.onMessage, message, cursor)
      }
    },
  }
}
