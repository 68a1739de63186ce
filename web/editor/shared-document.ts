// The shared document of a window: publishes the user's changes, applies those of the log.

import { fromBase64, toBase64 } from 'lib0/buffer'
import * as Y from 'yjs'
import { createDocument, documentText } from '../../server/document/rich-text.ts'
import { type Draft, isKind, type Message, type UpdateBody } from '../../server/wire/messages.ts'
import type { Random, Timers } from '../../server/wire/time.ts'
import type { Recorder } from '../lab.ts'
import type { Unshared } from '../store.ts'
import type { Binding, BindingParts } from './binding.ts'

interface SharedDocumentParts {
  readonly channel: string
  /** Null while the outbox is full, until `publishUnsent`. */
  readonly publish: (update: string) => Draft<'update'> | null
  readonly recorder: Recorder
  readonly timers: Timers
  readonly random: Random
  /** Time in which own updates are merged, ms; 0 publishes each. */
  readonly mergeMs: number
  /** While false nothing is sent, so that nothing waits to be merged: what is published is kept beyond the window. */
  readonly isConnected?: () => boolean
  /** Size limit of a message, UTF-8. */
  readonly maxBytes: number
  /** Called on change only. */
  readonly onUnshared: (unshared: Unshared | null) => void
  /** Whether there are changes that `publish` has not been given yet. Called on change only. */
  readonly onWaiting?: (isWaiting: boolean) => void
  /** The user's chosen name, at most 40 characters; empty for none. */
  readonly author?: () => string
  /** After another window's update was applied; for presence. */
  readonly onRemote?: (message: Message<'update'>) => void
}

export type SharedDocument = ReturnType<typeof createSharedDocument>

/** Most bytes of a message without its update. */
const envelopeBytes = 512

/** Before a window brings its document to a new log: what the log still holds arrives first. */
const newLogPauseMs = { least: 300, spread: 1200 }

/**
 * Yjs updates commute and repeat without effect: a window applies its own before they are stored, and those of the log
 * as they come. The binding draws them in the next frame.
 */
