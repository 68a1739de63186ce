// A window without a browser: the same frames and the same uplink, in Node, for the contract suite.

import type { Draft } from '../../server/wire/envelope.ts'
import type { DownFrame, Refused, Stored } from '../../server/wire/frames.ts'
import type { Mode } from '../../server/wire/modes.ts'
import type { Polling } from '../../server/wire/settings.ts'
import { type Closing, RefusedError } from '../../web/transports/transport.ts'
import { fleetTransports } from './clients.ts'
import type { FleetTransport } from './transport.ts'

export interface ClientOpening {
  readonly mode: Mode
  readonly origin: string
  /** `window`, `channels`, and perhaps `cursor`, `browser` and `opening`. */
  readonly query: URLSearchParams
  /** Certificate to trust, PEM. */
  readonly ca: string
  readonly cookie?: string | undefined
  readonly polling?: Polling
}

export interface FleetClient
  extends Pick<FleetTransport, 'beat' | 'askClock' | 'pause' | 'resume' | 'cut' | 'close'> {
  /** The next frame that fits, from those not yet taken, in order; frames before it are passed over. */
  readonly next: <Type extends DownFrame['type']>(type: Type) => Promise<Extract<DownFrame, { type: Type }>>
  /** Frames that came and were not taken. */
  readonly waiting: () => readonly DownFrame[]
  /** Resolves to the acknowledgement or the refusal. */
  readonly send: (draft: unknown) => Promise<Stored | Refused>
  /** Resolves when the stream has ended by itself, to why. */
  readonly ended: Promise<Closing>
}

const usualPolling: Polling = { intervalMs: 20, holdMs: 300 }

export function openClient({ polling = usualPolling, ...opening }: ClientOpening): FleetClient {
  const inbox = createInbox()
  const { promise: ended, resolve: end } = Promise.withResolvers<Closing>()
  const transport = fleetTransports[opening.mode.transport]({
    ...opening,
    polling,
    onFrame: (frame) => isForInbox(frame) && inbox.put(frame),
    onClose(closing) {
      inbox.end(`the stream ended: ${closing.sentence}`)
      end(closing)
    },
  })
  return {
    ...transport,
    next: inbox.next,
    waiting: inbox.waiting,
    ended,
    async send(draft) {
      try {
        // Tests send what is no draft too.
        return await transport.send(draft as Draft)
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error
        return { type: 'refused', id: null, code: error.code, message: error.message }
      }
    },
  }
}

/** Acknowledgements go to who waits for them. */
function isForInbox({ type }: DownFrame): boolean {
  return type !== 'stored' && type !== 'refused'
}

/** Keeps what comes until somebody takes it. */
interface Inbox {
  readonly put: (frame: DownFrame) => void
  readonly next: FleetClient['next']
  readonly waiting: FleetClient['waiting']
  /** Nothing more will come: those who wait are told so. */
  readonly end: (why: string) => void
}

function createInbox(): Inbox {
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
