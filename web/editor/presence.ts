// Presence: names, carets and typing of the windows on the page, and what this window shows.

import type { Awareness } from 'y-protocols/awareness'
import * as Y from 'yjs'
import { documentText } from '../../app/document/rich-text.ts'
import { maxNameCharacters } from '../../app/shared/page-messages.ts'
import { fromBase64 } from '../../protocol/base64.ts'
import { cutText, graphemeAfter } from '../../protocol/graphemes.ts'
import { fingerprintIn, type Message } from '../../protocol/messages.ts'
import { nothingPlanned, type Timers } from '../../protocol/time.ts'
import type { DrawnText } from './drawn-text.ts'

export interface Person {
  readonly window: string
  readonly name: string
  readonly isSelf: boolean
  readonly isTyping: boolean
  /** Index of the palette, the same in every window. */
  readonly colour: number
}

/** Absolute indices in the text; `movedAt`: ms since the epoch. */
export interface Caret {
  readonly window: string
  readonly name: string
  readonly colour: number
  readonly anchor: number
  readonly head: number
  readonly movedAt: number
}

interface PresenceOptions {
  readonly window: string
  readonly awareness: Awareness
  /** The windows of the others in `awareness`, by Yjs client. */
  readonly senders: () => ReadonlyMap<number, string>
  readonly timers: Timers
  /** The saved name; null for none. */
  readonly name: string | null
  /** Called on change only; lists this window first. */
  readonly onPeople: (people: readonly Person[]) => void
  /** Some caret may have moved, other than by changes of the text. */
  readonly onCarets: () => void
}

/** State that a window shows of itself, as editors with Yjs do. */
export interface ShownState {
  readonly user: { readonly name: string }
  readonly cursor: { readonly anchor: object; readonly head: object } | null
  /** Of this state among those of the window, which may repeat its newest one. */
  readonly number: number
}

interface AwarenessChange {
  readonly added: readonly number[]
  readonly updated: readonly number[]
  readonly removed: readonly number[]
}

interface Place {
  readonly anchor: Y.RelativePosition
  readonly head: Y.RelativePosition
}

interface Other {
  readonly name: string
  readonly place: Place | null
  /** The place in its newest state; its updates have moved it since. */
  readonly shown: Place | null
  /** Of its newest state. */
  readonly number: unknown
  readonly movedAt: number
  readonly typedAt: number
  /** Null while the window is here. */
  readonly goneAt: number | null
}

const typingMs = 3000

/** Prevents flicker when a window reconnects at once. */
const graceMs = 1000

/** Maximum number of gone windows whose places are kept, in case they come back. */
const maxGone = 50

/** Longer than the time over which updates are merged. */
const pauseMs = 60

/** Limit on carets computed and drawn: those that moved last. */
const maxCarets = 50

/** Length of an update in base64: a larger one is not typing but a whole document. */
const maxCharacters = 100_000

/** The number of colours in the style sheet. */
const colours = 10

/**
 * A window's updates say where its caret is, so typing costs nothing extra: every window derives it
 * by `placeAfter`, and sends a state only if its caret is elsewhere.
 */
export class Presence {
  readonly #options: PresenceOptions
  readonly #text: Y.Text
  readonly #others = new Map<string, Other>()
  /** Windows that are here, by Yjs client. */
  readonly #windows = new Map<number, string>()
  #name: string
  #drawn: Pick<DrawnText, 'selection'> | null = null
  /** This window's caret as other windows derive it. */
  #believed: Place | null = null
  #isSettled = true
  #isShowPlanned = false
  /** This window's updates have moved its caret since its last state, which newcomers cannot derive. */
  #isStale = false
  #hasNewcomer = false
  /** How many states this window has shown. */
  #number = 0
  #stopRefreshing = nothingPlanned
  #refreshAt = Number.POSITIVE_INFINITY
  #people: readonly Person[] = []
  #colourOf: ReadonlyMap<string, number> = new Map()

