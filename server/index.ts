// The server's library: windows in step on an application's own HTTP server.

import { processTimers } from '../scripts/process.ts'
import { create } from './library/create.ts'
import type { Crosswind } from './library/crosswind.ts'
import type { CrosswindOptions } from './library/options.ts'

// A star: an application adds the kinds of its types to `Bodies` by declaration merging.
export type * from '../protocol/bodies.ts'
export { Refusal, type RefusalCode } from '../protocol/refusal.ts'
export type {
  ChannelType,
  Content,
  Expiry,
  Fold,
  Gate,
  Keep,
  KindRules,
  Prepare,
  Store,
} from './channels/channel-type.ts'
export type { Check, Misfit } from './channels/shapes.ts'
export { type Documents, TooCostly } from './document/document-worker.ts'
export type { ShowRefusal } from './http/refusals.ts'
export { serverOptions } from './http/server-options.ts'
export type { Movement } from './hub/movements.ts'
export type { ConnectedClient } from './hub/registry.ts'
export type { Caller, Limiter } from './library/caller.ts'
export { type ChannelRule, defineChannels, type JsonRule, type YjsRule } from './library/channels.ts'
export type {
  ChannelInfo,
  ClientInfo,
  ClientListener,
  ClientMovement,
  Crosswind,
  DocumentUpdate,
  Listening,
  MessageListener,
  Received,
  Stored,
} from './library/crosswind.ts'
export type { CrosswindOptions, DocumentOptions, Storage } from './library/options.ts'
export type { StandardSchema } from './library/standard-schema.ts'
export type { Before, Changed, Publication } from './library/validation.ts'
export type { ReadableLog } from './log/log.ts'
export type { SharedStorage } from './log/store.ts'
export type { AnyRequest } from './security/grants.ts'
export type { Asking, Authorize, Permit } from './security/permits.ts'
export { bearerIn } from './security/tickets.ts'
export type { LogHook } from './serving.ts'
export { jsonPieces } from './transports/answers.ts'

/**
 * Rejects with an `Error` that names the option that does not fit, the file that cannot be used, or
 * what a broker denies. Waits for a broker, and prints that it does.
 */
export const createCrosswind = (options: CrosswindOptions): Promise<Crosswind> =>
  create(options, processTimers, Date.now)
