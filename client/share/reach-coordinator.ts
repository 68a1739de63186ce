// Reaches the coordinator in a SharedWorker or, without one, in a leading window. Loaded lazily.

import { holdForLife, newName, onceFree } from '../browser-services.ts'
import type { Transports } from '../transports/transport.ts'
import {
  Coordinator,
  type CoordinatorEvents,
  type FromWindow,
  type ReachCoordinator,
  type ToWindow,
} from './coordinator.ts'

/** Call once per window. */
export function reachCoordinator(real: Transports): ReachCoordinator {
  const window = newName('crosswind-window-')
  const held = holdForLife(navigator.locks, window)
  let viaLeader = 'SharedWorker' in globalThis ? null : reachLeader(window, real)

  return async (events) => {
    await held
    if (viaLeader) return viaLeader(events)
    try {
      return await reachWorker(window, events)
    } catch (error) {
      console.warn(error)
      viaLeader = reachLeader(window, real)
      return viaLeader(events)
    }
  }
}

/** `window`: a lock that this window holds. Rejects when the worker does not start. */
async function reachWorker(window: string, { onSaid, onGone }: CoordinatorEvents) {
  // Vite needs this literal expression to bundle the worker.
  const worker = new SharedWorker(new URL('./shared-worker.ts', import.meta.url), {
    type: 'module',
    name: 'crosswind',
  })
  const { port } = worker
  const lock = await firstMessage(worker)
  port.onmessage = ({ data }: MessageEvent<ToWindow>) => onSaid(data)
  onceFree(navigator.locks, lock, new AbortController().signal, () => {
    port.close()
    onGone()
  })
  return (said: FromWindow['said']) => port.postMessage({ window, said } satisfies FromWindow)
}

const patienceMs = 5000

function firstMessage(worker: SharedWorker): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error('The shared worker did not start.'))
    setTimeout(fail, patienceMs)
    worker.onerror = fail
    worker.port.onmessage = ({ data }: MessageEvent<string>) => resolve(data)
  })
}

function reachLeader(window: string, real: Transports): ReachCoordinator {
  // The bundled file name differs between builds, whose protocols may differ.
  const group = `crosswind ${new URL(import.meta.url).pathname}`
  const { reach, stand, resign } = joinElection(group, window, () => new Coordinator(real))
  // A frozen or cached leader would not answer.
  for (const type of ['pagehide', 'freeze']) addEventListener(type, resign, { capture: true })
  for (const type of ['pageshow', 'resume']) addEventListener(type, stand, { capture: true })
  return reach
}

/** `who` asks for the term, which identifies one leadership. */
type Up = { readonly type: 'who' } | ({ readonly type: 'said'; readonly term: string } & FromWindow)

interface Down {
  readonly term: string
  readonly said: ToWindow
}

/**
 * The window of a `group` that holds its lock leads and runs the coordinator; the lock's queue determines
 * the next leader. `window`: a lock that this window holds.
 */
export function joinElection(group: string, window: string, openCoordinator: () => Coordinator) {
  const up = new BroadcastChannel(`${group} up`)
  const news = new BroadcastChannel(`${group} news`)
  const down = new BroadcastChannel(`${group} ${window}`)
  let term: string | null = null
  let events: CoordinatorEvents | null = null
  const waiting: (() => void)[] = []
  let standing: AbortController | null = null

  news.onmessage = ({ data }: MessageEvent<string>) => enter(data)
  down.onmessage = ({ data }: MessageEvent<Down>) => {
    if (data.term === term) events?.onSaid(data.said)
  }

  function enter(next: string): void {
    if (next === term) return
    const left = events
    term = next
    events = null
    left?.onGone()
    for (const resolve of waiting.splice(0)) resolve()
  }

  const post = (said: Up) => up.postMessage(said)

  const reach: ReachCoordinator = async (on) => {
    stand()
    if (term === null) {
      post({ type: 'who' })
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
    events = on
    const to = term ?? ''
    return (said) => post({ type: 'said', term: to, window, said })
  }

  /** Idempotent. */
  function stand(): void {
    if (standing) return
    standing = new AbortController()
    const { signal } = standing
    navigator.locks
      .request(`${group} lead`, { signal }, () => lead(group, openCoordinator(), signal))
      .catch((error) => {
        if (!signal.aborted) throw error
      })
  }

  /** Leaves the leadership or the queue, before this window is frozen. */
  function resign(): void {
    standing?.abort()
    standing = null
  }

  return { reach, stand, resign }
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
