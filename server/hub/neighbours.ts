// What the servers of one log tell each other: how many windows they have, who is shown where, and what a request that came to one
// of them means for a client of another.

import type { Bus } from '../log/log.ts'
import type { AwarenessReport, AwarenessState } from '../wire/messages.ts'
import type { Timers } from '../wire/time.ts'
import type { Awareness } from './awareness.ts'
import type { Registry } from './registry.ts'

/** For a client of another server: a request need not come to the server that has the stream. */
export type Said =
  | { readonly type: 'polled'; readonly window: string }
  | { readonly type: 'heard'; readonly window: string; readonly carries?: Readonly<Record<string, number>> }
  | { readonly type: 'left'; readonly window: string; readonly opening: number }
  | { readonly type: 'opened'; readonly window: string; readonly opening: number }
  | {
      readonly type: 'show'
      readonly window: string
      readonly report: AwarenessReport
      readonly opening: number
    }

interface ShownElsewhere {
  readonly channel: string
  readonly window: string
  readonly owner: string | null
  readonly state: AwarenessState | null
}

export interface Counts {
  /** Windows by page, without polling ones of proven names. */
  readonly pages: ReadonlyMap<string, number>
  /** Streams over connections of which a browser has few, by its fingerprint. */
  readonly owners: ReadonlyMap<string, number>
  /** Clients that read a page's overview, by the overview's channel. */
  readonly overviews: ReadonlyMap<string, number>
}

export const noCounts: Counts = { pages: new Map(), owners: new Map(), overviews: new Map() }

type CountsName = keyof Counts

const countsNames = ['pages', 'owners', 'overviews'] as const satisfies readonly CountsName[]

type PlainCounts = Readonly<Record<CountsName, Readonly<Record<string, number>>>>

export interface Elsewhere {
  readonly counts: () => Counts
  /** This server's own may have changed. */
  readonly onCounted: () => void
}

type Told =
  | Said
  /** A server begins, or has missed something: the others tell it everything. */
  | { readonly type: 'hello' }
  /** What has changed since the last ones, 0 for nothing left; `isWhole`: forget those from before. */
  | ({ readonly type: 'counts'; readonly isWhole: boolean; readonly mayLead: boolean } & PlainCounts)
  /** Pages of polling clients by their proven names; their next poll may come to any server. */
  | { readonly type: 'polls'; readonly pages: Readonly<Record<string, string>> }
  | { readonly type: 'shown'; readonly shown: readonly ShownElsewhere[] }
  | { readonly type: 'gone' }

/** `from` is the server. Others of the same version wrote it: its shape is not checked. */
type Note = Told & { readonly from: string }

interface NeighboursParts {
  readonly bus: Bus
  /** Of this server, unique. */
  readonly server: string
  /** Of the servers that may, the one with the least name leads: it does what one of them has to do. */
  readonly mayLead: boolean
  readonly timers: Timers
  readonly heartbeatMs: number
  readonly registry: Registry
  readonly awareness: Awareness
  /** Where the client is of this server; otherwise nothing. */
  readonly onSaid: (said: Said) => void
  /** Other servers have more readers of this overview than before, or this server leads from now on. */
  readonly onJoined: (overview: string) => void
}

/** Between notes of the same kind, ms. */
const shownPauseMs = 50
const polledPauseMs = 1000

/** Counts come at least twice a heartbeat, changed or not; a server from which two did not come is gone. */
const countsPerHeartbeat = 2
const countsMissed = 2.5

/** In one note, which a broker takes up to some size. */
const mostCountsInNote = 2000

export type Neighbours = ReturnType<typeof joinNeighbours>

