// Reaches the coordinator in a SharedWorker or, without one, in a leading window. Loaded lazily.

import { nothingPlanned } from '../../protocol/time.ts'
import { holdForLife, newName, onceFree, pause } from '../browser-services.ts'
import type { Transports } from '../transports/transport.ts'
import {
  Coordinator,
  type CoordinatorEvents,
  type FromWindow,
  type Post,
  type ReachCoordinator,
  type ToWindow,
} from './coordinator.ts'

/** Starts the script `client/shared-worker.ts`. */
export type OpenWorker = () => SharedWorker

/** Call once per connection; the window leaves once `ending` is aborted. Without `openWorker` a window leads. */
export function reachCoordinator(
  real: Transports,
  ending: AbortSignal,
  openWorker?: OpenWorker,
): ReachCoordinator {
  const window = newName('crosswind-window-')
  const held = holdForLife(navigator.locks, window, ending)
  const open = 'SharedWorker' in globalThis ? openWorker : undefined
  let election: Election | null = null
  // By then the coordinator, which may be this window's, knows that the window has left.
  ending.addEventListener('abort', () => navigator.locks.request(window, () => election?.close()))

  return async (events) => {
    await held
    if (open && !election) {
      try {
        return await reachWorker(open, window, events, ending)
      } catch (error) {
        console.warn(error)
      }
    }
    ending.throwIfAborted()
    election ??= openElection(window, real, ending)
    return election.reach(events)
  }
}

/** `window`: a lock that this window holds. Rejects if the worker does not start. */
async function reachWorker(
  open: OpenWorker,
  window: string,
  { onSaid, onGone }: CoordinatorEvents,
  ending: AbortSignal,
) {
  const worker = open()
  const { port } = worker
  const lock = await firstMessage(worker, ending)
  port.onmessage = ({ data }: MessageEvent<ToWindow>) => onSaid(data)
  onceFree(navigator.locks, lock, ending, () => {
    port.close()
    onGone()
  })
  return (said: FromWindow['said']) => port.postMessage({ window, said } satisfies FromWindow)
}

const patienceMs = 5000

function firstMessage(worker: SharedWorker, ending: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error('The shared worker did not start.'))
    pause(patienceMs, ending).then(fail)
    worker.onerror = fail
    worker.port.onmessage = ({ data }: MessageEvent<string>) => resolve(data)
  })
}

function openElection(window: string, real: Transports, signal: AbortSignal): Election {
  // The bundled file name differs between builds, whose protocols may differ.
  const group = `crosswind ${import.meta.url}`
  const election = new Election(group, window, () => new Coordinator(real))
  // A frozen or cached leader would not answer.
  for (const [type, act] of [
    ['pagehide', 'resign'],
    ['freeze', 'resign'],
    ['pageshow', 'stand'],
    ['resume', 'stand'],
  ] as const)
    addEventListener(type, () => election[act](), { capture: true, signal })
  return election
}

/** `who` asks for the term, which identifies one leadership. */
type Up = { readonly type: 'who' } | ({ readonly type: 'said'; readonly term: string } & FromWindow)

interface Down {
  readonly term: string
  readonly said: ToWindow
}

/** The window of a `group` that holds its lock leads and runs the coordinator; the lock's queue determines the next leader. */
export class Election {
  readonly #group: string
  readonly #window: string
  readonly #openCoordinator: () => Coordinator
  readonly #up: BroadcastChannel
  readonly #channels: readonly BroadcastChannel[]
  /** Null until a leader is known. */
  #term: string | null = null
  #events: CoordinatorEvents | null = null
  #entered = nothingPlanned
  #standing: AbortController | null = null

  /** `window`: a lock that this window holds. */
  constructor(group: string, window: string, openCoordinator: () => Coordinator) {
    this.#group = group
    this.#window = window
    this.#openCoordinator = openCoordinator
    this.#up = new BroadcastChannel(`${group} up`)
    const news = new BroadcastChannel(`${group} news`)
    const down = new BroadcastChannel(`${group} ${window}`)
    this.#channels = [this.#up, news, down]
    news.onmessage = ({ data }: MessageEvent<string>) => this.#enter(data)
    down.onmessage = ({ data }: MessageEvent<Down>) => {
      if (data.term === this.#term) this.#events?.onSaid(data.said)
    }
  }

  async reach(events: CoordinatorEvents): Promise<Post> {
    this.stand()
    if (this.#term === null) {
      this.#up.postMessage({ type: 'who' } satisfies Up)
      await new Promise<void>((resolve) => {
        this.#entered = resolve
      })
    }
    this.#events = events
    const term = this.#term ?? ''
    return (said) => this.#up.postMessage({ type: 'said', term, window: this.#window, said } satisfies Up)
  }

  /** Idempotent. */
  stand(): void {
    if (this.#standing) return
    this.#standing = new AbortController()
    const { signal } = this.#standing
    navigator.locks
      .request(`${this.#group} lead`, { signal }, () => lead(this.#group, this.#openCoordinator(), signal))
      .catch((error) => {
        if (!signal.aborted) throw error
      })
  }

  /** Leaves the leadership or the queue, before this window is frozen. */
  resign(): void {
    this.#standing?.abort()
    this.#standing = null
  }

  close(): void {
    this.resign()
    for (const channel of this.#channels) channel.close()
  }

  #enter(term: string): void {
    if (term === this.#term) return
    const left = this.#events
    this.#term = term
    this.#events = null
    left?.onGone()
    this.#entered()
  }
}

function lead(group: string, coordinator: Coordinator, signal: AbortSignal): Promise<void> {
  const term = newName('p')
  const up = new BroadcastChannel(`${group} up`)
  const news = new BroadcastChannel(`${group} news`)
  const announceTerm = () => news.postMessage(term)

  function openPort(window: string) {
    const down = new BroadcastChannel(`${group} ${window}`)
    return {
      postMessage: (said: ToWindow) => down.postMessage({ term, said } satisfies Down),
      close: () => down.close(),
    }
  }

  up.onmessage = ({ data }: MessageEvent<Up>) => {
    if (data.type === 'who') announceTerm()
    else if (data.term === term) coordinator.hear(data, () => openPort(data.window))
  }
  announceTerm()
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      coordinator.close()
      for (const channel of [up, news]) channel.close()
      resolve()
    })
  })
}
