// Publishes drafts and keeps them, ordered and bounded, until the server stores or refuses each.

import type { Bodies, Draft, Kind, Stored, UpdateBody } from '../server/wire/messages.ts'
import type { Cancel, Random, Timers } from '../server/wire/time.ts'
import type { UnstoredDraft } from './draft-database.ts'
import type { DraftStore } from './draft-store.ts'
import { BusyError, type OpenTransport, RefusedError } from './transports/transport.ts'

export interface OutboxState {
  /** Edits, also those merged into one draft. */
  readonly unstored: number
  /** Edits dropped for newer ones since the outbox was last empty. */
  readonly superseded: number
  /** The newest message did not fit. */
  readonly isFull: boolean
  /** False where the browser cannot keep what is unstored beyond this window's life. */
  readonly isSaved: boolean
}

export interface OutboxParts {
  readonly window: string
  /** `bytes`: as JSON in UTF-8. */
  readonly bounds: { readonly messages: number; readonly bytes: number }
  readonly store: Pick<DraftStore, 'save'>
  /** One update that says what these say together; null where that cannot be told. */
  readonly mergeUpdates: (updates: readonly UpdateBody[]) => UpdateBody | null
  /** Whether what waits behind a message under way becomes one update; otherwise only very many do. */
  readonly mergesWaiting: boolean
  readonly timers: Timers
  readonly random: Random
  readonly onOutbox: (outbox: OutboxState) => void
  readonly onStored: (id: string, seq: number) => void
  /** `code`: one of PROTOCOL.md. */
  readonly onRefused: (id: string, sentence: string, code: string) => void
  /** A newer draft contains this one. */
  readonly onSuperseded: (id: string) => void
  /** Sent under a new id: the log holds another message of its id, or `draft` contains it and others. */
  readonly onRenamed: (id: string, draft: Draft) => void
}

/** A long outbox must not flood a server that just restarted. */
const mostAtOnce = 32

/** Edits are usually acknowledged within a few ms; while connected only slower ones are saved. */
const saveDelayMs = 250

/** At so many, waiting updates of this window are merged into one in any case, unless it grew larger. */
const updatesMerged = 64
const largestMergedBytes = 65_536

const utf8 = new TextEncoder()
const bytesOf = (draft: Draft) => utf8.encode(JSON.stringify(draft)).length

interface Kept extends UnstoredDraft {
  readonly bytes: number
}