export function joinNeighbours(parts: NeighboursParts) {
  const { bus, server, mayLead, timers, heartbeatMs, registry, awareness, onSaid, onJoined } = parts
  const others = new Map<string, Other>()
  const polling = new Map<string, { readonly page: string; readonly at: number }>()
  /** Not posted yet, by channel and window; the newest of each. */
  let shown = new Map<string, ShownElsewhere>()
  let polled = new Map<string, string>()
  let stopShown: (() => void) | null = null
  let stopPolled: (() => void) | null = null
  let stopCounts = timers.later(repeatCounts, heartbeatMs / countsPerHeartbeat)
  let posted: Counts = noCounts
  let isClosed = false

  const post = (told: Told) => void (isClosed || bus.post({ ...told, from: server }))

  /** Posts at least one note. */
  function postCounts(isWhole = false): void {
    const counts = registry.counts()
    const changes = changesOf(isWhole ? noCounts : posted, counts)
    posted = counts
    for (let first = 0; first === 0 || first < changes.length; first += mostCountsInNote) {
      const some = changes.slice(first, first + mostCountsInNote)
      const plain = (wanted: CountsName) =>
        Object.fromEntries(some.filter(([name]) => name === wanted).map(([, key, count]) => [key, count]))
      const counted = { pages: plain('pages'), owners: plain('owners'), overviews: plain('overviews') }
      post({ type: 'counts', isWhole: isWhole && first === 0, mayLead, ...counted })
    }
  }

  function repeatCounts(): void {
    postCounts()
    const latest = timers.now() - (heartbeatMs / countsPerHeartbeat) * countsMissed
    for (const [other, { heardAt }] of others) if (heardAt < latest) forget(other)
    const { size } = polling
    for (const [window, { at }] of polling) if (at < latest) polling.delete(window)
    if (polling.size < size) registry.presenceChanged()
    stopCounts = timers.later(repeatCounts, heartbeatMs / countsPerHeartbeat)
  }

  function forget(other: string): void {
    awareness.serverLeft(other)
    const wasLeading = leads()
    if (others.delete(other)) registry.presenceChanged()
    if (wasLeading || !leads()) return
    for (const { overviews } of [registry.counts(), ...others.values()])
      for (const overview of overviews.keys()) onJoined(overview)
  }

  function leads(): boolean {
    return mayLead && others.entries().every(([name, other]) => !other.mayLead || name > server)
  }

  function tellAll(): void {
    postCounts(true)
    const all = awareness.ownShown()
    if (all.length > 0) post({ type: 'shown', shown: all })
  }

  function take(note: Note): void {
    const { from } = note
    if (isClosed || from === server) return
    const known = others.get(from)
    if (known) known.heardAt = timers.now()
    if (note.type === 'hello') tellAll()
    else if (note.type === 'gone') forget(from)
    else if (note.type === 'counts') takeCounts(from, note)
    else if (note.type === 'polls') takePolls(note.pages)
    else if (note.type === 'shown') {
      for (const { owner, ...report } of note.shown) awareness.showFrom(from, owner, report)
    } else {
      settle(note)
      onSaid(note)
    }
  }

  function takeCounts(from: string, told: Extract<Told, { type: 'counts' }>): void {
    const { isWhole, mayLead } = told
    const known = others.get(from)
    // Of one that was taken for gone, or whose first note was lost.
    if (!known && !isWhole) {
      post({ type: 'hello' })
      return
    }
    const other: Other =
      known && !isWhole
        ? known
        : { pages: new Map(), owners: new Map(), overviews: new Map(), heardAt: 0, mayLead }
    other.heardAt = timers.now()
    const joined = Object.entries(told.overviews).filter(
      ([key, count]) => count > (known?.overviews.get(key) ?? 0),
    )
    for (const name of countsNames)
      for (const [key, count] of Object.entries(told[name]))
        if (count > 0) other[name].set(key, count)
        else other[name].delete(key)
    others.set(from, other)
    if (isWhole || countsNames.some((name) => Object.keys(told[name]).length > 0)) registry.presenceChanged()
    for (const [overview] of joined) onJoined(overview)
  }

  /** It polls no more. */
  function settle({ type, window }: Said): void {
    if ((type === 'left' || type === 'opened') && polling.delete(window)) registry.presenceChanged()
  }

  function takePolls(pages: Readonly<Record<string, string>>): void {
    const { size } = polling
    for (const [window, page] of Object.entries(pages)) {
      polling.set(window, { page, at: timers.now() })
      onSaid({ type: 'polled', window })
    }
    if (polling.size > size) registry.presenceChanged()
  }

  awareness.onOwn = (changed) => {
    shown.set(`${changed.channel} ${changed.window}`, changed)
    stopShown ??= timers.later(() => {
      stopShown = null
      post({ type: 'shown', shown: [...shown.values()] })
      shown = new Map()
    }, shownPauseMs)
  }
  registry.elsewhere = {
    counts(): Counts {
      const sum = { pages: new Map(), owners: new Map(), overviews: new Map() }
      for (const other of others.values())
        for (const name of countsNames)
          for (const [key, count] of other[name]) sum[name].set(key, (sum[name].get(key) ?? 0) + count)
      for (const [window, { page }] of polling)
        if (!registry.named(window)) sum.pages.set(page, (sum.pages.get(page) ?? 0) + 1)
      return sum
    },
    onCounted() {
      if (changesOf(posted, registry.counts()).length > 0) postCounts()
    },
  }
  bus.follow(
    (note) => take(note as Note),
    () => {
      post({ type: 'hello' })
      tellAll()
    },
  )
  bus.bequeath?.({ type: 'gone', from: server } satisfies Note)
  post({ type: 'hello' })

  return {
    leads,
    say(said: Said): void {
      settle(said)
      post(said)
    },
    /** A poll of a proven name came here. */
    polled(window: string, page: string): void {
      polled.set(window, page)
      stopPolled ??= timers.later(() => {
        stopPolled = null
        post({ type: 'polls', pages: Object.fromEntries(polled) })
        polled = new Map()
      }, polledPauseMs)
    },
    close(): void {
      post({ type: 'gone' })
      isClosed = true
      for (const stop of [stopShown, stopPolled, stopCounts]) stop?.()
    },
  }
}

interface Other extends Record<CountsName, Map<string, number>> {
  heardAt: number
  readonly mayLead: boolean
}

function changesOf(before: Counts, after: Counts): (readonly [CountsName, key: string, count: number])[] {
  return countsNames.flatMap((name) => {
    const [old, young] = [before[name], after[name]]
    const changed = [...young].filter(([key, count]) => old.get(key) !== count)
    const gone = [...old.keys()].filter((key) => !young.has(key))
    return [
      ...changed.map(([key, count]) => [name, key, count] as const),
      ...gone.map((key) => [name, key, 0] as const),
    ]
  })
}
