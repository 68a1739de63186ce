// Intake of clients' drafts, posted or in a frame: parsed, and checked in one order.

import { channel } from 'node:diagnostics_channel'
import { maxJsonDepth, measureJson } from '../../protocol/json-depth.ts'
import type { Draft, Stored } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { trace } from '../../protocol/trace.ts'
import { idOf } from '../hub/admission.ts'
import { type Grant, refuseName, refuseWriting } from '../security/grants.ts'
import type { Admission } from './transport.ts'

/**
 * Published when a frame arrives, with its stream; and when a draft is admitted, with its request
 * or stream.
 */
export const diagnostics = { arrived: channel('crosswind:arrived'), admitted: channel('crosswind:admitted') }

/** The sender of drafts, by a request or on a stream. */
export interface DraftSender {
  /** How its drafts arrive, for traces, such as `POST over HTTP/2`. */
  readonly how: string
  /** The request or stream, for `diagnostics`. */
  readonly source: object
  /** Fingerprint of its key; null without one. */
  readonly fingerprint: string | null
  readonly grant: Grant
  /** Throws a `Refusal` if the draft must be sent again later. */
  readonly mustWait: (draft: Draft) => void
}

/**
 * Checks a draft (`size`: its bytes in UTF-8, for traces): its shape, its sender's name and right to write, then the
 * pace. Throws a `Refusal`. It is still to be completed (`Admission`).
 */
export function takeDraft(
  given: unknown,
  size: () => number,
  { how, source, fingerprint, grant, mustWait }: DraftSender,
  admission: Pick<Admission, 'draft'>,
): Draft {
  const draft = admission.draft(given)
  trace.uplink?.(`${draft.id} received: ${size()} bytes by ${how}, from ${draft.from}`)
  mayPublish(draft, fingerprint, grant)
  mustWait(draft)
  if (diagnostics.admitted.hasSubscribers) diagnostics.admitted.publish({ id: draft.id, source })
  trace.uplink?.(`${draft.id} admitted to ${draft.channel}`)
  return draft
}

/** For traces. */
export const asStored = ({ seq }: Stored) => (seq > 0 ? `stored as ${seq}` : 'sent on, and not stored')

/** Throws a `Refusal` (403). */
export function mayPublish({ id, from, channel }: Draft, fingerprint: string | null, grant: Grant): void {
  const refusal = refuseName(from, fingerprint, id) ?? refuseWriting(grant, channel, id)
  if (refusal) throw refusal
}

/** Levels of a draft, and of the frame around it, above the data that its sender chose. */
export const levelsAround = { body: 2, frame: 3 }

/**
 * Throws a `Refusal`: 400 `not-json`, or `bad-shape` for a value that is nested too deep below
 * `levels`. `idIn` finds the id of the draft, if it is one.
 */
export function parseJson(text: string, levels = 1, idIn: (given: unknown) => string | null = idOf): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const why = String(cause).replace(/^SyntaxError: /, '')
    throw new Refusal('not-json', `The message is not JSON: ${why}.`)
  }
  const depth = measureJson(text).depth - levels
  if (depth <= maxJsonDepth) return value
  const sentence = `The data is nested ${depth} levels deep; it may be ${maxJsonDepth}. Send it in a flatter form.`
  throw new Refusal('bad-shape', sentence, idIn(value))
}
