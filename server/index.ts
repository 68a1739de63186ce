// The server's library: windows in step on an application's own HTTP server.

import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { processTimers } from '../scripts/process.ts'
import { Engine } from './engine.ts'
import { ChannelListeners } from './library/channel-listeners.ts'
import { Channels } from './library/channels.ts'
import { type ClientMovement, Crosswind, type Received } from './library/crosswind.ts'
import {
  type CrosswindOptions,
  checkOptions,
  folderOf,
  longestHoldMs,
  settingsOf,
  sharedOf,
  usualDrainMs,
  workersOf,
} from './library/options.ts'
import { type OutputCode, output } from './output.ts'
import { requireNode } from './runtime.ts'
import { isWorker, secretOfServer } from './workers/workers.ts'

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
export async function createCrosswind(options: CrosswindOptions): Promise<Crosswind> {
  requireNode()
  checkOptions(options)
  output.trace(process.env.CROSSWIND_DEBUG, !isWorker())
  const { path, authorize, secret = secretOfServer() ?? randomBytes(32).toString('base64url') } = options
  const { drainMs = usualDrainMs, holdMs = longestHoldMs, documents = {}, signal } = options
  const settings = settingsOf(options)
  const onFailure = createFailureHandler(options)
  const channels = new Channels({
    rules: options.channels,
    settings,
    timers: processTimers,
    reserved: options.reservedNames,
    log: () => engine.current.log,
    onFailure: (error) =>
      onFailure('stream-failed', 'A schema, a type or `before` of the application failed', error),
  })
  const listenerFailed = (error: unknown) =>
    onFailure('part-failed', 'A listener of the application failed', error)
  const messageListeners = new ChannelListeners<Received>(listenerFailed)
  const clientListeners = new ChannelListeners<ClientMovement>(listenerFailed)
  const folder = folderOf(options)
  if (folder !== '') mkdirSync(folder, { recursive: true, mode: 0o700 })
  const yjs = channels.haveDocuments ? await import('./document/document-threads.ts') : null

  const engine: Engine = await Engine.start({
    path,
    settings,
    channels,
    openDocuments:
      yjs &&
      (() =>
        new yjs.DocumentThreads({
          limits: settings.limits,
          schema: documents.schema,
          tasks: documents.tasks,
          hasOwners: (channel) => channels.hasOwners(channel),
        })),
    dataFolder: folder,
    shared: sharedOf(options),
    roomMaking: options.roomMaking ?? 'erase one with crosswind.deleteChannel',
    workers: workersOf(options),
    authorize,
    secret,
    allowedPorts: options.allowedPorts ?? [],
    showRefusal: options.showRefusal,
    holdMs,
    drainMs,
    signal,
    onMoved: (movement, channel, client) =>
      clientListeners.tell(channel, () => ({ movement, channel, client: { ...client } })),
    onFailure,
  })
  const failed = 'The log was replaced, and the new one could not be opened; restart the server.'
  void engine.lost.then(() => options.onFailure?.(new Error(failed)))
  return Crosswind.over({
    engine,
    path,
    channels,
    isOpen: authorize === 'everyone',
    folder,
    drainMs,
    showRefusal: options.showRefusal,
    messageListeners,
    clientListeners,
  })
}

/** Without the application's `onFailure`, failures are printed. */
function createFailureHandler({ onFailure }: Pick<CrosswindOptions, 'onFailure'>) {
  return (code: OutputCode, what: string, error?: unknown): void => {
    if (onFailure) {
      output.count(code)
      onFailure(error ?? new Error(what))
    } else output.incident(code, what, error)
  }
}