  constructor(options: PresenceOptions) {
    const { awareness, name } = options
    this.#options = options
    this.#text = documentText(awareness.doc)
    this.#name = cleanName(name ?? '')
    awareness.on('change', this.#onChange)
    this.#say()
    this.#refresh()
  }

  /** The chosen name; empty for none. */
  get name(): string {
    return this.#name
  }

  // This window

  /** Empty for none. Returns the name as stored and shown. */
  chooseName(chosen: string): string {
    const next = cleanName(chosen)
    if (next !== this.#name) {
      this.#name = next
      this.#say()
      this.#refresh()
    }
    return this.#name
  }

  attach(drawn: Pick<DrawnText, 'selection'> | null): void {
    this.#drawn = drawn
    this.showSoon()
  }

  /** The log stored an update of this window. */
  stored(update: string): void {
    this.#believed = placeAfter(update) ?? this.#believed
    this.#isStale = true
  }

  /** Over a new connection, this window's caret must be shown to all others. */
  connected(): void {
    this.#hasNewcomer = this.#isStale
    if (this.#isStale) this.showSoon()
  }

  /** Whether the log has everything that this window published. */
  settled(isNow: boolean): void {
    if (isNow && !this.#isSettled) this.showSoon()
    this.#isSettled = isNow
  }

  /** Call when the selection may have changed. */
  readonly showSoon = (): void => {
    if (this.#isShowPlanned) return
    this.#isShowPlanned = true
    this.#options.timers.later(() => this.#show(), pauseMs)
  }

  /** Waits until the log has this window's updates: a state that overtook one would seem older. */
  #show(): void {
    this.#isShowPlanned = false
    if (!this.#isSettled) return
    const place = this.#drawn?.selection() ?? null
    const now = this.#indicesOf(place)
    const before = this.#indicesOf(this.#believed)
    const isSame = now?.anchor === before?.anchor && now?.head === before?.head
    if (isSame && !(this.#hasNewcomer && this.#isStale)) return
    if (!isSame) this.#believed = place
    this.#hasNewcomer = false
    this.#say()
  }

  #say(): void {
    this.#isStale = false
    const place = this.#believed
    this.#number += 1
    this.#options.awareness.setLocalState({
      user: { name: this.#name },
      cursor: place && { anchor: encode(place.anchor), head: encode(place.head) },
      number: this.#number,
    } satisfies ShownState)
  }

  // The others

  readonly #onChange = ({ added, updated, removed }: AwarenessChange): void => {
    const { awareness, senders } = this.#options
    const windows = senders()
    for (const client of [...added, ...updated]) {
      const other = windows.get(client)
      if (other === undefined) continue
      this.#windows.set(client, other)
      this.#takeState(other, Object(awareness.getStates().get(client)))
    }
    for (const client of removed) {
      const other = this.#windows.get(client)
      this.#windows.delete(client)
      if (other !== undefined) this.#takeState(other, null)
    }
    if (this.#hasNewcomer && this.#isStale) this.showSoon()
    this.#hasNewcomer &&= this.#isStale
    this.#refresh()
  }

  /** A message of another window, after it was applied. */
  received({ from, body }: Pick<Message, 'from' | 'body'>): void {
    if (from === this.#options.window || !this.#others.has(from)) return
    const place = 'update' in body && body.update.length <= maxCharacters ? placeAfter(body.update) : null
    const typedAt = this.#options.timers.now()
    this.#change(from, place ? { typedAt, place, movedAt: typedAt } : { typedAt })
    this.#refresh()
  }

  /** Carets of the other windows. */
  carets(): readonly Caret[] {
    return [...this.#others]
      .filter(([, other]) => other.place !== null && !this.#isGone(other))
      .sort(([, one], [, other]) => other.movedAt - one.movedAt)
      .slice(0, maxCarets)
      .flatMap(([other, { name, place, movedAt }]) => {
        const indices = this.#indicesOf(place)
        const colour = this.#colourOf.get(other) ?? 0
        const shown = { window: other, name: name || unchosenName(other), colour, movedAt }
        return indices ? [{ ...shown, ...indices }] : []
      })
  }

  #change(other: string, part: Partial<Other>): void {
    const known = this.#others.get(other)
    this.#others.set(other, {
      name: '',
      place: null,
      shown: null,
      number: null,
      movedAt: 0,
      typedAt: Number.NEGATIVE_INFINITY,
      goneAt: null,
      ...known,
      ...part,
    })
  }

  #isGone({ goneAt }: Other): boolean {
    return goneAt !== null && goneAt + graceMs <= this.#options.timers.now()
  }

  /** The fields of a state may have any values. */
  #takeState(other: string, state: Partial<Record<keyof ShownState, unknown>> | null): void {
    const { timers } = this.#options
    const known = this.#others.get(other)
    if (state === null) {
      if (known?.goneAt === null) this.#change(other, { goneAt: timers.now() })
      return
    }
    if (!known || this.#isGone(known)) this.#hasNewcomer = true
    const { number } = state
    const { name } = Object(state.user)
    const { anchor: from, head: to } = Object(state.cursor)
    const anchor = decode(from)
    const head = decode(to)
    const shown = anchor && head && { anchor, head }
    // A window that was away may repeat its old state, because it did not notice that it was.
    const isRepeated =
      shown !== null &&
      known !== undefined &&
      known.goneAt !== null &&
      known.number === number &&
      isSamePlace(shown, known.shown)
    const place = isRepeated ? known.place : shown
    const hasMoved = place !== null && !isSamePlace(place, known?.place ?? null)
    this.#change(other, {
      name: typeof name === 'string' ? cleanName(name) : '',
      place,
      shown,
      number,
      goneAt: null,
      ...(hasMoved && { movedAt: timers.now() }),
    })
  }

  /** Also plans the next refresh: someone stops typing, or is gone for good. */
  #refresh(): void {
    const { window, timers, onCarets } = this.#options
    const now = timers.now()
    let next = Number.POSITIVE_INFINITY
    const listed: Omit<Person, 'colour'>[] = []
    const gone: string[] = []
    for (const [other, known] of this.#others) {
      const { name, typedAt, goneAt } = known
      if (this.#isGone(known)) {
        gone.push(other)
        continue
      }
      const isTyping = typedAt + typingMs > now
      next = Math.min(next, goneAt === null ? next : goneAt + graceMs, isTyping ? typedAt + typingMs : next)
      listed.push({ window: other, name: name || unchosenName(other), isSelf: false, isTyping })
    }
    for (const other of gone.slice(0, -maxGone)) this.#others.delete(other)
    listed.sort((one, other) => one.name.localeCompare(other.name) || (one.window < other.window ? -1 : 1))
    const self = { window, name: this.#name || unchosenName(window), isSelf: true, isTyping: false }
    this.#colourOf = coloursOf([window, ...listed.map((person) => person.window)])
    const colourOf = (person: Omit<Person, 'colour'>) => this.#colourOf.get(person.window) ?? 0
    this.#tell([self, ...listed].map((person) => ({ ...person, colour: colourOf(person) })))
    this.#refreshLater(next, now)
    onCarets()
  }

  /** One that runs too early plans the next. */
  #refreshLater(at: number, now: number): void {
    if (at >= this.#refreshAt) return
    this.#stopRefreshing()
    this.#refreshAt = at
    this.#stopRefreshing = this.#options.timers.later(() => {
      this.#refreshAt = Number.POSITIVE_INFINITY
      this.#refresh()
    }, at - now)
  }

  #tell(next: readonly Person[]): void {
    const people = this.#people
    if (next.length === people.length && next.every((person, index) => isSamePerson(person, people[index])))
      return
    this.#people = next
    this.#options.onPeople(next)
  }

  #indexOf(position: Y.RelativePosition): number | null {
    const found = Y.createAbsolutePositionFromRelativePosition(position, this.#options.awareness.doc)
    return found?.type === this.#text ? found.index : null
  }

  #indicesOf(place: Place | null) {
    const anchor = place && this.#indexOf(place.anchor)
    const head = place && this.#indexOf(place.head)
    return anchor === null || head === null ? null : { anchor, head }
  }
}

