// Keeps a Y.Doc in step with its channel's log, and tracks which of its updates are stored.

import type * as Y from 'yjs'
import { type Draft, type Message, parseCursor, type UpdateBody } from '../../protocol/messages.ts'
import { type ChannelHandle, type Page, RefusedError } from '../connect.ts'
import { mergingPolicy } from '../document-policy.ts'
import type { DraftDatabase } from '../draft-database.ts'
import type { Link } from '../link.ts'
import { attempt } from '../listeners.ts'
import { isInFlight, type Outbox, type OutboxListener, otherUser, type PendingDraft } from '../outbox.ts'
import {
  applyUpdates,
  bodyOf,
  bytesIn,
  type Difference,
  differenceOf,
  isEmpty,
  isUpdate,
  mergeUpdates,
  pendingIn,
} from './updates.ts'

/** All messages of a channel up to a cursor, which a server may send with its page. */
export interface DocumentStart {
  readonly messages: readonly Message[]
  readonly cursor: string
}

interface SyncOptions {
  /** The channel's name. */
  readonly channel: string
  readonly start: DocumentStart | null
  /** See `ProviderOptions`. */
  readonly isRequired: boolean
  /** Of the changes that it makes in the document. */
  readonly origin: object
}

/**
 * Where a document's changes are:
 *
 * - `saved`: the server has all of them
 * - `saving`: they are being sent, or being kept on this device; also until it is known whether the server is reached
 * - `kept`: the server is not reached; they are kept on this device, and sent later
 * - `unsaved`: the server is not reached, and some are in this window only
 * - `refused`: the server has refused some, as `refused` says
 */
export type SaveState = 'saved' | 'saving' | 'kept' | 'unsaved' | 'refused'

interface SyncListener {
  /** Whether the connection is open. */
  isOpen(): boolean
  /** The document has all that is stored, and its own updates are stored or being sent. */
  onCaughtUp(): void
  /** The log was replaced. */
  onNewLog(): void
  onSaveState(state: SaveState, before: SaveState): void
  /** The newest changes are not stored; they are sent again with the next change. */
  onRefused(error: RefusedError): void
  /** The document cannot be read. */
  onUnreadable(error: unknown): void
  onDraft(draft: Draft): void
  onRenamed(id: string, drafts: readonly Draft[]): void
  /** Another window of the user has given up this document's drafts. `close` and `destroy` follow. */
  onDiscarded(): void
}

/** What the window that discards a document tells the user's other windows. */
interface Discard {
  /** The document's channel. */
  readonly discarded?: string
}

/**
 * How far the document was compared with the log, which may lack updates that the drafts build on: these are only
 * sent once it has `caughtUp`. In each other phase a comparison is due:
 *
 * - `closed`: when a channel is opened
 * - `joining`: when the stream's beginning is known, with what the page was sent
 * - `comparing`: now
 * - `pausing`: after a pause, since the log was replaced, or changes were refused and others were made since
 * - `unreadable`: after a pause or when the connection is open again, since the document could not be read
 * - `refused`: after the next change or when the connection is open again, since changes were refused
 */
type Phase = 'closed' | 'joining' | 'comparing' | 'pausing' | 'unreadable' | 'refused' | 'caughtUp'

/** Pause before another read, ms, while the server that answered lags behind. */
const behindMs = 500

/** Pause before another read, ms, after the document could not be read. */
const unreadablePauseMs = 2000

/** Pauses before refused changes are sent again with later ones, ms: only a deletion may have undone them. */
const refusedPauseMs = { usual: 2000, afterDeletion: 200 }

/** Pause before the document is sent to a new log, ms: updates of other windows arrive first. */
const newLogPauseMs = { least: 300, spread: 1200 }

/** Merges waiting updates, and accepts any number of them. */
const merging = { mergeUpdates, minQueued: 1, ignoresBounds: true }

