// Records the last hour of wind from the log, and the last week once it is asked for, and serves both.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type Router from '@koa/router'
import { type Cursor, isKind, type Message } from '../protocol/messages.ts'
import type { Timers } from '../protocol/time.ts'
import type { ReadableLog } from '../server/index.ts'
import { windChannel } from './shared/page-messages.ts'
import { WindHistory, weekMs } from './shared/wind-history.ts'
import { writeWeek } from './shared/wind-week.ts'

type WindLog = Pick<ReadableLog, 'follow' | 'numberAt' | 'read' | 'snapshot'>

interface WindRecorderParts {
  readonly log: WindLog
  readonly timers: Timers
  /** Called if the log was unreadable, so that only new readings are recorded. */
  readonly onFailure: (error: unknown) => void
}

interface Older {
  readonly history: WindHistory
  isComplete: boolean
}

const channels: ReadonlySet<string> = new Set([windChannel])
const hourMs = 3_600_000

/** Pause between portions of a few ms, so that messages go first. */
const pauseMs = 10

/** A week's answer is as good for this long, ms. */
const weekKeptMs = 5000

/** Number of messages skipped if the log deletes faster than this reads. */
const skippedMessages = 500

/**
 * Every grant includes the wind. Compressed: it contains no text and no secret (BREACH). Brotli
 * would take as long to save 2 %.
 */
export function mountWindHistory(router: Router, recorderNow: () => WindRecorder): void {
  for (const span of ['history', 'week'] as const)
    router.get(`/api/wind/${span}`, async (ctx) => {
      const answer = await recorderNow()[span]()
      const isGzipped = ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
      const body = isGzipped ? await answer.gzipped() : answer.json
      ctx.set('Cache-Control', 'no-store')
      ctx.vary('Accept-Encoding')
      if (isGzipped) ctx.set('Content-Encoding', 'gzip')
      ctx.type = 'json'
      ctx.body = body
    })
}

/** Compressed once, if anyone asks for that. */
class JsonAnswer {
  readonly json: string
  #gzipped: Promise<Buffer> | null = null

  constructor(value: unknown) {
    this.json = JSON.stringify(value)
  }

  gzipped(): Promise<Buffer> {
    this.#gzipped ??= promisify(gzip)(this.json)
    return this.#gzipped
  }
}

export class WindRecorder {
  readonly #log: WindLog
  readonly #timers: Timers
  readonly #onFailure: WindRecorderParts['onFailure']
  readonly #history = new WindHistory()
  readonly #unfollow: () => void
  readonly #isFilled: Promise<void>
  #newest: { seq: number; faultAt: number | null } = { seq: 0, faultAt: null }
  /** Kept until the next reading. */
  #hour: JsonAnswer | null = null
  /** Readings that arrive while the log is read; null afterwards. */
  #waiting: Message<'reading'>[] | null = []
  /** What is read of the week before the hour; null until it is asked for. */
  #older: Older | null = null
  #week: { readonly at: number; readonly answer: JsonAnswer } | null = null
  #isStopped = false

  constructor({ log, timers, onFailure }: WindRecorderParts) {
    this.#log = log
    this.#timers = timers
    this.#onFailure = onFailure
    this.#unfollow = log.follow((message) => {
      if (message.channel !== windChannel || !isKind(message, 'reading')) return
      if (this.#waiting) this.#waiting.push(message)
      else this.#record(message)
    })
    this.#isFilled = this.#fill()
      .catch(onFailure)
      .then(() => {
        for (const message of this.#waiting ?? []) this.#record(message)
        this.#waiting = null
      })
  }

  /** Resolves to a `WindSnapshot` once the log has been read. */
  async history(): Promise<JsonAnswer> {
    await this.#isFilled
    this.#hour ??= new JsonAnswer(this.#history.snapshot(this.#newest))
    return this.#hour
  }

  /**
   * Resolves to a `WeekSnapshot`. The first call begins to read the log; until that is done the answer has what is
   * read so far.
   */
  async week(): Promise<JsonAnswer> {
    await this.#isFilled
    if (this.#older === null) {
      this.#older = { history: new WindHistory(), isComplete: false }
      void this.#fillWeek(this.#older)
    }
    const now = this.#timers.now()
    if (this.#week === null || now - this.#week.at >= weekKeptMs) {
      const { history, isComplete } = this.#older
      const both = new WindHistory()
      for (const one of [this.#history, history]) both.joinWeek(one.since(now - weekMs, 'minute'))
      this.#week = {
        at: now,
        answer: new JsonAnswer(writeWeek(both.since(now - weekMs, 'minute'), isComplete)),
      }
    }
    return this.#week.answer
  }

  stop(): void {
    this.#isStopped = true
    this.#unfollow()
  }

  #record({ seq, at: stampedAt, body }: Message<'reading'>): void {
    const at = this.#history.take(body, stampedAt)
    this.#newest = { seq, faultAt: body.state === 'fault' ? at : null }
    this.#hour = null
  }

  /**
   * Reads up to the initial head; later messages arrive through `follow`. Throws the log's errors.
   */
  async #fill(): Promise<void> {
    const since = this.#timers.now() - hourMs
    const { head } = await this.#log.snapshot(channels)
    if (this.#isStopped) return
    const first = await this.#log.numberAt(windChannel, since)
    await this.#readUntil(head, first, head.seq, (message) => this.#record(message))
  }

  /** Records what is older than the first minute of the hour. What cannot be read is missing. */
  async #fillWeek(older: Older): Promise<void> {
    const now = this.#timers.now()
    const until = this.#history.since(Number.NEGATIVE_INFINITY, 'minute')[0]?.firstAt ?? now
    try {
      const { head } = await this.#log.snapshot(channels)
      if (this.#isStopped) return
      const first = await this.#log.numberAt(windChannel, now - weekMs)
      const last = await this.#log.numberAt(windChannel, until)
      await this.#readUntil(head, first, last, ({ body, at }) => older.history.take(body, at))
    } catch (error) {
      this.#onFailure(error)
    }
    older.isComplete = true
  }

  /** Gives each reading after a number, up to another. */
  async #readUntil(
    head: Cursor,
    first: number,
    last: number,
    take: (message: Message<'reading'>) => void,
  ): Promise<void> {
    let place = first
    while (place < last) {
      const portion = await this.#read({ ...head, seq: place })
      if (!portion) return
      const messages = portion.recovered ? portion.messages : []
      for (const message of messages) if (message.seq <= last && isKind(message, 'reading')) take(message)
      place = portion.recovered ? portion.reached.seq : place + skippedMessages
    }
  }

  /** Null after stop: the log may be closed. */
  async #read(after: Cursor) {
    await new Promise<void>((resolve) => this.#timers.later(resolve, pauseMs))
    return this.#isStopped ? null : this.#log.read(after, channels)
  }
}