/**
 * The place after the last letter inserted, or where something was deleted; null for other changes.
 * `update` is base64.
 */
export function placeAfter(update: string): Place | null {
  const { structs, ds } = Y.decodeUpdate(fromBase64(update))
  const clients = new Set(structs.map(({ id }) => id.client))
  // This is a whole document, sent to an empty log.
  if (clients.size > 1) return null
  const inserted = structs.findLast(
    (struct) => struct instanceof Y.Item && struct.content instanceof Y.ContentString,
  )
  if (inserted) return placeAt(inserted.id.client, inserted.id.clock + inserted.length - 1)
  if (structs.length > 0) return null
  for (const [client, [deleted]] of ds.clients) if (deleted) return placeAt(client, deleted.clock)
  return null
}

function placeAt(client: number, clock: number): Place {
  const position = new Y.RelativePosition(null, null, Y.createID(client, clock), -1)
  return { anchor: position, head: position }
}

const encode = (position: Y.RelativePosition): object => Y.relativePositionToJSON(position)

const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0

/**
 * Null if it is not a position in the text: looking up another name would create it in the
 * document.
 */
function decode(position: unknown): Y.RelativePosition | null {
  const { item, tname, assoc } = Object(position)
  const { client, clock } = Object(item)
  const side = Number.isInteger(assoc) ? assoc : 0
  if (isCount(client) && isCount(clock))
    return new Y.RelativePosition(null, null, Y.createID(client, clock), side)
  return tname === 'text' && !item ? new Y.RelativePosition(null, tname, null, side) : null
}

