// Who is here: every open stream, and every window that polls and was heard of lately.

import type { Timers } from '../wire/time.ts'
import type { Visitor, Window } from './window.ts'

/** One entry of the crowd. */
export interface Guest {
  readonly visitor: Visitor
  /** The open stream; null for a window that polls. */
  readonly window: Window | null
  /** When it last let hear of itself, ms since the epoch; null while it never did, which nobody is asked to. */
  heardAt: number | null
  /** Nothing is expected of a polling window before then: its question is held. */
  quietUntil: number | null
  /** For a stream that carries several windows: how many, by their first channel. */
  carries: ReadonlyMap<string, number> | null
  /** What it was last told of who is here, so that a poll is told only of changes. */
  toldPresence: string | null
}

export interface Crowd {
  /** An older stream of the same window gives way and is returned. Null in its place: the newcomer is the older one. */
  readonly join: (window: Window) => { readonly replaced: Window | null } | null
  readonly leave: (window: Window) => boolean
  /** A window polled. Null when it has a stream by now: then it is not a polling one any more. */
  readonly polled: (visitor: Visitor, heldForMs?: number) => Guest | null
  /** Windows that poll. */
  readonly pollers: () => number
  /** A polling window was told to go; or says so itself, at that opening: a question of it that comes later is its past. */
  readonly left: (id: string, opening?: number) => boolean
  readonly find: (id: string) => Guest | undefined
  readonly windowOn: (channel: string) => ReadonlySet<Window>
  /** Whether anybody reads that channel, over a stream or by polling. */
  readonly isRead: (channel: string) => boolean
  readonly all: () => Iterable<Guest>
  readonly size: () => number
  /** Forgets those that polled and were not heard of for that long; says how many. */
  readonly forgetSilent: (silenceMs: number) => number
  readonly clear: () => void
}

const nobody: ReadonlySet<Window> = new Set()

export function createCrowd({ now }: Pick<Timers, 'now'>): Crowd {
  const guests = new Map<string, Guest>()
  const byChannel = new Map<string, Set<Window>>()
  const farewells = new Map<string, { readonly opening: number; readonly at: number }>()

  function enter(window: Window): void {
    for (const channel of window.channels) {
      const known = byChannel.get(channel)
      if (known) known.add(window)
      else byChannel.set(channel, new Set([window]))
    }
  }

  function withdraw(window: Window): void {
    for (const channel of window.channels) {
      const known = byChannel.get(channel)
      known?.delete(window)
      if (known?.size === 0) byChannel.delete(channel)
    }
  }

  function leave(window: Window): boolean {
    if (guests.get(window.id)?.window !== window) return false
    guests.delete(window.id)
    withdraw(window)
    return true
  }

  return {
    join(window) {
      const older = guests.get(window.id)?.window ?? null
      // Names can be read off messages: who has another browser's may not send the one that bears it away.
      if (older && (older.opening > window.opening || older.browser !== window.browser)) return null
      if (older) leave(older)
      const guest = {
        visitor: window,
        window,
        heardAt: null,
        quietUntil: null,
        carries: null,
        toldPresence: null,
      }
      guests.set(window.id, guest)
      enter(window)
      return { replaced: older }
    },
    leave,
    polled(visitor, heldForMs = 0) {
      const known = guests.get(visitor.id)
      if (known?.window || (farewells.get(visitor.id)?.opening ?? -1) >= visitor.opening) return null
      const guest: Guest = {
        visitor,
        window: null,
        heardAt: now(),
        quietUntil: now() + heldForMs,
        carries: known?.carries ?? null,
        toldPresence: known?.toldPresence ?? null,
      }
      guests.set(visitor.id, guest)
      return guest
    },
    pollers: () => Iterator.from(guests.values()).reduce((count, { window }) => count + (window ? 0 : 1), 0),
    left(id, opening) {
      if (opening !== undefined) farewells.set(id, { opening, at: now() })
      const guest = guests.get(id)
      const isPast = opening !== undefined && guest !== undefined && guest.visitor.opening > opening
      return guest?.window === null && !isPast && guests.delete(id)
    },
    find: (id) => guests.get(id),
    windowOn: (channel) => byChannel.get(channel) ?? nobody,
    isRead: (channel) =>
      byChannel.has(channel) ||
      Iterator.from(guests.values()).some(({ window, visitor }) => !window && visitor.channels.has(channel)),
    all: () => guests.values(),
    size: () => guests.size,
    forgetSilent(silenceMs) {
      const latest = now() - silenceMs
      for (const [id, { at }] of farewells) if (at < latest) farewells.delete(id)
      let forgotten = 0
      for (const [id, { window, heardAt, quietUntil }] of guests) {
        if (window === null && Math.max(heardAt ?? 0, quietUntil ?? 0) < latest) {
          guests.delete(id)
          forgotten += 1
        }
      }
      return forgotten
    },
    clear() {
      guests.clear()
      farewells.clear()
      byChannel.clear()
    },
  }
}
