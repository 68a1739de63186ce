// Reads a line that a logger wrote: when it came, and what came.

export interface Stamped {
  /** Ms since the epoch. Only distances count, so a time without a zone is taken as UTC. */
  readonly at: number
  /** What the sensor sent, without its line end and the logger's quotes. */
  readonly raw: string
}

/** `2026-05-02T08:00:00.25Z`, with a blank for the T, any fraction, any zone or none. */
const isoTime = String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?`
/** Seconds or ms since 1970; shorter numbers are no times but may be the rest of a frame. */
const epochTime = String.raw`\d{9,13}(?:\.\d+)?`
/** What loggers put behind a time: blanks, commas and the like, and where they quote or bracket it, the end of that. */
const separator = String.raw`[\s,;:\]"']`
const time = new RegExp(`(?<![\\d.])(?:${isoTime}|${epochTime})(?=${separator}|$)`, 'g')
const leading = new RegExp(`^[\\s"'[]*(${isoTime}|${epochTime})${separator}+(.*)$`, 's')

/** Later than any time in seconds, earlier than all but the oldest in ms. */
const firstMs = 1e11

/** No frame ends with a quote: it is the logger's. */
const closing = /[\s"']+$/

/** What frames begin with. Logs put more than one time before them, and other words. */
const beginnings = ['\x02', '$IIMWV', '$WIMWV']

/**
 * A frame and the time nearest before it, whatever else stands before; or, where no frame begins, the time that the line
 * begins with and all that follows it. Null where there is no such time.
 */
export function readStamped(line: string): Stamped | null {
  const begins = beginnings.map((beginning) => line.indexOf(beginning)).filter((index) => index >= 0)
  if (begins.length === 0) {
    const [, stamp, raw] = leading.exec(line) ?? []
    return stamp === undefined || raw === undefined ? null : stamped(stamp, raw)
  }
  const begin = Math.min(...begins)
  const stamp = line.slice(0, begin).match(time)?.at(-1)
  return stamp === undefined ? null : stamped(stamp, line.slice(begin))
}

function stamped(stamp: string, raw: string): Stamped | null {
  const at = stamp.includes(':') ? readIso(stamp) : readEpoch(Number(stamp))
  return Number.isNaN(at) ? null : { at, raw: raw.replace(closing, '') }
}

function readIso(stamp: string): number {
  const whole = stamp.replace(' ', 'T').replace(/([+-]\d\d)(\d\d)$/, '$1:$2')
  return Date.parse(/(?:Z|[+-]\d\d:\d\d)$/.test(whole) ? whole : `${whole}Z`)
}

function readEpoch(number: number): number {
  return number < firstMs ? number * 1000 : number
}
