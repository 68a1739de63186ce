// Sends what is unacknowledged over whichever connection there is: in order, a few at a time, again after a pause.

import type { Draft } from '../../server/wire/envelope.ts'
import type { Stored } from '../../server/wire/frames.ts'
import type { Cancel, Timers } from '../../server/wire/time.ts'
import { BusyError, type OpenTransport, RefusedError } from '../transports/transport.ts'
import type { Outbox } from './outbox.ts'

/** A long outbox would flood the server that has just come back: the rest follows as answers come. */
const mostUnderWay = 32

export interface SendingParts {
  readonly outbox: Pick<Outbox, 'all'>
  readonly timers: Timers
  readonly onStored: (draft: Draft, stored: Stored) => void
  readonly onRefused: (draft: Draft, sentence: string) => void
}

export interface Sending {
  /** A connection is open: all that is unacknowledged goes over it. `onBroken`: it is not known what arrived. */
  readonly begin: (send: OpenTransport['send'], onBroken: () => void) => void
  /** There is none any more; what was sent over it may still be answered. */
  readonly end: () => void
  /** Sends what is there and may go now. */
  readonly goOn: () => void
  readonly isUnderWay: (id: string) => boolean
}

/** One connection's turn, or what is left of it after a pause. */
interface Turn {
  readonly send: OpenTransport['send']
  readonly onBroken: () => void
  readonly underWay: Set<string>
}

export function createSending({ outbox, timers, onStored, onRefused }: SendingParts): Sending {
  let turn: Turn | null = null
  let stopPause: Cancel | null = null

  function begin(send: OpenTransport['send'], onBroken: () => void): void {
    end()
    turn = { send, onBroken, underWay: new Set() }
    goOn()
  }

  function end(): void {
    stopPause?.()
    stopPause = null
    turn = null
  }

  function goOn(): void {
    if (turn === null || stopPause !== null) return
    for (const draft of outbox.all()) {
      if (turn.underWay.size >= mostUnderWay) return
      if (!turn.underWay.has(draft.id)) send(draft, turn)
    }
  }

  function send(draft: Draft, own: Turn): void {
    own.underWay.add(draft.id)
    own.send(draft).then(
      (stored) => settle(draft, own, () => onStored(draft, stored)),
      (error) => {
        if (error instanceof RefusedError) settle(draft, own, () => onRefused(draft, error.message))
        // Of a turn that is over nothing is expected any more.
        else if (own === turn) failed(error, own)
      },
    )
  }

  /** Whoever answers first counts, be it a connection that was left. */
  function settle(draft: Draft, own: Turn, tell: () => void): void {
    own.underWay.delete(draft.id)
    tell()
    goOn()
  }

  function failed(error: unknown, { send, onBroken }: Turn): void {
    if (!(error instanceof BusyError)) onBroken()
    // What was sent behind the one that has to wait was not taken either: after the pause all goes again, in order.
    else stopPause ??= timers.later(() => begin(send, onBroken), error.retryAfterMs)
  }

  return { begin, end, goOn, isUnderWay: (id) => turn?.underWay.has(id) ?? false }
}