export class DocumentSync {
  /** Why the newest changes are not stored. */
  refused: RefusedError | null = null
  /** Whether the connection was lost or closed, and is not open again. */
  isOffline = false
  readonly #doc: Y.Doc
  readonly #options: SyncOptions
  readonly #listener: SyncListener
  readonly #outboxListener: OutboxListener
  #phase: Phase = 'closed'
  /** Number of phase changes: results of work that began in an earlier turn are ignored. */
  #turn = 0
  /** Null once something newer is known. */
  #start: DocumentStart | null
  #channel: ChannelHandle | null = null
  /** The channel's, once it is there. */
  #link: Link | null = null
  /** The stream has the messages after this cursor. */
  #streamStart = ''
  /** Updates that wait for the link and its outbox. */
  #unqueued: readonly UpdateBody[] = []
  /** Number of updates of which only a comparison can tell whether they are stored. */
  #uncertain: number
  /** The draft of the updates that the newest comparison found missing. */
  #difference: Draft | null = null
  /** Those of them that no outbox has got, nor, as far as is known, another provider. */
  #unkept: number
  #toldState: SaveState
  /** The connection's; see `Outbox`. */
  #user: string | null | undefined
  /** Some changes that may not be stored are another user's. */
  #isMixed = false
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Pause before what is refused is sent again; infinite if nothing was changed since the newest comparison. */
  #retryMs = Number.POSITIVE_INFINITY

  constructor(doc: Y.Doc, options: SyncOptions, listener: SyncListener) {
    const { start } = options
    this.#doc = doc
    this.#options = options
    this.#listener = listener
    this.#start = start
    this.#uncertain = isEmpty(doc) ? 0 : 1
    this.#unkept = this.#uncertain
    this.#outboxListener = {
      onOutbox: () => this.#meet(),
      onStored: (draft) => this.#stored(draft),
      onRefused: (draft, sentence, code) => this.#refusedWith(draft, code, sentence),
      onAdopted: (drafts) => this.#applyEach(drafts.filter(this.#isOwn)),
      onRenamed: (id, ...drafts) => this.#renamed(id, drafts),
    }
    this.#toldState = this.saveState
    if (start) this.apply(start.messages)
    doc.on('update', this.#onUpdate)
  }

  /** Number of updates that are not stored; several that were merged count as one. */
  get unsaved(): number {
    return this.#pending().length + this.#unqueued.length + this.#uncertain
  }

