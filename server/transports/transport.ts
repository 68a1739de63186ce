// The contract of transports: each turns requests or sockets into clients of the hub.

import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type Router from '@koa/router'
import type { ParameterizedContext } from 'koa'
import type { WebSocket } from 'ws'
import {
  type AwarenessReport,
  type DownFrame,
  type Draft,
  fingerprintIn,
  parseCursor,
} from '../../protocol/messages.ts'
import {
  modeFor,
  type TransportName,
  type WindowHttp,
  type WindowMode,
  windowHttpVersions,
} from '../../protocol/modes.ts'
import type { Timers } from '../../protocol/time.ts'
import { admitJoining, admitWindow } from '../hub/admission.ts'
import type { Framing } from '../hub/delivery.ts'
import type { Hub } from '../hub/hub.ts'
import { fingerprintFor, type Grant, refuseName, refuseReading, refuseSpeaking } from '../security/grants.ts'
import { grantOf } from '../security/middleware.ts'
import type { ReadingRate } from './answers.ts'
import { type BodyReader, connectionOf, type TransportLimits } from './body-reader.ts'
import type { Budget } from './budget.ts'

export type ServerTransport = (mounting: Mounting) => void

/** Checks clients' input. Each function throws a `Refusal`. */
export interface Admission {
  readonly draft: (given: unknown) => Draft
  readonly awareness: (given: unknown) => AwarenessReport
  /** Completes a draft that its sender may publish, before it is stored; `connection` is the sender's. */
  readonly complete?: (draft: Draft, grant: Grant, connection: object) => Draft | Promise<Draft>
}

export interface Mounting {
  readonly router: Router
  readonly onSocket: (path: string, handler: SocketHandler) => void
  readonly hub: Hub
  readonly timers: Timers
  readonly bodies: BodyReader
  readonly budget: Budget
  /** Limits the rate of large answers, which are charged by their size. */
  readonly readingRate: ReadingRate
  readonly admission: Admission
  readonly limits: TransportLimits
  /** Longest hold of a long poll, ms. */
  readonly holdMs: number
  readonly heartbeatMs: number
}

export type SocketHandler = (socket: WebSocket, opening: SocketOpening) => void

export interface Opening {
  readonly query: URLSearchParams
  /** The HTTP version that the client uses. */
  readonly http: WindowHttp
  readonly grant: Grant
  /** The HTTP/2 session or the socket. */
  readonly connection: object
}

/** `source` is the stream that the WebSocket reads. */
export type SocketOpening = Opening & { readonly source: Readable }

/** Cheaper than `ctx.URL`, which builds and parses the whole address. */
export function queryOf({ querystring }: Pick<ParameterizedContext, 'querystring'>): URLSearchParams {
  return new URLSearchParams(querystring)
}

export function openingIn(ctx: ParameterizedContext): Opening {
  return {
    query: queryOf(ctx),
    http: httpVersionOf(ctx.req),
    grant: grantOf(ctx),
    connection: connectionOf(ctx.req),
  }
}

/** For poll responses and refusals over WebSocket. */
export const jsonFraming: Framing = {
  encode: (frame, _cursor, message) => Buffer.from(frameText(frame, message)),
}

/** `message` is the frame's message as JSON, if known. */
export function frameText(frame: DownFrame, message: string | undefined): string {
  return message === undefined ? JSON.stringify(frame) : `{"type":"message","message":${message}}`
}

/**
 * `cursorText` overrides the query's cursor: it is `Last-Event-ID` when a browser reconnects by
 * itself. Throws a `Refusal`: 400 `bad-query`, 403 `not-your-name` or `not-invited-there`.
 */
export function admit(
  { query, http, grant, connection }: Opening,
  transport: TransportName,
  { channelsPerWindow }: Pick<TransportLimits, 'channelsPerWindow'>,
  cursorText = '',
) {
  const { window, ...asked } = admitJoining(query, channelsPerWindow)
  const fingerprint = fingerprintFor(query)
  const refusal = refuseName(window, fingerprint) ?? refuseReading(grant, asked.channels)
  if (refusal) throw refusal
  // Each transport has one.
  const mode = modeFor(transport, http) as WindowMode
  const readOnly = [...asked.channels].filter((channel) => !grant.mayWrite(channel))
  return {
    identity: {
      ...asked,
      id: window,
      owner: fingerprintIn(window),
      answers: query.has('answers'),
      ...(grant.user !== null && { user: grant.user }),
      ...(readOnly.length > 0 && { readOnly }),
      // Works even if the table has no such mode.
      mode: { ...mode, name: `${transport}/${http}`, http },
      expiresAt: grant.expiresAt,
      holder: { connection, account: grant.account },
      isRevoked: grant.isRevoked,
    },
    cursor: parseCursor(cursorText || query.get('cursor')),
    /** Fingerprint of the query's key; null without one. */
    fingerprint,
  }
}

/**
 * The client and opening of a separate request. Requires the name's key, because names are public.
 * Throws a `Refusal`: 400 `bad-query`, 403 `not-your-name`.
 */
export function admitOwner(query: URLSearchParams) {
  const admitted = admitWindow(query)
  const fingerprint = fingerprintFor(query)
  const refusal = refuseSpeaking(admitted.window, fingerprint)
  if (refusal) throw refusal
  return { ...admitted, fingerprint }
}

/** The client's own version, if a proxy names it by `Via` (RFC 9110, 7.6.3), such as `3.0 caddy`. */
export function httpVersionOf({ httpVersionMajor, headers }: VersionedRequest): WindowHttp {
  const [, received] = /^\s*(?:HTTP\/)?(\d(?:\.\d)?)\s/i.exec(headers.via ?? '') ?? []
  const named = windowHttpVersions.find((version) => version === received || `${version}.0` === received)
  return named ?? (httpVersionMajor === 2 ? '2' : '1.1')
}

type VersionedRequest = Pick<IncomingMessage, 'httpVersionMajor' | 'headers'>
