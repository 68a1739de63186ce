// The connection's life: opens a transport, resumes from the cursor, tries again, switches mode live.

import type { Bodies, Draft, Kind, Message } from '../../server/wire/envelope.ts'
import type { DownFrame, Presence } from '../../server/wire/frames.ts'
import type { HttpVersion, Mode, TransportName } from '../../server/wire/modes.ts'
import { type Closing, type OpenTransport, RefusedError, type WebTransport } from '../transports/transport.ts'
import { createOutbox } from './outbox.ts'
import { retryDelayMs } from './retry.ts'
import type { Timers } from './timers.ts'
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
  readonly random: () => number
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
  readonly switchMode: (mode: Mode) => void
  readonly retryNow: () => void
  readonly close: () => void
}

/** Until the server has said how often it beats. */
const firstSilenceMs = 20_000
/** Two beats may be late before a stream counts as dead. */
const beatsMissed = 2.5

export function createLink(parts: LinkParts): Link {
  const { timers } = parts
  const outbox = createOutbox()
  let mode = parts.mode
  let transport: OpenTransport | null = null
  let watchdog: Watchdog | null = null
  let epoch: string | null = null
  let seq = 0
  let attempt = 0
  let sent = 0
  let isOpen = false
  let stopRetry = (): void => undefined

  function open(): void {
    stopRetry()
    tell('opening', null)
    watchdog = createWatchdog(timers, firstSilenceMs, () => {
      transport?.close()
      closed({
        code: 'silent',
        sentence: 'Nothing was heard from the server for too long.',
        retryAfterMs: null,
      })
    })
    transport = parts.transports[mode.transport].open({
      origin: parts.originFor(mode.http),
      query: query(),
      onFrame: take,
      onClose: closed,
    })
  }

  function query(): URLSearchParams {
    const { window, browser, channels } = parts
    const asked = new URLSearchParams({ window, browser, channels: channels.join(',') })
    if (epoch !== null) asked.set('cursor', `${epoch}:${seq}`)
    return asked
  }

  function take(frame: DownFrame, receivedAt: number): void {
    watchdog?.feed()
    if (frame.type === 'message') takeMessage(frame.message, receivedAt)
    else if (frame.type === 'presence') parts.onPresence(frame)
    else if (frame.type === 'welcome') {
      const [life = ''] = frame.cursor.split(':')
      if (life !== epoch) seq = 0
      epoch = life
      isOpen = true
      attempt = 0
      watchdog?.allow(frame.heartbeatMs * beatsMissed)
      tell('open', null, frame.http)
      for (const draft of outbox.all()) send(draft)
    }
  }

  function takeMessage(message: Message, receivedAt: number): void {
    if (message.seq <= seq) return
    seq = message.seq
    parts.onMessage(message, receivedAt)
  }

  function closed({ sentence, retryAfterMs }: Closing): void {
    stopTransport()
    const delayMs = retryAfterMs ?? retryDelayMs(attempt, parts.random)
    attempt += 1
    stopRetry = timers.later(open, delayMs)
    tell('waiting', sentence, null, timers.now() + delayMs)
  }

  function stopTransport(): void {
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
    const over = transport
    over?.send(draft).then(
      (stored) => settle(draft, () => parts.onStored(draft.id, stored.seq)),
      (error) => {
        if (error instanceof RefusedError) settle(draft, () => parts.onRefused(draft.id, error.message))
        else if (over === transport) restart()
      },
    )
  }

  function settle(draft: Draft, tellParts: () => void): void {
    outbox.remove(draft.id)
    tellParts()
    parts.onOutbox(outbox.size())
  }

  /** An uplink broke while the stream seems fine: start over, so that all unacknowledged goes again in order. */
  function restart(): void {
    transport?.close()
    closed({ code: 'lost', sentence: 'A message could not be sent; connecting anew.', retryAfterMs: null })
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
      mode = next
      attempt = 0
      transport?.close()
      stopTransport()
      open()
    },
    retryNow() {
      if (transport === null) open()
    },
    close() {
      stopRetry()
      transport?.close()
      stopTransport()
    },
  }
}
