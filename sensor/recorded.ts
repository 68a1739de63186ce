// Replays a sensor's raw log at its recorded speed or faster.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { nothingPlanned, type Timers } from '../protocol/time.ts'
import { entriesOf, surveyLog } from './raw-log.ts'

interface RecordedOpening {
  readonly path: string
  /** Playback speed. */
  readonly pace: number
  /** Messages per second of a log without times, before applying `pace`. */
  readonly rateHz: number
  readonly timers: Timers
  /** `notes` are sentences about assumed, invented or omitted times. */
  onOpen(notes: readonly string[]): void
  /** A message with CR LF. `at` is the time of the replay, ms since the epoch, fractional. */
  onBytes(bytes: Uint8Array, at: number): void
  /**
   * Called if nothing can be replayed, or on a read error; nothing follows. `reason` is for people.
   */
  onClose(reason: string): void
  /** For tests. */
  readonly read?: (path: string) => AsyncIterable<Uint8Array>
}

/** After a longer delay, such as the machine's sleep, playback does not catch up. */
const longestBacklogMs = 10_000

/** Opens with the first message, and repeats the log for ever. Memory is bounded. */
export function openRecorded(opening: RecordedOpening): { stop(): Promise<void> } {
  const { path, timers, pace, rateHz, read = readLogFile } = opening
  let isOpen = false
  let isStopped = false
  let dueAt = timers.now()
  let wake = nothingPlanned

  /** Surveys the log before each round: an unreadable one would mean endless silence. */
  async function play(): Promise<void> {
    for (;;) {
      const { layout, notes } = await surveyLog(read(path), rateHz)
      const messages = pacedMessages(entriesOf(read(path), layout), rateHz, layout !== null)
      for await (const { message, gapMs } of messages) {
        if (isOpen) await pass(gapMs / pace)
        if (isStopped) return
        if (!isOpen) opening.onOpen(notes)
        isOpen = true
        opening.onBytes(Buffer.from(`${message}\r\n`, 'latin1'), timers.now())
      }
    }
  }

  /** Waits until `ms` after the previous due time, without drift. */
  async function pass(ms: number): Promise<void> {
    dueAt += ms
    const waitMs = dueAt - timers.now()
    if (waitMs < -longestBacklogMs) dueAt = timers.now()
    if (waitMs <= 0 || isStopped) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = timers.later(resolve, waitMs)
    wake = () => {
      cancel()
      resolve()
    }
    await promise
  }

  const played = play().catch((error: unknown) => {
    if (!isStopped) opening.onClose(error instanceof Error ? error.message : String(error))
  })
  return {
    stop() {
      isStopped = true
      wake()
      return played
    },
  }
}

const pieceBytes = 8192

const missing = 'there is no such file: check sensor.file (--sensor-file)'
const reasons: Readonly<Record<string, string>> = {
  ENOENT: missing,
  ENOTDIR: missing,
  EACCES: 'permission denied: let the user that runs the server read it (chmod a+r, and a+x for its folders)',
  EPERM: 'permission denied: let the user that runs the server read it',
}

/** Throws an Error for people. */
async function* readLogFile(path: string): AsyncGenerator<Uint8Array> {
  try {
    const found = await stat(path)
    if (!found.isFile()) throw new Error('this is not a file: name a raw log of a WindSonic')
    if (found.size === 0) throw new Error('the log is empty')
    // Small chunks keep the event loop responsive.
    yield* createReadStream(path, { highWaterMark: pieceBytes })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    const code = String(error.code)
    throw new Error(`the log cannot be read, ${reasons[code] ?? code}`)
  }
}

/** Messages that may wait for the next time. */
const maxPending = 4096

/**
 * Spreads messages without a time between their neighbours; outside of these, or in a log without
 * times, they are `1000 / rateHz` apart. `gapMs` is the time since the previous message.
 */
async function* pacedMessages(
  entries: ReturnType<typeof entriesOf>,
  rateHz: number,
  hasTimes: boolean,
): AsyncGenerator<{ readonly message: string; readonly gapMs: number }> {
  const gapBefore = createPacing(rateHz)
  const usualMs = 1000 / rateHz
  let pending: string[] = []
  let isFirst = true
  for await (const { message, time } of entries) {
    pending.push(message)
    if (time !== null) {
      const gapMs = gapBefore(time.at, time.isLocal)
      const shareMs = isFirst ? usualMs : gapMs / pending.length
      for (const one of pending) yield { message: one, gapMs: shareMs }
      pending = []
      isFirst = false
    } else if (!hasTimes || pending.length > maxPending)
      yield { message: pending.shift() ?? '', gapMs: usualMs }
  }
  for (const message of pending) yield { message, gapMs: usualMs }
}

/**
 * Polling loggers keep a frame at least hourly. A longer gap is a hole or a clock change; the page
 * shows one hour.
 */
const longestGapMs = 3_600_000
/** A WindSonic's highest rate (P3). */
const fastestHz = 4
/** Shift of daylight-saving time. */
const daylightSavingMs = 3_600_000
/** The next gap beside such a shift, as a multiple of the last, or `minUsualMs`. */
const usualGaps = 2
const minUsualMs = 2000

/**
 * Maps a line's time, ms, to the gap before it, ms: 0 if the clock went back, at most an hour. A
 * step of an hour in a local clock with frequent lines is daylight-saving time, not a gap. Of lines
 * with equal times, one second's worth plays at once; the rest, from a logger with coarse times,
 * play at `rateHz` and shorten the next gap.
 */
function createPacing(rateHz: number): (at: number, isLocal: boolean) => number {
  const maxAtOnce = Math.max(fastestHz, rateHz)
  let lastAt: number | null = null
  let alike = 0
  let aheadMs = 0
  let usualMs = daylightSavingMs

  function withoutDaylightSaving(stepMs: number): number {
    const restMs = stepMs - Math.sign(stepMs) * daylightSavingMs
    const isDaylightSaving = restMs >= 0 && restMs <= Math.max(usualGaps * usualMs, minUsualMs)
    return isDaylightSaving && usualMs < daylightSavingMs / 4 ? restMs : stepMs
  }

  function spread(): number {
    alike += 1
    if (alike <= maxAtOnce) return 0
    aheadMs += 1000 / rateHz
    return 1000 / rateHz
  }

  return (at, isLocal) => {
    if (at === lastAt) return spread()
    const stepMs = at - (lastAt ?? at)
    const gapMs = Math.min(Math.max(0, isLocal ? withoutDaylightSaving(stepMs) : stepMs), longestGapMs)
    if (lastAt !== null && gapMs > 0) usualMs = gapMs
    lastAt = at
    alike = 1
    const waitMs = Math.max(0, gapMs - aheadMs)
    aheadMs -= gapMs - waitMs
    return waitMs
  }
}
