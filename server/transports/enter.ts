// What every transport asks of a window that wants in: a query that fits, and leave to read its channels.

import type { ParameterizedContext } from 'koa'
import { admitJoining } from '../hub/admission.ts'
import type { Joining, Visitor } from '../hub/window.ts'
import { Refusal } from '../refusal.ts'
import { type Grant, refuseReading } from '../security/grant.ts'
import { type Cursor, parseCursor } from '../wire/cursor.ts'
import { type HttpVersion, modeFor, type TransportName } from '../wire/modes.ts'

export interface Entering {
  readonly visitor: Visitor & Pick<Joining, 'expiresAt'>
  readonly cursor: Cursor | null
}

export interface Asking {
  readonly query: URLSearchParams
  readonly grant: Grant
  readonly transport: TransportName
  /** The version that is truly spoken. */
  readonly http: HttpVersion
  readonly channelsPerWindow: number
  /** Goes before the query's cursor: `Last-Event-ID`, of a browser that came back by itself. */
  readonly cursorText?: string
}

/** Throws a `Refusal`: 400 `bad-query`, 403 `not-invited-there`, 505 `http-version`. */
export function enter({ query, grant, transport, http, channelsPerWindow, cursorText }: Asking): Entering {
  const { window, ...asked } = admitJoining(query, channelsPerWindow)
  const refusal = refuseReading(grant, asked.channels)
  if (refusal) throw refusal
  const mode = modeFor(transport, http)
  if (!mode) throw new Refusal(505, 'http-version', `This server has no transport named ${transport}.`)
  const { expiresAt } = grant
  // The mode is named by what is spoken, also where the table has none of that name.
  return {
    visitor: { ...asked, id: window, mode: { ...mode, name: `${transport}/${http}`, http }, expiresAt },
    cursor: parseCursor(cursorText || query.get('cursor')),
  }
}

/** A window's name can be read off its messages: only who may be where it is may speak for it. Throws a `Refusal` (403). */
export function mustBeCovered(grant: Grant, channels: ReadonlySet<string> | null): void {
  const refusal = channels && refuseReading(grant, channels)
  if (refusal) throw refusal
}

export function httpVersionOf(ctx: ParameterizedContext): HttpVersion {
  return ctx.req.httpVersionMajor === 2 ? '2' : '1.1'
}
