// A document's history: any version of it, and who wrote each piece of its text.

import * as Y from 'yjs'
import {
  createDocument,
  documentText,
  isEnded,
  type Line,
  linesOf,
  type TextRun,
} from '../../app/document/rich-text.ts'
import { fromBase64 } from '../../protocol/base64.ts'
import type { HistoryPortion } from '../../protocol/document-history.ts'
import { fingerprintIn } from '../../protocol/messages.ts'
import { cleanName, unchosenName } from '../editor/presence.ts'
import { Marks } from './marks.ts'

/** Text in a line by one author, in order. */
interface Segment {
  /** Null if only the base has it. */
  readonly author: Author | null
  readonly runs: readonly TextRun[]
  /** Compared with an earlier version. */
  readonly isAdded: boolean
  /** What an earlier version had before it; often empty. */
  readonly removed: string
}

export interface Author {
  /** The window whose update inserted the text. */
  readonly window: string | null
  /** Empty unless the person chose a name. */
  readonly name: string
}

/** The author's name; null is the author of the base. */
export function formatAuthor(author: Author | null): string {
  if (author === null) return 'Earlier'
  return author.name || unchosenName(author.window ?? '')
}

export interface Version {
  readonly lines: readonly Line[]
  readonly segments: ReadonlyMap<Line, readonly Segment[]>
}

/** A person's updates without a long pause, in order. */
interface Sitting {
  /** The numbers of its versions, which may have others' in between. */
  readonly versions: readonly number[]
  /** Ms since the epoch. */
  readonly from: number
  readonly to: number
}

/** Pause that separates two sittings of a person. */
const longPauseMs = 5 * 60_000

/** Updates between two checkpoints: the maximum that a jump applies. */
const checkpointEvery = 1000
/** Total size of checkpoints in bytes; beyond it every second one is dropped. */
const maxCheckpointBytes = 64_000_000

/** Version 0 is the base; each update makes the next version. */
export class Replay {
  readonly #updates: { readonly bytes: Uint8Array; readonly from: string; readonly at: number }[] = []
  readonly #checkpoints = new Map<number, Uint8Array>()
  #checkpointBytes = 0
  #spacing = checkpointEvery
  #baseAt: number | null = null
  /** The window of each Yjs client introduced by the updates. */
  readonly #windows = new Map<number, string>()
  /** Holds the newest version added. */
  readonly #newest = createDocument()
  #shown = createDocument()
  #shownVersion = 0
  /** The version with which others are compared, while they are shown one after the other. */
  #compared: { readonly version: number; readonly lines: readonly Line[] } | null = null

  /** The number of the newest version. */
  get newest(): number {
    return this.#updates.length
  }

  /** When the version was made, ms since the epoch; null for an empty beginning. */
  timeOf(version: number): number | null {
    return this.#updates[version - 1]?.at ?? this.#baseAt
  }