export function createOutbox(parts: OutboxParts) {
  const { window, bounds, store, timers, random } = parts
  const drafts = new Map<string, Draft>()
  const kept = new Map<string, Kept>()
  let bytes = 0
  let edits = 0
  const newestOn = new Map<string, string>()
  /** New ids of renamed drafts. */
  const renamed = new Set<string>()
  let numbers = 0
  let plannedSave: Cancel | null = null
  let superseded = 0
  let isConnected = false
  let isFull = false
  let isSaved = true
  let isClosed = false

  const sender = createSender(drafts, timers, answered)

  function keep(one: UnstoredDraft, size = bytesOf(one.draft)): void {
    drafts.set(one.draft.id, one.draft)
    kept.set(one.draft.id, { ...one, bytes: size })
    newestOn.set(one.draft.channel, one.draft.id)
    bytes += size
    edits += one.edits
  }

  function remove(id: string): boolean {
    const one = kept.get(id)
    bytes -= one?.bytes ?? 0
    edits -= one?.edits ?? 0
    kept.delete(id)
    return drafts.delete(id)
  }

  /** False when there is no room. */
  function add(draft: Draft, cursor: string | null): boolean {
    const size = bytesOf(draft)
    const outdated = roomFor(draft, size)
    isFull = outdated === null
    if (outdated) {
      for (const { id } of outdated) remove(id)
      keep({ draft, cursor, edits: 1 }, size)
      for (const { id } of outdated) supersede(id)
    }
    sender.sendMore()
    changed()
    return !isFull
  }

  /** Merges the newest updates of this window that nothing of another one stands between. */
  function mergeWaiting(channel: string, least: number): void {
    const waiting: Kept[] = []
    let size = 0
    for (const one of [...kept.values()].reverse()) {
      const { draft } = one
      const isOwn = draft.kind === 'update' && draft.from === window && draft.channel === channel
      size += one.bytes
      if (!isOwn || sender.isUnderWay(draft.id) || size > largestMergedBytes) break
      waiting.unshift(one)
    }
    const newest = waiting.at(-1)
    if (newest === undefined || waiting.length < least) return
    const body = parts.mergeUpdates(waiting.map(({ draft }) => (draft as Draft<'update'>).body))
    if (body === null) return
    numbers += 1
    // A new id: the server may have stored one of them, and an id has one content.
    const draft = { ...newest.draft, id: `${window}-${numbers}`, body }
    const sum = waiting.reduce((total, one) => total + one.edits, 0)
    for (const one of waiting) remove(one.draft.id)
    keep({ draft, cursor: newest.cursor, edits: sum })
    for (const one of waiting) parts.onRenamed(one.draft.id, draft)
  }

  /** Drafts to drop so that one of `size` bytes fits; null when that is not enough. */
  function roomFor(draft: Draft, size: number): readonly Draft[] | null {
    let messagesOver = drafts.size + 1 - bounds.messages
    let bytesOver = bytes + size - bounds.bytes
    const going: Draft[] = []
    for (const old of drafts.values()) {
      if (messagesOver <= 0 && bytesOver <= 0) break
      const isContained = draft.kind === 'edit' && old.kind === 'edit' && old.channel === draft.channel
      if (!isContained || sender.isUnderWay(old.id)) continue
      going.push(old)
      messagesOver -= 1
      bytesOver -= kept.get(old.id)?.bytes ?? 0
    }
    return messagesOver <= 0 && bytesOver <= 0 ? going : null
  }

  function supersede(id: string): void {
    superseded += 1
    parts.onSuperseded(id)
  }

  /** A resent message may be answered twice; the first answer counts. */
  function answered(draft: Draft, answer: Stored | RefusedError): void {
    const { id } = draft
    const { cursor = null, edits = 1 } = kept.get(id) ?? {}
    if (isClosed || !remove(id)) return
    if (!(answer instanceof RefusedError)) parts.onStored(id, answer.seq)
    else if (answer.code !== 'id-taken' || renamed.has(id)) parts.onRefused(id, answer.message, answer.code)
    else if (draft.kind !== 'edit' || newestOn.get(draft.channel) === id) rename({ draft, cursor, edits })
    // Resending would put it after newer messages, which contain it.
    else supersede(id)
    renamed.delete(id)
    isFull = false
    // Over a slow network a mode that sends one at a time would fall further behind with each key.
    if (parts.mergesWaiting) mergeWaiting(draft.channel, 2)
    if (drafts.size === 0) superseded = 0
    changed()
  }

  /** Resends under a random id; a second refusal is final. */
  function rename({ draft, cursor, edits }: UnstoredDraft): void {
    numbers += 1
    const id = `${window}-${numbers}r${Math.floor(random() * 36 ** 8).toString(36)}`
    const next = { ...draft, id, from: window }
    keep({ draft: next, cursor, edits })
    renamed.add(id)
    parts.onRenamed(draft.id, next)
  }

  function changed(): void {
    if (drafts.size === 0 || !isConnected) save()
    else plannedSave ??= timers.later(save, saveDelayMs)
    parts.onOutbox(state())
  }

  function save(): void {
    plannedSave?.()
    plannedSave = null
    store
      .save([...kept.values()].map(({ draft, cursor, edits }) => ({ draft, cursor, edits })))
      .then((isDone) => {
        if (isDone === isSaved || isClosed) return
        isSaved = isDone
        parts.onOutbox(state())
      })
  }

  const state = (): OutboxState => ({ unstored: edits, superseded, isFull, isSaved })

  return {
    /**
     * Numbers, stamps and accepts a message; `cursor` is the window's log position. At the bound, the oldest
     * unsent edits of the channel are dropped: an edit carries the whole content. Null, with nothing changed,
     * when that frees too little.
     */
    publish<K extends Kind>(channel: string, kind: K, body: Bodies[K], cursor: string | null) {
      if (kind === 'update') mergeWaiting(channel, updatesMerged)
      numbers += 1
      const draft = { id: `${window}-${numbers}`, channel, kind, from: window, at: timers.now(), body }
      return add(draft, cursor) ? draft : null
    },
    /** Takes drafts of closed windows, beyond the bounds too. */
    adopt(left: readonly UnstoredDraft[]): void {
      for (const one of left) if (!drafts.has(one.draft.id)) keep(one)
      // The store learns that they are this window's now, before the server may store them.
      save()
      sender.sendMore()
      changed()
    },
    connected(...sending: Parameters<typeof sender.connected>): void {
      isConnected = true
      sender.connected(...sending)
    },
    disconnected(): void {
      isConnected = false
      sender.disconnected()
      if (drafts.size > 0 && !isClosed) save()
    },
    save,
    state,
    close(): void {
      isClosed = true
      plannedSave?.()
    },
  }
}

/** A new round begins with each connection and after each busy pause. */
interface SendRound {
  readonly send: OpenTransport['send']
  readonly mostUnderWay: number
  readonly onBroken: () => void
  readonly underWay: Set<string>
}

/**
 * Sends `drafts` in order, at most `mostUnderWay` of a connection at a time; all of them again over the next connection or
 * when a busy server's pause is over. `onAnswer` removes a draft; it may be called twice for the same one.
 */
export function createSender(
  drafts: ReadonlyMap<string, Draft>,
  timers: Timers,
  onAnswer: (draft: Draft, answer: Stored | RefusedError) => void,
) {
  let round: SendRound | null = null
  let stopPause: Cancel | null = null

  /** `onBroken`: a send failed, its fate unknown. */
  function connected(
    send: OpenTransport['send'],
    onBroken: () => void,
    mostUnderWay: number = mostAtOnce,
  ): void {
    disconnected()
    round = { send, mostUnderWay, onBroken, underWay: new Set() }
    sendMore()
  }

  /** Pending sends may still be answered. */
  function disconnected(): void {
    stopPause?.()
    stopPause = null
    round = null
  }

  function sendMore(): void {
    if (round === null || stopPause !== null) return
    for (const draft of drafts.values()) {
      if (round.underWay.size >= round.mostUnderWay) return
      if (!round.underWay.has(draft.id)) send(draft, round)
    }
  }

  function send(draft: Draft, own: SendRound): void {
    own.underWay.add(draft.id)
    own.send(draft).then(
      (stored) => answered(draft, own, stored),
      (error) => {
        if (error instanceof RefusedError) answered(draft, own, error)
        // Failures of a finished round are ignored.
        else if (own === round) failed(error, own)
      },
    )
  }

  function answered(draft: Draft, own: SendRound, answer: Stored | RefusedError): void {
    own.underWay.delete(draft.id)
    onAnswer(draft, answer)
    sendMore()
  }

  function failed(error: unknown, own: SendRound): void {
    if (!(error instanceof BusyError)) own.onBroken()
    // The server rejected all later sends too, so that none overtakes another.
    else
      stopPause ??= timers.later(
        () => connected(own.send, own.onBroken, own.mostUnderWay),
        error.retryAfterMs,
      )
  }

  return { connected, disconnected, sendMore, isUnderWay: (id: string) => round?.underWay.has(id) ?? false }
}
