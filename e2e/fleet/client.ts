// A window without a browser: the same frames and the same uplink, in Node, for the contract suite and load.

import type { Draft } from '../../server/wire/envelope.ts'
import type { DownFrame, Refused, Stored } from '../../server/wire/frames.ts'

export interface ClientOpening {
  readonly origin: string
  /** `window`, `channels`, and perhaps `cursor` and `browser`. */
  readonly query: URLSearchParams
  /** Certificate to trust, PEM. */
  readonly ca: string
}

export interface FleetClient {
  /** The next frame that fits, from those not yet taken, in order; frames before it are passed over. */
  readonly next: <Type extends DownFrame['type']>(type: Type) => Promise<Extract<DownFrame, { type: Type }>>
  /** Frames that came and were not taken. */
  readonly waiting: () => readonly DownFrame[]
  readonly send: (draft: unknown) => Promise<Stored | Refused>
  /** Stops reading from the connection, and reads on. */
  readonly pause: () => void
  readonly resume: () => void
  /** Resolves when the stream has ended, whoever ended it. */
  readonly ended: Promise<void>
  readonly close: () => Promise<void>
}

export type OpenClient = (opening: ClientOpening) => Promise<FleetClient>

/** Keeps what comes until somebody takes it. */
export interface Inbox {
  readonly put: (frame: DownFrame) => void
  readonly next: FleetClient['next']
  readonly waiting: FleetClient['waiting']
  /** Nothing more will come: those who wait are told so. */
  readonly end: (why: string) => void
}

export function createInbox(): Inbox {
  const frames: DownFrame[] = []
  let wake: (() => void)[] = []
  let ending: string | null = null

  function wakeAll(): void {
    const woken = wake
    wake = []
    for (const run of woken) run()
  }

  async function next<Type extends DownFrame['type']>(
    type: Type,
  ): Promise<Extract<DownFrame, { type: Type }>> {
    for (;;) {
      const frame = frames.shift()
      if (frame?.type === type) return frame as Extract<DownFrame, { type: Type }>
      if (frame !== undefined) continue
      if (ending !== null) throw new Error(`No ${type} came: ${ending}`)
      await new Promise<void>((resolve) => wake.push(resolve))
    }
  }

  return {
    put(frame) {
      frames.push(frame)
      wakeAll()
    },
    next,
    waiting: () => frames,
    end(why) {
      ending ??= why
      wakeAll()
    },
  }
}

export function draftOf(window: string, count: number, html: string, channel = 'main'): Draft<'edit'> {
  return {
    id: `${window}-${count}`,
    channel,
    kind: 'edit',
    from: window,
    at: 1_700_000_000_000.5,
    body: { html },
  }
}
