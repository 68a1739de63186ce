// The wind of an overview: the sensor's newest message, mean and gust.

import type { ReadingBody, SensorBody, WindOverview } from '../page/page-messages.ts'
import { WindAggregator } from '../page/wind-statistics.ts'
import { isKind, type Message } from '../wire/messages.ts'
import type { Clock } from '../wire/time.ts'

export class WindRecord {
  readonly #now: Clock
  readonly #statistics = new WindAggregator()
  #reading: ReadingBody | null = null
  #readingAt: number | null = null
  #sensor: SensorBody | null = null
  /** The aggregator's time minus `#now`. */
  #aheadMs = 0
  #figuresAt = Number.NEGATIVE_INFINITY

  /** `now` is monotonic. */
  constructor(now: Clock) {
    this.#now = now
  }

  take(message: Message): void {
    if (isKind(message, 'sensor')) this.#sensor = message.body
    if (!isKind(message, 'reading')) return
    const { at } = this.#statistics.take(message.body, message.at)
    this.#aheadMs = at - this.#now()
    this.#reading = message.body
    this.#readingAt = message.at
  }

  /** Null before the sensor's first message. */
  overview(): WindOverview | null {
    const reading = this.#reading
    const sensor = this.#sensor
    const source = reading?.source ?? sensor?.source
    if (!source) return null
    this.#figuresAt = Math.max(this.#figuresAt, this.#now() + this.#aheadMs)
    const { twoMinutes, tenMinutes, gustMetresPerSecond: gust } = this.#statistics.figures(this.#figuresAt)
    const direction = twoMinutes?.directionDegrees ?? null
    return {
      source,
      state: reading?.state ?? null,
      status: reading?.status ?? null,
      readingAt: this.#readingAt,
      trouble: sensor && sensor.state !== 'connected' ? sensor.sentence : null,
      meanMetresPerSecond: twoMinutes && hundredths(twoMinutes.speedMetresPerSecond),
      meanDirectionDegrees: direction && Math.round(direction) % 360,
      meanCoversSeconds: Math.floor((twoMinutes?.coversMs ?? 0) / 1000),
      gustMetresPerSecond: gust && hundredths(gust),
      gustCoversSeconds: Math.floor((tenMinutes?.coversMs ?? 0) / 1000),
    }
  }
}

/** The sensor's resolution. */
function hundredths(speed: number): number {
  return Math.round(speed * 100) / 100
}
