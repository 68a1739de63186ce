// What a window and the sharing place say to each other: plain data, so that it crosses threads and windows.

import type { Draft } from '../../server/wire/envelope.ts'
import type { DownFrame, Stored } from '../../server/wire/frames.ts'
import type { Mode } from '../../server/wire/modes.ts'
import type { Polling } from '../../server/wire/settings.ts'
import { BusyError, type Closing, type Opening, RefusedError } from '../transports/transport.ts'

/** Each opening of a transport in a window is a member of its own; numbered by that window. */
export type ToPlace =
  | { readonly type: 'join'; readonly member: number; readonly asked: Asked }
  | { readonly type: 'send'; readonly member: number; readonly draft: Draft; readonly turn: number }
  | { readonly type: 'leave'; readonly member: number }

export type ToWindow =
  | { readonly type: 'frame'; readonly member: number; readonly frame: DownFrame }
  | { readonly type: 'answer'; readonly member: number; readonly id: string; readonly answer: Answer }
  | { readonly type: 'closed'; readonly member: number; readonly closing: Closing }

/** What a window posts: who it is, which is also the name of the lock that it holds, and what it says. */
export interface FromWindow {
  readonly window: string
  readonly said: ToPlace
}

/** A worker's first word: it lives for as long as this lock is held. */
export interface Here {
  readonly type: 'here'
  readonly lock: string
}

/** An `Opening` as data. */
export interface Asked {
  readonly origin: string
  readonly mode: Mode
  readonly query: string
  readonly polling: Polling
}

export type Answer = Stored | Failure

/** What a transport's `send` rejected with. `turn` is that of the draft which failed first. */
export type Failure = { readonly type: 'failed'; readonly turn: number; readonly sentence: string } & (
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'busy'; readonly retryAfterMs: number }
  | { readonly kind: 'unknown' }
)

export function askedOf({ origin, mode, query, polling }: Opening): Asked {
  return { origin, mode, query: query.toString(), polling }
}

export function failureOf(error: unknown, turn: number): Failure {
  const sentence = error instanceof Error ? error.message : String(error)
  if (error instanceof RefusedError)
    return { type: 'failed', turn, sentence, kind: 'refused', code: error.code }
  if (error instanceof BusyError) {
    return { type: 'failed', turn, sentence, kind: 'busy', retryAfterMs: error.retryAfterMs }
  }
  return { type: 'failed', turn, sentence, kind: 'unknown' }
}

export function errorFrom(failure: Failure): Error {
  if (failure.kind === 'refused') return new RefusedError(failure.code, failure.sentence)
  if (failure.kind === 'busy') return new BusyError(failure.sentence, failure.retryAfterMs)
  return new Error(failure.sentence)
}