  /** Returns the author of a version; null for the base. */
  authorOf(version: number): Author | null {
    const update = this.#updates[version - 1]
    if (!update) return null
    for (const [client, window] of this.#windows) {
      const name = window === update.from ? nameOf(this.#newest, client) : ''
      if (name !== '') return { window, name }
    }
    return { window: update.from, name: '' }
  }

  /** All versions except the base, by sitting; the one that ended last comes last. */
  sittings(): Sitting[] {
    const all: { person: string; versions: number[]; from: number; to: number }[] = []
    const newest = new Map<string, (typeof all)[number]>()
    for (const [index, { from, at }] of this.#updates.entries()) {
      // All windows of a browser have the same fingerprint.
      const person = fingerprintIn(from) ?? from
      const sitting = newest.get(person)
      if (sitting && at - sitting.to <= longPauseMs) {
        sitting.versions.push(index + 1)
        sitting.to = at
      } else {
        const next = { person, versions: [index + 1], from: at, to: at }
        newest.set(person, next)
        all.push(next)
      }
    }
    const end = ({ versions }: Sitting) => versions.at(-1) ?? 0
    return all.sort((one, other) => end(one) - end(other))
  }

  /**
   * The version at that moment, ms since the epoch; null if the log does not reach back that far.
   */
  versionAt(at: number): number | null {
    const exact = this.#updates.findLastIndex((update) => update.at === at)
    // The log may have lost that update.
    const index = exact === -1 ? this.#updates.findLastIndex((update) => update.at <= at) : exact
    if (index !== -1) return index + 1
    return this.#baseAt !== null && at >= this.#baseAt ? 0 : null
  }

  /** Whether there is text whose authors the log no longer distinguishes. */
  get hasBase(): boolean {
    return this.#baseAt !== null
  }

  add({ base, updates }: HistoryPortion): void {
    const bytesOfBase = base && fromBase64(base.update)
    if (base && bytesOfBase) {
      Y.applyUpdate(this.#newest, bytesOfBase)
      // The base before the very first update is empty.
      if (this.#newest.store.clients.size > 0) this.#baseAt = base.acceptedAt
      this.#keep(0)
    }
    if (this.#updates.length === 0 && !base) this.#keep(0)
    for (const { update, from, acceptedAt } of updates) {
      const bytes = fromBase64(update)
      const { clients } = this.#newest.store
      const known = clients.size
      Y.applyUpdate(this.#newest, bytes)
      // A window has a new client each time it opens; others are rare.
      if (clients.size > known)
        for (const client of clients.keys())
          if (!this.#windows.has(client) && !this.#isOfBase(client)) this.#windows.set(client, from)
      this.#updates.push({ bytes, from, at: acceptedAt })
      if (this.#updates.length % this.#spacing === 0) this.#keep(this.#updates.length)
    }
  }

  readonly #baseClients = new Set<number>()

  #isOfBase(client: number): boolean {
    return this.#baseClients.has(client)
  }

  #keep(version: number): void {
    if (version === 0) for (const client of this.#newest.store.clients.keys()) this.#baseClients.add(client)
    const state = Y.encodeStateAsUpdate(this.#newest)
    this.#checkpoints.set(version, state)
    this.#checkpointBytes += state.length
    if (this.#checkpointBytes <= maxCheckpointBytes) return
    this.#spacing *= 2
    for (const [kept, { length }] of this.#checkpoints) {
      if (kept % this.#spacing === 0) continue
      this.#checkpoints.delete(kept)
      this.#checkpointBytes -= length
    }
  }

  /** `since`: the version with which it is compared. */
  show(version: number, since = version): Version {
    const before = this.#linesAt(since)
    this.#goTo(version)
    const text = documentText(this.#shown)
    const lines = linesOf(text)
    return { lines, segments: this.#segmentsOf(text, lines, new Marks(before, lines)) }
  }

  #linesAt(version: number): readonly Line[] {
    if (this.#compared?.version !== version) {
      this.#goTo(version)
      this.#compared = { version, lines: linesOf(documentText(this.#shown)) }
    }
    return this.#compared.lines
  }

  #goTo(version: number): void {
    const nearest = Math.max(...[...this.#checkpoints.keys()].filter((kept) => kept <= version), 0)
    if (this.#shownVersion > version || nearest > this.#shownVersion || this.#shownVersion === 0) {
      this.#shown.destroy()
      this.#shown = createDocument()
      const state = this.#checkpoints.get(nearest)
      if (state) Y.applyUpdate(this.#shown, state)
      this.#shownVersion = nearest
    }
    const missing = this.#updates.slice(this.#shownVersion, version)
    this.#shown.transact(() => {
      for (const { bytes } of missing) Y.applyUpdate(this.#shown, bytes)
    })
    this.#shownVersion = version
  }

  /** Pieces of the lines' runs, cut where the author or the mark changes. */
  #segmentsOf(text: Y.Text, lines: readonly Line[], marks: Marks): Map<Line, Segment[]> {
    const spans = clientsOf(text)
    let span = 0
    let used = 0
    const take = (most: number): { client: number; length: number } => {
      const current = spans[span] ?? { client: 0, length: most }
      const length = Math.min(most, current.length - used)
      used += length
      if (used === current.length) {
        span += 1
        used = 0
      }
      return { client: current.client, length }
    }
    const pieces = marks.piecesOf(lines)
    const found = new Map<Line, Segment[]>()
    for (const line of lines) {
      const segments: Segment[] = []
      const runs = piecesOf(line.runs)
      for (const { isAdded, length, removed } of pieces.get(line) ?? []) {
        if (length === 0) segments.push({ author: null, runs: [], isAdded, removed })
        for (let left = length, before = removed; left > 0; before = '') {
          const { client, length: taken } = take(left)
          segments.push({ author: this.#author(client), runs: runs.take(taken), isAdded, removed: before })
          left -= taken
        }
      }
      if (isEnded(line)) take(1)
      found.set(line, segments)
    }
    return found
  }

  #author(client: number): Author | null {
    const window = this.#windows.get(client) ?? null
    const name = nameOf(this.#newest, client)
    return window === null && name === '' ? null : { window, name }
  }
}

function nameOf(doc: Y.Doc, client: number): string {
  const entry: unknown = doc.getMap('authors').get(String(client))
  const isNamed = typeof entry === 'object' && entry !== null && 'name' in entry
  return isNamed && typeof entry.name === 'string' ? cleanName(entry.name) : ''
}

/** Takes runs apart, from the beginning. */
function piecesOf(runs: readonly TextRun[]) {
  let index = 0
  let used = 0
  return {
    take(length: number): readonly TextRun[] {
      const taken: TextRun[] = []
      for (let left = length; left > 0; ) {
        const run = runs[index]
        if (!run) break
        const text = run.text.slice(used, used + left)
        taken.push({ text, marks: run.marks })
        left -= text.length
        used += text.length
        if (used < run.text.length) break
        index += 1
        used = 0
      }
      return taken
    },
  }
}

/** The clients that wrote the visible text, in its order. */
function clientsOf(text: Y.Text): { client: number; length: number }[] {
  const spans: { client: number; length: number }[] = []
  for (let item = text._start; item !== null; item = item.right) {
    if (item.deleted || !item.countable) continue
    const { client } = item.id
    const last = spans.at(-1)
    if (last?.client === client) last.length += item.length
    else spans.push({ client, length: item.length })
  }
  return spans
}
