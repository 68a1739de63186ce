// What one member says: its drafts go up in order over whichever connection the shared stream has, each answered once.

import type { Draft } from '../../server/wire/envelope.ts'
import type { OpenTransport } from '../transports/transport.ts'
import { type Answer, type Failure, failureOf } from './port.ts'

export type Send = OpenTransport['send']

export interface Drafts {
  /** `turn` counts how often the window has begun again after a failure. */
  readonly take: (draft: Draft, turn: number) => void
  /** What is not answered goes over this connection, again where it went over another; null while there is none. */
  readonly goOver: (send: Send | null) => void
  readonly stop: () => void
}

interface Said {
  readonly draft: Draft
  readonly turn: number
}

/**
 * `mostUnderWay` is one where the transport sends one after the other anyway: what waits here can be told of a failure
 * ahead of it, and cannot overtake.
 */
export function createDrafts(mostUnderWay: number, onAnswer: (id: string, answer: Answer) => void): Drafts {
  const unanswered = new Map<string, Said>()
  let underWay = new Set<string>()
  let way: Send | null = null
  let failed: Failure | null = null

  function goOn(): void {
    if (way === null) return
    for (const said of unanswered.values()) {
      if (underWay.size >= mostUnderWay) return
      if (!underWay.has(said.draft.id)) send(said, way)
    }
  }

  function send({ draft, turn }: Said, own: Send): void {
    underWay.add(draft.id)
    own(draft).then(
      (stored) => answer(draft.id, stored),
      (error) => {
        // Of a connection that was left nothing is expected: it goes again over the next one.
        if (own === way) fail(draft.id, failureOf(error, turn))
      },
    )
  }

  function answer(id: string, given: Answer): void {
    underWay.delete(id)
    if (unanswered.delete(id)) onAnswer(id, given)
    goOn()
  }

  function fail(id: string, failure: Failure): void {
    if (failure.kind === 'refused') answer(id, failure)
    else failAll(failure)
  }

  /** What was said behind it was not taken either, or would overtake it. */
  function failAll(failure: Failure): void {
    failed = failure
    const ids = [...unanswered.keys()]
    unanswered.clear()
    underWay.clear()
    for (const id of ids) onAnswer(id, failure)
  }

  return {
    take(draft, turn) {
      // Said before the window heard of the failure: it must not go ahead of what the window will say again.
      if (failed && turn <= failed.turn) onAnswer(draft.id, failed)
      else {
        unanswered.set(draft.id, { draft, turn })
        goOn()
      }
    },
    goOver(send) {
      way = send
      underWay = new Set()
      goOn()
    },
    stop() {
      way = null
      unanswered.clear()
    },
  }
}
