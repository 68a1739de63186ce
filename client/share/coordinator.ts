// Coordinator: connects a browser's windows to one shared stream per mode, by plain-data messages.

import { type AwarenessReport, type DownFrame, nameBeside, type PollAnswer } from '../../protocol/messages.ts'
import type { Timers } from '../../protocol/time.ts'
import { browserTimers, type Locks, newName, onceFree } from '../browser-services.ts'
import { Http } from '../transports/http.ts'
import type { Closing, Transports } from '../transports/transport.ts'
import { type Member, type MemberOpening, SharedStream } from './shared-stream.ts'

/** Each opening of a transport is one member, numbered by its window. */
export type ToCoordinator =
  | { readonly type: 'join'; readonly member: number; readonly asked: MemberOpening }
  /** `draft`: as JSON, which browsers copy more cheaply between windows. */
  | { readonly type: 'send'; readonly member: number; readonly draft: string }
  | { readonly type: 'show'; readonly member: number; readonly report: AwarenessReport }
  | { readonly type: 'leave'; readonly member: number; readonly isForGood: boolean }

/** Acknowledgements and refusals are frames too. */
export type ToWindow =
  | { readonly type: 'frame'; readonly member: number; readonly frame: DownFrame }
  | { readonly type: 'closed'; readonly member: number; readonly closing: Closing }

/** `window` is also the name of its lock. */
export interface FromWindow {
  readonly window: string
  readonly said: ToCoordinator
}

export interface CoordinatorEvents {
  readonly onSaid: (said: ToWindow) => void
  /** This window's members ended with it; called once. */
  readonly onGone: () => void
}

export type Post = (said: ToCoordinator) => void

/** Finds or starts the coordinator, in a shared worker or a leading window; rejects if impossible. */
export type ReachCoordinator = (events: CoordinatorEvents) => Promise<Post>

interface WindowPort {
  readonly postMessage: (said: ToWindow) => void
  readonly close: () => void
}

interface AttachedWindow {
  readonly port: WindowPort
  readonly members: Map<number, { readonly member: Member; readonly stream: SharedStream }>
}

export class Coordinator {
  readonly #transports: Transports
  readonly #locks: Locks
  readonly #timers: Timers
  readonly #nameStream: () => string
  readonly #ask: typeof askServer
  readonly #streams = new Map<string, SharedStream[]>()
  readonly #windows = new Map<string, AttachedWindow>()
  readonly #ending = new AbortController()

  constructor(
    transports: Transports,
    {
      locks = navigator.locks as Locks,
      timers = browserTimers,
      nameStream = () => newName('s'),
      ask = askServer,
    } = {},
  ) {
    this.#transports = transports
    this.#locks = locks
    this.#timers = timers
    this.#nameStream = nameStream
    this.#ask = ask
  }

  /** Calls `openPort` for the window's first message. */
  hear({ window, said }: FromWindow, openPort: () => WindowPort): void {
    const attached = this.#windows.get(window) ?? this.#attach(window, openPort())
    const { member, stream } = attached.members.get(said.member) ?? {}
    if (said.type === 'join') this.#join(attached, said.member, said.asked)
    else if (!member) return
    else if (said.type === 'send') stream?.send(member, JSON.parse(said.draft))
    else if (said.type === 'show') stream?.show(member, said.report)
    else {
      stream?.leave(member, said.isForGood)
      attached.members.delete(said.member)
    }
  }

  /** Does not notify the windows. */
  close(): void {
    this.#ending.abort()
    for (const stream of [...this.#streams.values()].flat()) stream.close()
    for (const { port } of this.#windows.values()) port.close()
  }

  /** Stays attached until its lock is released. */
  #attach(window: string, port: WindowPort): AttachedWindow {
    const attached: AttachedWindow = { port, members: new Map() }
    this.#windows.set(window, attached)
    onceFree(this.#locks, window, this.#ending.signal, () => {
      this.#windows.delete(window)
      for (const { member, stream } of attached.members.values()) stream.leave(member, true)
      port.close()
    })
    return attached
  }

  #join({ port, members }: AttachedWindow, number: number, asked: MemberOpening): void {
    const stream = this.#streamFor(asked)
    const member = stream.join(asked, {
      onFrame(frame) {
        try {
          port.postMessage({ type: 'frame', member: number, frame })
        } catch (error) {
          // A log may have a message that is nested too deep for a browser to copy: the
          // stream continues without it.
          console.warn(error)
        }
      },
      onClose(closing) {
        members.delete(number)
        port.postMessage({ type: 'closed', member: number, closing })
      },
    })
    members.set(number, { member, stream })
  }

  /** The mode's first stream with room; usually the only one. */
  #streamFor(asked: MemberOpening): SharedStream {
    const { window = '', key } = asked.query
    // A stream accepts drafts under one key only: windows that lost their key cookie get another stream.
    const kind = `${asked.mode.name} ${asked.base} ${key}`
    const streams = this.#streams.get(kind) ?? []
    this.#streams.set(kind, streams)
    const found = streams.find((stream) => stream.hasRoomFor(asked))
    if (found) return found
    const name = nameBeside(window, this.#nameStream())
    const transport = this.#transports[asked.mode.transport]
    const opened = new SharedStream(transport, name, this.#timers, this.#ask)
    streams.push(opened)
    return opened
  }
}

const askTimeoutMs = 20_000

/** Rejects as `Http` does. */
async function askServer(base: string, query: URLSearchParams, signal: AbortSignal): Promise<PollAnswer> {
  return (await new Http(base, signal, askTimeoutMs).get<PollAnswer>(`/poll?${query}`)).answer
}
