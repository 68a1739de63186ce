// The connection's life: opens a transport, resumes from the cursor, tries again, switches mode live.

import type { Bodies, Draft, Kind, Message } from '../../server/wire/envelope.ts'
import type { DownFrame, Presence, Welcome } from '../../server/wire/frames.ts'
import type { HttpVersion, Mode, TransportName } from '../../server/wire/modes.ts'
import type { Random } from '../../server/wire/random.ts'
import { nothingPlanned, type Timers } from '../../server/wire/time.ts'
import { type Closing, type OpenTransport, RefusedError, type WebTransport } from '../transports/transport.ts'
import { createOutbox } from './outbox.ts'
import { createPlace } from './place.ts'
import { createRetry } from './retry.ts'
import { createWatchdog, type Watchdog } from './watchdog.ts'

export interface LinkState {
  readonly state: 'opening' | 'open' | 'waiting'
  readonly mode: string
  readonly spokenHttp: HttpVersion | null
  readonly reason: string | null
  readonly retryAt: number | null
}

export interface LinkParts {
  readonly transports: Readonly<Record<TransportName, WebTransport>>
  readonly originFor: (http: HttpVersion) => string
  readonly window: string
  readonly browser: string
  /** The page's own channel first. */
  readonly channels: readonly string[]
  readonly mode: Mode
  readonly timers: Timers
  readonly random: Random
  readonly onState: (state: LinkState) => void
  /** Each message of the log once, in its order. */
  readonly onMessage: (message: Message, receivedAt: number) => void
  readonly onPresence: (presence: Presence) => void
  readonly onOutbox: (unstored: number) => void
  /** A message was stored under this number. */
  readonly onStored: (id: string, seq: number) => void
  /** A message was refused for good. */
  readonly onRefused: (id: string, sentence: string) => void
}

export interface Link {
  /** Numbers and stamps a message and sends it, now or as soon as there is a connection. Returns it. */
  readonly publish: <K extends Kind>(channel: string, kind: K, body: Bodies[K]) => Draft<K>
  /** Moves to another mode and keeps its place and what is not yet stored. */
  readonly switchMode: (mode: Mode) => void
  readonly retryNow: () => void
  /** For good: nothing is opened, sent or taken any more. */
  readonly close: () => void
}

/** Until the server has said how often it beats. */
const firstSilenceMs = 20_000
/** Two beats may be late before a stream counts as dead. */
const beatsMissed = 2.5

export function createLink(parts: LinkParts): Link {
  const { timers } = parts
  const outbox = createOutbox()
  const place = createPlace()
  const retry = createRetry(timers.now, parts.random)
  let mode = parts.mode
  let transport: OpenTransport | null = null
  let watchdog: Watchdog | null = null
  // Counts transports: what one says after it was left is told apart by its number, and not acted on.
  let current = 0
  let sent = 0
  let isOpen = false
  let isEnded = false
  let stopRetry = nothingPlanned

  function open(): void {
    stopRetry()
    current += 1
    const own = current
    tell('opening', null)
    watchdog = createWatchdog(timers, firstSilenceMs, () =>
      abandon('silent', 'Nothing was heard from the server for too long.'),
    )
    transport = parts.transports[mode.transport].open({
      origin: parts.originFor(mode.http),
      query: query(),
      onFrame: (frame, receivedAt) => own === current && take(frame, receivedAt),
      onClose: (closing) => own === current && closed(closing),
    })
  }

  function query(): URLSearchParams {
    const { window, browser, channels } = parts
    const asked = new URLSearchParams({ window, browser, channels: channels.join(',') })
    const cursor = place.cursor()
    if (cursor !== null) asked.set('cursor', cursor)
    return asked
  }

  function take(frame: DownFrame, receivedAt: number): void {
    watchdog?.feed()
    if (frame.type === 'welcome') welcomed(frame)
    else if (frame.type === 'presence') parts.onPresence(frame)
    else if (frame.type === 'message' && place.advance(frame.message.seq)) {
      parts.onMessage(frame.message, receivedAt)
    }
  }

  function welcomed({ cursor, heartbeatMs, http }: Welcome): void {
    place.enter(cursor)
    retry.opened()
    isOpen = true
    watchdog?.allow(heartbeatMs * beatsMissed)
    for (const draft of outbox.all()) send(draft)
    tell('open', null, http)
  }

  function closed({ sentence, retryAfterMs }: Closing): void {
    leave()
    const delayMs = retry.pauseMs(retryAfterMs)
    stopRetry = timers.later(open, delayMs)
    tell('waiting', sentence, null, timers.now() + delayMs)
  }

  /** Gives up a transport that has not closed by itself. */
  function abandon(code: Closing['code'], sentence: string): void {
    transport?.close()
    closed({ code, sentence, retryAfterMs: null })
  }

  function leave(): void {
    current += 1
    watchdog?.stop()
    transport = null
    isOpen = false
  }

  function tell(
    state: LinkState['state'],
    reason: string | null,
    spokenHttp: HttpVersion | null = null,
    retryAt: number | null = null,
  ): void {
    parts.onState({ state, mode: mode.name, spokenHttp, reason, retryAt })
  }

  function send(draft: Draft): void {
    const own = current
    transport?.send(draft).then(
      (stored) => settle(draft, () => parts.onStored(draft.id, stored.seq)),
      (error) => {
        if (error instanceof RefusedError) settle(draft, () => parts.onRefused(draft.id, error.message))
        // The stream seems fine, yet all unacknowledged has to go again in order: start over.
        else if (own === current) abandon('lost', 'A message could not be sent; connecting anew.')
      },
    )
  }

  /** Sent again, a message may be answered twice; whoever answers first counts, be it a transport that was left. */
  function settle(draft: Draft, tellParts: () => void): void {
    if (isEnded || !outbox.remove(draft.id)) return
    tellParts()
    parts.onOutbox(outbox.size())
  }

  open()
  return {
    publish(channel, kind, body) {
      sent += 1
      const draft = {
        id: `${parts.window}-${sent}`,
        channel,
        kind,
        from: parts.window,
        at: timers.now(),
        body,
      }
      outbox.add(draft)
      if (isOpen) send(draft)
      parts.onOutbox(outbox.size())
      return draft
    },
    switchMode(next) {
      if (isEnded) return
      mode = next
      retry.startOver()
      transport?.close()
      leave()
      open()
    },
    retryNow() {
      if (transport === null && !isEnded) open()
    },
    close() {
      isEnded = true
      stopRetry()
      transport?.close()
      leave()
    },
  }
}
