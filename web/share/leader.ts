// The way to the sharing place where there is no SharedWorker: one of the windows has it, for as long as it holds a lock,
// and is spoken to over BroadcastChannels. When it goes, the next one in the lock's queue leads.

import { createHost } from './host.ts'
import type { Line, LineEvents, Reach } from './line.ts'
import type { Locks } from './locks.ts'
import type { Place } from './place.ts'
import type { FromWindow, ToWindow } from './port.ts'

export interface LeaderParts {
  /** Names what these windows have in common: those of another build speak another language. */
  readonly name: string
  /** The name of a lock that this window holds. */
  readonly window: string
  readonly locks: Locks
  readonly openPlace: () => Place
  readonly newName: () => string
}

export interface Leading {
  readonly reach: Reach
  /** Stands for the lead; again is the same. */
  readonly stand: () => void
  /** Gives the lead, or the wish for it, back: this window is about to be frozen. */
  readonly resign: () => void
  /** Ends it all; for tests. */
  readonly close: () => void
}

/** What goes up: to a place, or to ask which there is. */
type Up = { readonly type: 'who' } | ({ readonly type: 'said'; readonly place: string } & FromWindow)

interface News {
  readonly place: string
}

interface Down {
  readonly place: string
  readonly said: ToWindow
}

export function createLeading(parts: LeaderParts): Leading {
  const { name, window } = parts
  const up = new BroadcastChannel(`${name} up`)
  const news = new BroadcastChannel(`${name} news`)
  const down = new BroadcastChannel(`${name} ${window}`)
  let place: string | null = null
  let events: LineEvents | null = null
  const waiting: (() => void)[] = []
  let standing: AbortController | null = null

  news.onmessage = ({ data }: MessageEvent<News>) => enter(data.place)
  down.onmessage = ({ data }: MessageEvent<Down>) => {
    if (data.place === place) events?.onSaid(data.said)
  }

  function enter(next: string): void {
    if (next === place) return
    const left = events
    place = next
    events = null
    left?.onGone()
    for (const reached of waiting.splice(0)) reached()
  }

  function stand(): void {
    if (standing) return
    standing = new AbortController()
    const { signal } = standing
    parts.locks
      .request(`${name} lead`, { signal }, () => lead(parts, signal))
      .catch((error) => {
        if (!signal.aborted) throw error
      })
  }

  function resign(): void {
    standing?.abort()
    standing = null
  }

  async function reach(on: LineEvents): Promise<Line> {
    stand()
    if (place === null) await known()
    events = on
    const to = place ?? ''
    return { post: (said) => tell({ type: 'said', place: to, window, said }) }
  }

  function known(): Promise<void> {
    tell({ type: 'who' })
    return new Promise((resolve) => waiting.push(resolve))
  }

  const tell = (said: Up) => up.postMessage(said)

  return {
    reach,
    stand,
    resign,
    close() {
      resign()
      for (const channel of [up, news, down]) channel.close()
    },
  }
}

/** Holds the place until the lead is given back. */
function lead({ name, locks, openPlace, newName }: LeaderParts, signal: AbortSignal): Promise<void> {
  const place = newName()
  const up = new BroadcastChannel(`${name} up`)
  const news = new BroadcastChannel(`${name} news`)
  const host = createHost({ place: openPlace(), locks, portTo })

  function portTo(window: string) {
    const down = new BroadcastChannel(`${name} ${window}`)
    return {
      post: (said: ToWindow) => down.postMessage({ place, said } satisfies Down),
      close: () => down.close(),
    }
  }

  const tellAll = () => news.postMessage({ place } satisfies News)

  up.onmessage = ({ data }: MessageEvent<Up>) => {
    if (data.type === 'who') tellAll()
    else if (data.place === place) host.hear(data)
  }
  tellAll()
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      host.close()
      for (const channel of [up, news]) channel.close()
      resolve()
    })
  })
}