export function createSharedDocument(parts: SharedDocumentParts) {
  const { channel, publish, recorder, timers, random, mergeMs, maxBytes, onUnshared } = parts
  const { isConnected = () => true } = parts
  const doc = createDocument()
  const text = documentText(doc)
  /** The origin of changes that are not the user's, or are already in the outbox. */
  const fromLog = Symbol('log')
  const mostBytes = Math.floor(((maxBytes - envelopeBytes) * 3) / 4)

  let binding: Binding | null = null
  let inputAt: number | null = null
  let firstInputAt: number | null = null
  let unsent: Uint8Array[] = []
  let publishedAt = Number.NEGATIVE_INFINITY
  let cancelPublish: (() => void) | null = null
  let isPublishing = false
  let isWaiting = false
  const unrefused = new Set<string>()
  let unshared: Unshared | null = null

  /** Applied to the document, but not drawn yet. */
  let undrawn: Message<'update'>[] = []

  /** What a new log holds, until this window has compared it with its document. */
  let newLog: { readonly updates: Uint8Array[]; readonly cancel: () => void } | null = null

  function onUpdate(update: Uint8Array, origin: unknown): void {
    if (origin === fromLog) return
    unsent.push(update)
    firstInputAt ??= inputAt
    inputAt = null
    plan()
    tellWaiting()
  }

  doc.on('update', onUpdate)

  /** The first update after a pause leaves at once, later ones when `mergeMs` are over. */
  function plan(): void {
    if (cancelPublish !== null) return
    const delayMs = publishedAt + mergeMs - timers.now()
    if (delayMs <= 0 || !isConnected()) publishUnsent()
    else cancelPublish = timers.later(publishUnsent, delayMs)
  }

  function publishUnsent(): void {
    cancelPublish?.()
    cancelPublish = null
    // The outbox tells of its change within `publish`, and that it has room.
    if (isPublishing) return
    isPublishing = true
    publishAll()
    isPublishing = false
    tellWaiting()
  }

  function tellWaiting(): void {
    if (isWaiting === unsent.length > 0) return
    isWaiting = !isWaiting
    parts.onWaiting?.(isWaiting)
  }

  function publishAll(): void {
    while (unsent.length > 0) {
      const count = mergeable()
      const draft = publish(toBase64(Y.mergeUpdates(unsent.slice(0, count))))
      if (draft === null) return
      unsent = unsent.slice(count)
      publishedAt = timers.now()
      unrefused.add(draft.id)
      recorder.sent(draft, firstInputAt)
      firstInputAt = null
    }
  }

  /** How many of the oldest updates fit into one message; at least one. */
  function mergeable(): number {
    if (mergeMs === 0) return 1
    let bytes = 0
    const over = unsent.findIndex(({ length }) => {
      bytes += length
      return bytes > mostBytes
    })
    return over < 0 ? unsent.length : Math.max(1, over)
  }

  function setUnshared(next: Unshared | null): void {
    if (next === unshared) return
    unshared = next
    onUnshared(next)
  }

  function apply(update: Uint8Array): void {
    // While anybody listens, Yjs encodes what it was given anew.
    doc.off('update', onUpdate)
    try {
      Y.applyUpdate(doc, update, fromLog)
    } catch (error) {
      // The server admits no such update; if one comes all the same, the others must still be shown.
      console.error('An update of the document could not be applied.', error)
    } finally {
      doc.on('update', onUpdate)
    }
  }

  /** Enters the user's name beside the Yjs client, for the history. */
  function sign(): void {
    const name = parts.author?.() ?? ''
    const authors = doc.getMap<{ readonly name: string }>('authors')
    const client = String(doc.clientID)
    if (name !== '' && authors.get(client)?.name !== name) authors.set(client, { name })
  }

  /** Publishes what the log lacks: a server that lost its log gets the document back from its windows. */
  function completeNewLog(): void {
    const held = createDocument()
    for (const update of newLog?.updates ?? []) Y.applyUpdate(held, update)
    newLog = null
    if (!Y.equalSnapshots(Y.snapshot(doc), Y.snapshot(held))) {
      unsent.push(Y.encodeStateAsUpdate(doc, Y.encodeStateVector(held)))
      publishUnsent()
    }
    held.destroy()
  }

  return {
    doc,
    binding: () => binding,
    /** The returned function detaches; the document stays for the next editor. */
    attach(root: HTMLElement, bind: (parts: BindingParts) => Binding, rest: Partial<BindingParts> = {}) {
      const bound = bind({
        mayWrite: true,
        ...rest,
        root,
        text,
        onInput(at) {
          sign()
          inputAt = at
        },
        onApplied() {
          for (const message of undrawn) recorder.applied(message)
          undrawn = []
          rest.onApplied?.()
        },
      })
      binding = bound
      return () => {
        bound.stop()
        binding = null
        undrawn = []
      }
    },
    received(message: Message): void {
      if (!isKind(message, 'update') || message.channel !== channel) return
      newLog?.updates.push(fromBase64(message.body.update))
      if (unrefused.has(message.id)) return
      // First, since the binding may draw the change at once.
      if (binding) undrawn.push(message)
      apply(fromBase64(message.body.update))
      parts.onRemote?.(message)
    },
    stored(id: string): void {
      unrefused.delete(id)
    },
    /** False when the update reaches the log in another way, so that nobody need know. */
    refused(id: string): boolean {
      const isOwn = unrefused.delete(id)
      // It may build on what the new log lacks, and goes there with the rest of the document.
      if (isOwn && newLog !== null) return false
      // The log cannot take later updates either: they build on this one.
      if (isOwn) setUnshared({ reason: 'refused' })
      return true
    },
    superseded: (_id: string) => undefined,
    renamed(id: string, draft: Draft): void {
      if (unrefused.delete(id)) unrefused.add(draft.id)
    },
    /** Shows updates that are in the outbox: from before a reload, or from a closed window. */
    restore(drafts: readonly Draft[]): void {
      for (const draft of drafts) {
        if (draft.kind !== 'update' || draft.channel !== channel) continue
        unrefused.add(draft.id)
        apply(fromBase64((draft as Draft<'update'>).body.update))
      }
    },
    /** Publishes at once what waits to be merged, or for room. */
    publishUnsent,
    newLog(): void {
      newLog?.cancel()
      const delayMs = newLogPauseMs.least + random() * newLogPauseMs.spread
      newLog = { updates: [], cancel: timers.later(completeNewLog, delayMs) }
    },
  }
}

/** For the outbox: one update that says what these say together. */
export function mergeUpdates(updates: readonly UpdateBody[]): UpdateBody {
  return { update: toBase64(Y.mergeUpdates(updates.map(({ update }) => fromBase64(update)))) }
}
