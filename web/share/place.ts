// The sharing place: the windows of one browser on one side, a shared stream for each mode on the other.

import type { TransportName } from '../../server/wire/modes.ts'
import type { Timers } from '../../server/wire/time.ts'
import type { WebTransport } from '../transports/transport.ts'
import { channelsIn, type Speaking } from './member.ts'
import type { Asked, ToPlace, ToWindow } from './port.ts'
import { type AskServer, createSharedStream, type Membership, type SharedStream } from './shared-stream.ts'

export interface PlaceParts {
  readonly transports: Readonly<Record<TransportName, WebTransport>>
  readonly timers: Timers
  /** A name that no window has. */
  readonly newName: () => string
  readonly ask: AskServer
}

export interface Place {
  /** A window comes; `post` speaks to it. */
  readonly attach: (post: (said: ToWindow) => void) => Attached
  /** Ends all streams, without a word to the windows. */
  readonly close: () => void
}

export interface Attached {
  readonly hear: (said: ToPlace) => void
  /** The window is gone, with or without a word. */
  readonly gone: () => void
}

/** A member that was away for longer asks the server instead. */
const tailBounds = { messages: 1000, length: 4_000_000 }

/** The server's own default (`limits.channelsPerWindow`); where it allows less, the stream learns it. */
const mostChannels = 64

export function createPlace(parts: PlaceParts): Place {
  const streams = new Map<string, SharedStream[]>()

  /** Of the mode's streams the first that has room; there is seldom more than one. */
  function streamFor(asked: Asked): SharedStream {
    const key = `${asked.mode.name} ${asked.origin}`
    const known = streams.get(key) ?? []
    streams.set(key, known)
    const found = known.find((stream) => stream.hasRoomFor(channelsIn(asked)))
    if (found) return found
    const transport = parts.transports[asked.mode.transport]
    const opened = createSharedStream({
      ...parts,
      transport,
      name: parts.newName(),
      tail: tailBounds,
      mostChannels,
    })
    known.push(opened)
    return opened
  }

  function attach(post: (said: ToWindow) => void): Attached {
    const memberships = new Map<number, Membership>()

    function join(member: number, asked: Asked): void {
      const speaking = speakingOver(post, member, () => memberships.delete(member))
      memberships.set(member, streamFor(asked).join(asked, speaking))
    }

    function leave(member: number): void {
      memberships.get(member)?.leave()
      memberships.delete(member)
    }

    return {
      hear(said) {
        if (said.type === 'join') join(said.member, said.asked)
        else if (said.type === 'leave') leave(said.member)
        else memberships.get(said.member)?.send(said.draft, said.turn)
      },
      gone() {
        for (const member of [...memberships.keys()]) leave(member)
      },
    }
  }

  return {
    attach,
    close() {
      for (const stream of [...streams.values()].flat()) stream.close()
    },
  }
}

function speakingOver(post: (said: ToWindow) => void, member: number, onClosed: () => void): Speaking {
  return {
    onFrame: (frame) => post({ type: 'frame', member, frame }),
    onAnswer: (id, answer) => post({ type: 'answer', member, id, answer }),
    onClose(closing) {
      onClosed()
      post({ type: 'closed', member, closing })
    },
  }
}