  get saveState(): SaveState {
    if (this.unsaved === 0) return 'saved'
    if (this.refused) return 'refused'
    if (!this.isOffline) return 'saving'
    const outbox = this.#link?.outbox
    if (!outbox?.keeper || this.#unkept > 0) return 'unsaved'
    const { unstored, persisted, canPersist, isFull } = outbox.state
    if (persisted === unstored) return 'kept'
    return canPersist && !isFull ? 'saving' : 'unsaved'
  }

  /** Updates that no outbox has yet. */
  get unqueued(): readonly UpdateBody[] {
    return this.#unqueued
  }

  /** Cursor of the document that the page had at first, if nothing newer is known. */
  get from(): string | undefined {
    return this.#start?.cursor
  }

  /** Compares the document with the channel's log, and sends what the log lacks. */
  open(channel: ChannelHandle): void {
    this.#channel = channel
    channel.link.then((link) => {
      if (channel === this.#channel) this.#useOutbox(link)
    }, ignore)
    if (this.#start) this.#enter('joining')
    else void this.#compare()
  }

  /** `isShared`: the connection stays open, and sends the document's drafts, whatever they build on. */
  close(isShared: boolean): void {
    clearTimeout(this.#timer)
    // Their outcome will not be reported.
    this.#uncertain = this.unsaved
    this.#link?.outbox.listeners.delete(this.#outboxListener)
    this.#link?.outbox.keeper?.shared?.news.removeEventListener('message', this.#onNews)
    if (isShared) this.#resume()
    this.#channel = null
    this.#link = null
    this.#unqueued = []
    this.#difference = null
    this.#enter('closed')
  }

  /**
   * Ends the drafts of this document, also those that were refused and those of the user's other windows. `close`
   * and `destroy` follow.
   */
  discard(): void {
    const { channel } = this.#options
    const forget = ({ outbox }: Link) => {
      endDrafts(outbox, channel)
      const shared = outbox.keeper?.shared
      if (!shared) return
      const news: Discard = { discarded: channel }
      shared.news.postMessage(news)
      const database = shared.open()
      eraseDrafts(outbox, database, channel).then(database.close, database.close)
    }
    if (this.#link) forget(this.#link)
    // By then what waits for the link is published.
    else this.#channel?.link.then(forget, ignore)
  }

  destroy(): void {
    clearTimeout(this.#timer)
    this.#doc.off('update', this.#onUpdate)
  }

  /** The connection is open, or open again. */
  connected(): void {
    if (this.#phase === 'caughtUp') this.#listener.onCaughtUp()
    else if (this.#phase === 'refused' || this.#phase === 'unreadable') void this.#compare()
  }

  /** The stream has the messages after `streamStart`. */
  async joined(streamStart: string): Promise<void> {
    this.#streamStart = streamStart
    const start = this.#start
    if (!start || this.#phase !== 'joining') return
    this.#start = null
    if (streamStart !== start.cursor) await this.#compare(start.cursor)
    else this.#caughtUp(this.#uncertain > 0 ? this.#differenceTo(start.messages) : null)
  }

  newLog(): void {
    this.#enter('pausing')
    this.#start = null
    this.#uncertain = Math.max(1, this.#uncertain)
    this.#compareIn(newLogPauseMs.least + Math.random() * newLogPauseMs.spread)
    this.tellState()
    this.#listener.onNewLog()
  }

  /** Applies the updates among these. */
  apply(messages: readonly Draft[]): void {
    const before = pendingIn(this.#doc)
    applyUpdates(this.#doc, messages, this.#options.origin)
    // Updates that were pending in the document until now came from no log.
    if (before !== '' && before !== pendingIn(this.#doc)) this.#suspect()
  }

  // Changes in this window

  readonly #onUpdate = (
    update: Uint8Array,
    origin: unknown,
    _doc: Y.Doc,
    { local, deleteSet }: Y.Transaction,
  ): void => {
    if (origin === this.#options.origin) return
    // A comparison finds what another provider, such as y-indexeddb, has kept.
    if (!this.#channel || (!local && this.#phase !== 'caughtUp')) {
      this.#uncertain += 1
      if (local) this.#unkept += 1
    } else this.#publish(this.#channel, update)
    this.#changed(deleteSet.clients.size > 0 ? refusedPauseMs.afterDeletion : refusedPauseMs.usual)
    this.tellState()
  }

  #changed(retryMs: number): void {
    const isSooner = retryMs < this.#retryMs
    if (isSooner) this.#retryMs = retryMs
    if (this.#phase === 'refused' || (this.#phase === 'pausing' && this.refused && isSooner))
      this.#retryLater()
  }

  #retryLater(): void {
    this.#enter('pausing')
    this.#compareIn(Math.min(this.#retryMs, refusedPauseMs.usual))
  }

  #publish(channel: ChannelHandle, update: Uint8Array): void {
    const body = bodyOf(update)
    const publish = (link: Link) => {
      const draft = link.publish(this.#options.channel, 'update', body)
      if (draft) this.#listener.onDraft(draft)
      else this.#full()
    }
    if (this.#link) {
      publish(this.#link)
      return
    }
    this.#unqueued = [...this.#unqueued, body]
    channel.link.then((link) => {
      this.#unqueued = this.#unqueued.filter((one) => one !== body)
      // If the provider was destroyed meanwhile, a later window may send it.
      publish(link)
    }, ignore)
  }

  /** Drafts, which the server has not checked. */
  #applyEach(drafts: readonly Draft[]): void {
    for (const draft of drafts) attempt(() => this.apply([draft]))
  }

  // The outbox

  #useOutbox(link: Link): void {
    const { outbox } = link
    if (!outbox.policy.mergesUpdates) outbox.policy = mergingPolicy(outbox.policy, merging)
    outbox.listeners.add(this.#outboxListener)
    outbox.keeper?.shared?.news.addEventListener('message', this.#onNews)
    this.#link = link
    this.#user = outbox.user
    this.#meet()
    if (this.#phase !== 'caughtUp') outbox.paused.add(this.#options.channel)
    const held = outbox.drafts.held.map(({ draft }) => draft).filter(this.#isOwn)
    this.#uncertain += held.length
    this.#applyEach([...held, ...this.#waiting()])
  }

  readonly #onNews = ({ data }: MessageEvent<Discard | string>) => {
    const { discarded } = Object(data) as Discard
    if (discarded === undefined) return
    // Of any document: this window may have adopted drafts of one that it has not opened.
    endDrafts((this.#link as Link).outbox, discarded)
    if (discarded === this.#options.channel) this.#listener.onDiscarded()
  }

  #meet(): void {
    const { user, others } = (this.#link as Link).outbox
    const isNews = user !== this.#user
    this.#user = user
    // Drafts of closed windows were applied before a user was known.
    if (isNews && others.some(({ draft }) => this.#isOwn(draft))) {
      this.#isMixed = true
      this.#suspect()
    } else this.tellState()
  }

  #resume(): void {
    if (this.#link?.outbox.paused.delete(this.#options.channel)) this.#link.outbox.change({})
  }

  /** Drafts of this document in the outbox, in order. */
  #waiting(): readonly Draft[] {
    const outbox = this.#link?.outbox
    return outbox ? this.#pending().map((pending) => outbox.complete(pending)) : []
  }

  #pending(): readonly PendingDraft[] {
    return this.#link?.outbox.drafts.pending.filter(({ draft }) => this.#isOwn(draft)) ?? []
  }

  readonly #isOwn = ({ channel }: Draft) => channel === this.#options.channel

  #stored(draft: Draft): void {
    if (draft.id !== this.#difference?.id) return
    this.#difference = null
    // Otherwise something else was refused meanwhile.
    if (this.#phase === 'caughtUp') this.refused = null
  }

  #refusedWith(draft: Draft, code: string, sentence: string): void {
    if (!this.#isOwn(draft)) return
    const size =
      code === 'too-large' && isUpdate(draft) ? ` This update has ${bytesIn(draft.body).length} bytes.` : ''
    const error = new RefusedError(code, sentence + size)
    this.#uncertain += 1
    const isDifference = draft.id === this.#difference?.id
    if (isDifference) this.#difference = null
    // A comparison follows, or the refusal of the document was reported already.
    if (this.#phase !== 'caughtUp' && !(isDifference && this.refused)) return
    // The update builds on a refused one, or on one that only a former log had.
    if (error.code === 'update-gap' && !isDifference) void this.#compare()
    // What was written after the refused update may have undone it.
    else
      this.#refuse(
        error,
        isDifference ? this.#retryMs < Number.POSITIVE_INFINITY : this.#pending().length > 0,
      )
  }

  #renamed(id: string, drafts: readonly Draft[]): void {
    if (!drafts.some(this.#isOwn)) return
    if (id === this.#difference?.id) this.#difference = drafts.at(-1) ?? null
    this.#listener.onRenamed(id, drafts)
  }

  /** The connection's policy has no room for a change. */
  #full(): void {
    this.#uncertain += 1
    this.#refuse(new RefusedError('outbox-full', 'Too many messages are waiting to be sent.'))
  }

  #refuse(error: RefusedError, mayBeUndone = false): void {
    if (this.#phase === 'caughtUp' && mayBeUndone) this.#retryLater()
    else if (this.#phase === 'caughtUp') {
      this.#enter('refused')
      this.#retryMs = Number.POSITIVE_INFINITY
    }
    this.refused = error
    this.tellState()
    this.#listener.onRefused(error)
  }

  /** Also to be called after `isOffline` has changed. */
  tellState(): void {
    const before = this.#toldState
    if (this.unsaved === 0) {
      this.#isMixed = false
      this.refused = null
    }
    this.#toldState = this.saveState
    if (this.#toldState !== before) this.#listener.onSaveState(this.#toldState, before)
  }

  // The comparison with the log

  /** Returns the number of the turn that begins. */
  #enter(phase: Phase): number {
    this.#phase = phase
    this.#turn += 1
    if (phase !== 'caughtUp') this.#link?.outbox.paused.add(this.#options.channel)
    return this.#turn
  }

  /** The log may lack something of the document. */
  #suspect(): void {
    this.#uncertain += 1
    this.tellState()
    if (this.#phase === 'caughtUp') void this.#compare()
  }

  #compareIn(pauseMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#compare(), pauseMs)
  }

  /** Reads the document, and publishes updates that neither the log nor the outbox has. */
  async #compare(after = 'start'): Promise<void> {
    const channel = this.#channel
    if (!channel || this.#phase === 'comparing') return
    clearTimeout(this.#timer)
    const turn = this.#enter('comparing')
    let difference: Difference | null
    try {
      // All of them, whatever the cursor: the log may be another one.
      const { messages } = await this.#read(channel, after, turn)
      if (turn !== this.#turn) return
      const isNew = isEmpty(this.#doc)
      this.apply(messages)
      // In an empty document, only its observers have written until now, and published it.
      difference = isNew ? null : this.#differenceTo(messages)
    } catch (error) {
      if (turn === this.#turn) this.#couldNotRead(error)
      return
    }
    // An observer may have disconnected.
    if (turn === this.#turn) this.#caughtUp(difference)
  }

  /** Repeats while the server that answers lags behind the one that has the stream. */
  async #read(channel: ChannelHandle, after: string, turn: number): Promise<Page> {
    for (let pauseMs = 0; ; pauseMs = behindMs) {
      const page = await channel.page(after, pauseMs)
      const reached = parseCursor(page.cursor)
      const start = parseCursor(this.#streamStart)
      const isBehind = reached?.epoch === start?.epoch && (reached?.seq ?? 0) < (start?.seq ?? 0)
      if (!isBehind || turn !== this.#turn) return page
    }
  }

  #couldNotRead(error: unknown): void {
    if (!this.#options.isRequired) {
      this.#listener.onUnreadable(error)
      return
    }
    this.#enter('unreadable')
    if (this.#listener.isOpen()) this.#compareIn(unreadablePauseMs)
  }

  #differenceTo(messages: readonly Message[]): Difference | null {
    return differenceOf(this.#doc, messages, this.#waiting())
  }

  #caughtUp(difference: Difference | null): void {
    if (difference?.isFirst && !difference.body) this.#withdraw()
    const turn = this.#enter('caughtUp')
    this.#retryMs = Number.POSITIVE_INFINITY
    if (difference?.body && this.#isMixed) {
      this.#refuse(otherUser)
      return
    }
    const draft = difference?.body && this.#publishDifference(difference.body, difference.isFirst)
    // A listener may have disconnected.
    if (turn !== this.#turn) return
    this.#difference = draft ?? null
    this.#uncertain = 0
    this.#unkept = 0
    if (difference?.body && !draft) {
      this.#full()
      return
    }
    this.#release()
    this.#resume()
    this.#listener.onCaughtUp()
    this.tellState()
  }

  /** The drafts that wait only delete what the log lacks. */
  #withdraw(): void {
    this.#difference = null
    this.#link?.outbox.withdraw(this.#isOwn)
  }

  #publishDifference(body: UpdateBody, isFirst: boolean): Draft | null {
    const { outbox } = this.#link as Link
    const later = isFirst ? outbox.drafts.pending.filter((one) => !isInFlight(one)) : []
    return outbox.publish(this.#options.channel, 'update', body, later)
  }

  /** Drops refused drafts, now in the log or the outbox, unless updates still wait for something missing. */
  #release(): void {
    if (pendingIn(this.#doc) === '') dropHeld((this.#link as Link).outbox, this.#options.channel)
  }
}

function dropHeld(outbox: Outbox, channel: string): void {
  const { held } = outbox.drafts
  if (held.length > 0) outbox.change({ held: held.filter(({ draft }) => draft.channel !== channel) })
}

function endDrafts(outbox: Outbox, channel: string): void {
  outbox.withdraw((draft) => draft.channel === channel, true)
  dropHeld(outbox, channel)
}

/** A window that is frozen hears no news; if it is then ended, another one would send what it has kept. */
async function eraseDrafts(outbox: Outbox, database: DraftDatabase, channel: string): Promise<void> {
  const records = await database.read(channel)
  const own = records.filter((one) => !outbox.isOthers(one))
  const ids = own.map(({ draft }) => draft.id)
  await database.change([], ids)
}

const ignore = () => undefined
