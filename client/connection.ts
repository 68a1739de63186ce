// One connection over one transport, from its first frame to its end, with a silence watchdog.

import type { BeatReport, DownFrame, Welcome } from '../protocol/messages.ts'
import type { LinkMode } from '../protocol/modes.ts'
import { nothingPlanned, type Timers } from '../protocol/time.ts'
import type { Closing, Opening, OpenTransport, WebTransport } from './transports/transport.ts'

/** Until the welcome. */
const firstSilenceMs = 20_000
/** Allows two late heartbeats; a broken path can look open for minutes. */
const heartbeatsMissed = 2.5

interface Watched extends Opening {
  /** Reported with each heartbeat. */
  readonly windows?: () => BeatReport['windows']
}

/** No `opening.onFrame` follows the end; one `opening.onClose` reports it, unless `leave` was called. */
export class Connection {
  readonly mode: LinkMode
  readonly opening: Watched
  readonly #timers: Timers
  readonly #open: OpenTransport
  #isOver = false
  #heartbeatMs = firstSilenceMs
  #silenceMs = firstSilenceMs
  #heardAt: number
  #beatDueAt = Infinity
  #welcomedAt: number | null = null
  #stopWatchdog = nothingPlanned

  constructor(transport: WebTransport, opening: Watched, timers: Timers) {
    this.mode = opening.mode
    this.opening = opening
    this.#timers = timers
    this.#heardAt = timers.now()
    this.#watch(firstSilenceMs)
    this.#open = transport.open({
      ...opening,
      onFrame: (frame, receivedAt) => this.#take(frame, receivedAt),
      onClose: (closing) => this.#closed(closing),
    })
  }

  get uplink(): Omit<OpenTransport, 'close'> {
    return this.#open
  }

  /** How long it has been open, ms; null before the welcome. */
  get livedMs(): number | null {
    return this.#welcomedAt === null ? null : this.#timers.now() - this.#welcomedAt
  }

  /**
   * Silent for more than a heartbeat. A live poll without messages looks the same; reopening it is
   * cheap.
   */
  isStale(): boolean {
    return this.#silentMs > this.#heartbeatMs
  }

  /** For how long the server's next heartbeat is overdue, ms; 0 for polls, which get none. */
  get overdueMs(): number {
    return this.mode.isPush ? Math.max(0, this.#silentMs - this.#heartbeatMs) : 0
  }

  get #silentMs(): number {
    return this.#timers.now() - this.#heardAt
  }

  abandon(code: Closing['code'], sentence: string): void {
    if (this.#isOver) return
    this.#open.close()
    this.#closed({ code, sentence, retryAfterMs: null })
  }

  /** Pending sends may still be answered. `isForGood`: see `OpenTransport`. */
  leave(isForGood = false): void {
    if (this.#isOver) return
    this.#end()
    this.#open.close(isForGood)
  }

  #watch(forMs: number): void {
    this.#stopWatchdog = this.#timers.later(() => this.#checkSilence(), forMs)
  }

  /** Runs at the deadline only, so that frames set no timers. */
  #checkSilence(): void {
    const leftMs = this.#silenceMs - this.#silentMs
    if (leftMs > 0) this.#watch(leftMs)
    else this.abandon('silent', 'The server has fallen silent.')
  }

  #take(frame: DownFrame, receivedAt: number): void {
    if (this.#isOver) return
    // A clock answer may arrive on a separate request, so it does not prove that the stream lives.
    if (frame.type !== 'clock') {
      this.#heardAt = this.#timers.now()
      if (frame.type === 'welcome') this.#welcomed(frame)
      this.#beat(frame)
    }
    this.opening.onFrame(frame, receivedAt)
  }

  /**
   * Shows that this client lives: at the welcome, in answer to the server's heartbeats, and at other frames, since
   * those may wait behind a long backlog. Not by a timer: background windows get one a minute.
   */
  #beat(frame: DownFrame): void {
    const heartbeat = frame.type === 'heartbeat' ? frame : null
    if (!heartbeat && this.#heardAt < this.#beatDueAt) return
    this.#beatDueAt = this.#heardAt + this.#silenceMs / 2
    this.#open.beat({ at: heartbeat?.at, windows: this.opening.windows?.() })
  }

  #welcomed({ heartbeatMs, user }: Welcome): void {
    // Requests of their own may be made in another session by then, which the server compares.
    if (user) this.opening.query.set('user', user)
    this.#welcomedAt = this.#timers.now()
    this.#heartbeatMs = heartbeatMs
    this.#stopWatchdog()
    this.#silenceMs = heartbeatMs * heartbeatsMissed
    this.#beatDueAt = this.#heardAt
    // Polls have request timeouts, and empty responses emit no frame.
    if (this.mode.isPush) this.#watch(this.#silenceMs)
  }

  #closed(closing: Closing): void {
    if (this.#isOver) return
    this.#end()
    this.opening.onClose(closing)
  }

  #end(): void {
    this.#isOver = true
    this.#stopWatchdog()
  }
}