function isSamePlace(one: Place, other: Place | null): boolean {
  return (
    other !== null &&
    Y.compareRelativePositions(one.anchor, other.anchor) &&
    Y.compareRelativePositions(one.head, other.head)
  )
}

const isSamePerson = (one: Person, other: Person | undefined) =>
  one.window === other?.window &&
  one.name === other.name &&
  one.colour === other.colour &&
  one.isTyping === other.isTyping

/**
 * Name of a sender that has chosen none, the same in every window: a window is a guest, a program has the
 * free name that it sends under.
 */
export function unchosenName(sender: string): string {
  const isFree = fingerprintIn(sender) === null
  if (isFree) return cleanName(sender) || 'A program'
  return `Guest ${animals[(hashOf(sender) >>> 8) % animals.length]}`
}

export const colourFor = (window: string) => hashOf(window) % colours

/** Each window's colour by its hash; if two collide, the later name takes the next free one. */
function coloursOf(windows: readonly string[]): ReadonlyMap<string, number> {
  const chosen = new Map<string, number>()
  const taken = new Set<number>()
  for (const window of windows.toSorted()) {
    let colour = colourFor(window)
    while (taken.has(colour) && taken.size < colours) colour = (colour + 1) % colours
    taken.add(colour)
    chosen.set(window, colour)
  }
  return chosen
}

/** FNV-1a (Fowler, Noll, Vo), 32 bits. */
function hashOf(window: string): number {
  let hash = 0x811c9dc5
  for (const character of window) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return hash >>> 0
}

const animals =
  'Badger Bear Beaver Crane Deer Dolphin Eagle Falcon Finch Fox Hare Heron Ibis Jay Lark Lynx Marten Mole Moose Newt Otter Owl Puffin Raven Robin Seal Stork Swan Swift Tern Vole Wren'.split(
    ' ',
  )

/**
 * Without control and bidirectional formatting characters, in one line, at most
 * `maxNameCharacters`.
 */
export function cleanName(name: string): string {
  const words = name.replace(/[\p{Cc}\p{Zs}\p{Zl}\p{Zp}]+/gu, ' ').replace(/[\p{Bidi_Control}\p{Cs}]/gu, '')
  return cutText(words.trim(), maxNameCharacters).trim()
}

/** One or two capitals for a small badge. */
export function initialsOf(name: string): string {
  const words = name.replace(/^Guest (?=.)/, '').split(' ')
  const [first = '', second = ''] = words.map(graphemeAfter)
  return (first + second).toUpperCase()
}
