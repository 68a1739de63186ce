// Makes the server for an application: its channels, its engine, and the object that it gets.

import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import type { Clock, Timers } from '../../protocol/time.ts'
import { Engine } from '../engine.ts'
import { type OutputCode, output } from '../output.ts'
import { requireNode } from '../runtime.ts'
import { isWorker, secretOfServer } from '../workers/workers.ts'
import { ChannelListeners } from './channel-listeners.ts'
import { Channels } from './channels.ts'
import { type ClientMovement, Crosswind, type Received } from './crosswind.ts'
import {
  type CrosswindOptions,
  checkOptions,
  folderOf,
  longestHoldMs,
  settingsOf,
  sharedOf,
  usualDrainMs,
  workersOf,
} from './options.ts'

/** See `createCrosswind`. `clock` is the application's, by which permits end. */
export async function create(options: CrosswindOptions, timers: Timers, clock: Clock): Promise<Crosswind> {
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
    timers,
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
  const yjs = channels.haveDocuments ? await import('../document/document-threads.ts') : null

  const engine: Engine = await Engine.start({
    path,
    settings,
    timers,
    clock,
    channels,
    openDocuments:
      yjs &&
      (() =>
        new yjs.DocumentThreads({
          timers,
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
    now: timers.now,
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
