// Joins y-protocols' Awareness with a channel's presence: each window is one client of Awareness.

import {
  type Awareness,
  applyAwarenessUpdate,
  encodeAwarenessUpdate,
  removeAwarenessStates,
} from 'y-protocols/awareness'
import type { AwarenessFrame } from '../../protocol/messages.ts'
import type { ChannelHandle } from '../follow.ts'
import { attempt } from '../listeners.ts'

/** A window's state on the wire; the clock is one more than in Awareness, which ignores 0. */
interface ShownState {
  readonly client: number
  readonly clock: number
  readonly state: object
}

/** Another window, as it is in Awareness. */
interface Other {
  /** The number that it shows, or another one while that is taken by a third window. */
  readonly client: number
  readonly user: string | undefined
  readonly shown: ShownState
}

const nothingShown = 'null'

export class AwarenessBridge {
  readonly #awareness: Awareness
  /** Of the changes that it makes in Awareness. */
  readonly #origin: object
  #channel: Pick<ChannelHandle, 'show'> | null = null
  /** This window's state on the channel, as JSON. */
  #ownShown = nothingShown
  /** By window: that is the sender, which the server knows. */
  readonly #others = new Map<string, Other>()

  constructor(awareness: Awareness, origin: object) {
    this.#awareness = awareness
    this.#origin = origin
    awareness.on('update', this.#onUpdate)
  }

  /** Users of the other windows, by Yjs client. */
  get users(): ReadonlyMap<number, string> {
    const users = new Map<number, string>()
    for (const { client, user } of this.#others.values()) if (user !== undefined) users.set(client, user)
    return users
  }

  /** Names of the other windows, by Yjs client. */
  get senders(): ReadonlyMap<number, string> {
    return new Map(Array.from(this.#others, ([window, { client }]) => [client, window]))
  }

  /** From now on, shows this window's state on the channel. */
  open(channel: Pick<ChannelHandle, 'show'>): void {
    this.#channel = channel
    this.#showOwn()
  }

  /** Shows nothing from now on. The others stay until `hideOthers`. */
  close(): void {
    this.#channel = null
    this.#ownShown = nothingShown
  }

  destroy(): void {
    this.#awareness.off('update', this.#onUpdate)
  }

  /** Takes the states that the channel has; `own` is this window's name. */
  heard({ windows, whole }: AwarenessFrame, own: string): void {
    const others = windows.filter(({ window }) => window !== own)
    const listed = new Set(others.map(({ window }) => window))
    const gone = others.filter(({ state }) => state === null).map(({ window }) => window)
    if (whole) for (const window of this.#others.keys()) if (!listed.has(window)) gone.push(window)
    this.#hide(gone)
    for (const { window, user, state } of others)
      if (isShownState(state)) this.#showOther(window, state, user)
  }

  hideOthers(): void {
    this.#hide([...this.#others.keys()])
  }

  readonly #onUpdate = (_changes: unknown, origin: unknown): void => {
    if (origin !== this.#origin) this.#showOwn()
  }

  #showOwn(): void {
    const awareness = this.#awareness
    const state = awareness.getLocalState()
    const text = JSON.stringify(state)
    if (!this.#channel || text === this.#ownShown) return
    const client = awareness.clientID
    const clock = (awareness.meta.get(client)?.clock ?? 0) + 1
    this.#ownShown = text
    // Awareness keeps the object, and the connection sends it later.
    this.#channel.show(state && { client, clock, state: JSON.parse(text) })
  }

  #showOther(window: string, shown: ShownState, user: string | undefined): void {
    const awareness = this.#awareness
    const before = this.#others.get(window)
    const isRenumbered = before?.shown.client !== shown.client
    const client = before && !isRenumbered ? before.client : this.#clientFor(shown.client)
    if (before && isRenumbered) this.#hide([window])
    this.#others.set(window, { client, user, shown })
    if (JSON.stringify(awareness.getStates().get(client)) === JSON.stringify(shown.state)) return
    // The sender's own clock may be any number; the server sends its states in order.
    const clock = (awareness.meta.get(client)?.clock ?? 0) + 1
    const source = { meta: new Map([[client, { clock, lastUpdated: 0 }]]) } as unknown as Awareness
    const update = encodeAwarenessUpdate(source, [client], new Map([[client, shown.state]]))
    attempt(() => applyAwarenessUpdate(awareness, update, this.#origin))
    const meta = awareness.meta.get(client)
    // Awareness would forget it after 30 s without news; the server says when it is gone.
    if (meta) meta.lastUpdated = Infinity
  }

  /** The number that a window shows, or a random one while that is taken. */
  #clientFor(wanted: number): number {
    const taken = new Set(Array.from(this.#others.values(), ({ client }) => client))
    taken.add(this.#awareness.clientID)
    let client = wanted
    while (taken.has(client)) client = Math.floor(Math.random() * 2 ** 32)
    return client
  }

  #hide(windows: readonly string[]): void {
    const clients = windows
      .map((window) => this.#others.get(window)?.client)
      .filter((client) => client !== undefined)
    for (const window of windows) this.#others.delete(window)
    attempt(() => removeAwarenessStates(this.#awareness, clients, this.#origin))
    // With the old clock, Awareness would ignore the same state after a reconnect.
    for (const client of clients) this.#awareness.meta.delete(client)
    // A window whose number is free again gets it.
    for (const [window, { client, shown, user }] of [...this.#others])
      if (client !== shown.client && clients.includes(shown.client)) {
        this.#hide([window])
        this.#showOther(window, shown, user)
      }
  }
}

function isShownState(state: unknown): state is ShownState {
  const { client, clock, state: own } = Object(state)
  return (
    Number.isSafeInteger(client) &&
    client >= 0 &&
    Number.isSafeInteger(clock) &&
    typeof own === 'object' &&
    own !== null
  )
}
