// The peers of a run: started for each session, and left out once their adapter has failed.

import { nameOfPeer, type Peer, type PeerFacts } from '../peers/peers.ts'
import { requireRoom } from './mode-names.ts'
import type { Lab } from './run-sessions.ts'
import type { System, Testbed } from './testbed.ts'

export interface EndedPeer {
  /** `bare+5ms`. */
  readonly name: string
  readonly session: number
  readonly why: string
}

interface SessionPlan {
  readonly session: number
  /** All modes of the run. */
  readonly modes: readonly string[]
  readonly windows: number
  readonly perBrowser: number
}

export class RunPeers {
  readonly #peers: readonly Peer[]
  readonly #lab: Pick<Lab, 'progress' | 'signal'>
  readonly #started = new Map<string, { readonly facts: PeerFacts; readonly systems: readonly string[] }>()
  readonly #ended = new Map<string, EndedPeer>()

  constructor(peers: readonly Peer[], lab: Pick<Lab, 'progress' | 'signal'>) {
    this.#peers = peers
    this.#lab = lab
  }

  /** Facts about the peers that have started at least once. */
  get facts(): readonly PeerFacts[] {
    return this.#peers.flatMap((peer) => this.#started.get(nameOfPeer(peer))?.facts ?? [])
  }

  /** Their systems' names. */
  get systems(): readonly string[] {
    return this.#peers.flatMap((peer) => this.#started.get(nameOfPeer(peer))?.systems ?? [])
  }

  get ended(): readonly EndedPeer[] {
    return [...this.#ended.values()]
  }

  hasEnded = ({ peer }: Pick<System, 'peer'>): boolean => peer !== undefined && this.#ended.has(peer.name)

  async start(
    testbed: Testbed,
    { session, modes, windows, perBrowser }: SessionPlan,
  ): Promise<readonly System[]> {
    const all: System[] = []
    for (const peer of this.#peers) {
      const name = nameOfPeer(peer)
      if (this.#ended.has(name)) continue
      try {
        const { systems, facts } = await testbed.startPeer(peer, modes)
        requireRoom(
          systems.map(({ mode }) => mode),
          windows,
          perBrowser,
        )
        this.#started.set(name, { facts, systems: systems.map((system) => system.name) })
        all.push(...systems)
      } catch (error) {
        this.#end(name, session, wordsOf(error))
      }
    }
    return all
  }

  /** Resolves to null if the system is a peer's and fails; rejects if one of Crosswind's own does. */
  async measure<Measured>(
    system: Pick<System, 'peer'>,
    session: number,
    measure: () => Promise<Measured>,
  ): Promise<Measured | null> {
    if (this.hasEnded(system)) return null
    try {
      return await measure()
    } catch (error) {
      const { peer } = system
      if (peer === undefined) throw error
      this.#end(peer.name, session, peer.end() ?? wordsOf(error))
      // It must not use the others' processor time.
      await peer.close()
      return null
    }
  }

  #end(name: string, session: number, why: string): void {
    this.#lab.signal.throwIfAborted()
    this.#ended.set(name, { name, session, why })
    this.#lab.progress.say(`${name} is left out from here on: ${why}.`)
  }
}

/** Without the last full stop. */
const wordsOf = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).replace(/\.$/, '')
