// The wind as an overview shows it, from what the sensor says.

import { isKind, type Message } from '../wire/envelope.ts'
import type { WindOverview } from '../wire/overview.ts'
import type { ReadingBody, SensorBody } from '../wire/reading.ts'
import type { Clock } from '../wire/time.ts'
import { createFigures } from '../wire/wind/figures.ts'
import type { WindMean } from '../wire/wind/mean.ts'
import { createSampling } from '../wire/wind/sampling.ts'

export interface WindRecord {
  /** Takes every message; those that are not the sensor's are passed over. */
  readonly take: (message: Message) => void
  /** As of now; null where no sensor has been heard of. */
  readonly overview: () => WindOverview | null
}

/** `steadyNow` never runs back. */
export function createWindRecord(steadyNow: Clock): WindRecord {
  const sampling = createSampling()
  const figures = createFigures()
  let reading: ReadingBody | null = null
  let readingAt: number | null = null
  let sensor: SensorBody | null = null
  /** How far the readings' time is ahead of `steadyNow`. */
  let aheadMs = 0
  let figuresAt = Number.NEGATIVE_INFINITY

  function takeReading({ body, at: stampedAt }: Message<'reading'>): void {
    const { at, sample } = sampling.take(body, stampedAt)
    if (sample) figures.add(sample)
    aheadMs = at - steadyNow()
    reading = body
    readingAt = stampedAt
  }

  return {
    take(message) {
      if (isKind(message, 'reading')) takeReading(message)
      if (isKind(message, 'sensor')) sensor = message.body
    },
    overview() {
      const source = reading?.source ?? sensor?.source
      if (!source) return null
      figuresAt = Math.max(figuresAt, steadyNow() + aheadMs)
      const { twoMinutes, tenMinutes, gustMetresPerSecond } = figures.at(figuresAt)
      return {
        source,
        state: reading?.state ?? null,
        status: reading?.status ?? null,
        readingAt,
        trouble: sensor && sensor.state !== 'connected' ? sensor.sentence : null,
        meanMetresPerSecond: hundredths(twoMinutes?.speedMetresPerSecond ?? null),
        meanDirectionDegrees: wholeDegrees(twoMinutes?.directionDegrees ?? null),
        meanCoversSeconds: wholeSeconds(twoMinutes),
        gustMetresPerSecond: hundredths(gustMetresPerSecond),
        gustCoversSeconds: wholeSeconds(tenMinutes),
      }
    },
  }
}

/** The sensor's own resolution. */
function hundredths(speed: number | null): number | null {
  return speed === null ? null : Math.round(speed * 100) / 100
}

function wholeDegrees(degrees: number | null): number | null {
  return degrees === null ? null : Math.round(degrees) % 360
}

function wholeSeconds(mean: WindMean | null): number {
  return mean === null ? 0 : Math.floor(mean.coversMs / 1000)
}
