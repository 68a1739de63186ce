// Coordinator: connects a browser's windows to one shared stream per mode, in messages of plain data.

import {
  type AwarenessState,
  type DownFrame,
  type Draft,
  nameBeside,
  type PollAnswer,
} from '../../server/wire/messages.ts'
import { browserTimers, newName, onceFree } from '../browser.ts'
import { createHttp } from '../transports/http.ts'
import type { Closing, Transports } from '../transports/transport.ts'
import { type Asked, createSharedStream, type SharedStream } from './shared-stream.ts'

/** Each opening of a transport is one member, numbered by its window. */
export type ToCoordinator =
  | { readonly type: 'join'; readonly member: number; readonly asked: Asked }
  | { readonly type: 'send'; readonly member: number; readonly draft: Draft }
  | { readonly type: 'show'; readonly member: number; readonly state: AwarenessState | null }
  | { readonly type: 'leave'; readonly member: number }

/** Acknowledgements and refusals are frames too. */
export type ToWindow =
  | { readonly type: 'frame'; readonly member: number; readonly frame: DownFrame }
  | { readonly type: 'closed'; readonly member: number; readonly closing: Closing }

/** `window` is also the name of its lock. */
export interface FromWindow {
  readonly window: string
  readonly said: ToCoordinator
}

interface WindowPort {
  readonly postMessage: (said: ToWindow) => void
  readonly close: () => void
}

interface AttachedWindow {
  readonly port: WindowPort
  readonly memberships: Map<number, ReturnType<SharedStream['join']>>
}

export type Coordinator = ReturnType<typeof createCoordinator>

export function createCoordinator(
  transports: Transports,
  { locks = navigator.locks, timers = browserTimers, nameStream = () => newName('s'), ask = askServer } = {},
) {
  const streams = new Map<string, SharedStream[]>()
  const windows = new Map<string, AttachedWindow>()
  const ending = new AbortController()

  /** The mode's first stream with room; usually the only one. */
  function streamFor(asked: Asked): SharedStream {
    const { window = '', key } = asked.query
    // A stream accepts drafts under one key only: windows that lost their key cookie get another stream.
    const kind = `${asked.mode.name} ${asked.origin} ${key}`
    const known = streams.get(kind) ?? []
    streams.set(kind, known)
    const found = known.find((stream) => stream.hasRoomFor(asked))
    if (found) return found
    const name = nameBeside(window, nameStream())
    const opened = createSharedStream(transports[asked.mode.transport], name, timers, ask)
    known.push(opened)
    return opened
  }

  /** Until its lock is released. */
  function attach(window: string, port: WindowPort): AttachedWindow {
    const attached: AttachedWindow = { port, memberships: new Map() }
    windows.set(window, attached)
    onceFree(locks, window, ending.signal, () => {
      windows.delete(window)
      for (const { leave } of attached.memberships.values()) leave()
      port.close()
    })
    return attached
  }

  function join({ port, memberships }: AttachedWindow, member: number, asked: Asked): void {
    const membership = streamFor(asked).join(asked, {
      onFrame: (frame) => port.postMessage({ type: 'frame', member, frame }),
      onClose(closing) {
        memberships.delete(member)
        port.postMessage({ type: 'closed', member, closing })
      },
    })
    memberships.set(member, membership)
  }

  return {
    /** Calls `openPort` for the window's first message. */
    hear({ window, said }: FromWindow, openPort: () => WindowPort): void {
      const attached = windows.get(window) ?? attach(window, openPort())
      const membership = attached.memberships.get(said.member)
      if (said.type === 'join') join(attached, said.member, said.asked)
      else if (said.type === 'send') membership?.send(said.draft)
      else if (said.type === 'show') membership?.show(said.state)
      else {
        membership?.leave()
        attached.memberships.delete(said.member)
      }
    },
    /** Does not notify the windows. */
    close(): void {
      ending.abort()
      for (const stream of [...streams.values()].flat()) stream.close()
      for (const { port } of windows.values()) port.close()
    },
  }
}

const askTimeoutMs = 20_000

/** Rejects as axios does. */
async function askServer(origin: string, query: URLSearchParams, signal: AbortSignal): Promise<PollAnswer> {
  const answer = await createHttp(origin, signal, askTimeoutMs).get<PollAnswer>(`/api/poll?${query}`)
  return answer.data
}
