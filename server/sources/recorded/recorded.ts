// Replays a raw log of a sensor, at its own pace or faster.

import type { Timers } from '../../wire/time.ts'
import type { ByteSource, Listening } from '../byte-source.ts'
import { readLogFile } from './log-file.ts'
import type { LogRecord } from './records.ts'
import { roundsOf } from './rounds.ts'
import { createWaiter } from './waiter.ts'

export interface RecordedOpening extends Listening {
  readonly path: string
  /** How many times as fast as it was recorded; 1 unless told. */
  readonly pace?: number
  /** Frames a second of a log without times; 4 unless told. Pace comes on top. */
  readonly rateHz?: number
  /** Begins anew at the end, which it does unless told; otherwise it closes there. */
  readonly repeats?: boolean
  readonly timers: Timers
  /** A line of a stamped log has no time, and is passed over. `number` counts from 1. */
  onBadLine?(number: number, text: string): void
  /** A stand-in for tests. */
  readonly read?: typeof readLogFile
}

export interface RecordedSource extends ByteSource {
  /** Lines passed over so far. */
  readonly badLines: number
}

/**
 * Opens with the first record; stamps are those of the replay, not those of the log. The log is read as it is played, in
 * bounded memory. Closes once and for good, with `retryInMs` Infinity: at the end where it does not repeat, when the file
 * cannot be read, and when nothing in it can be replayed. Throws a RangeError on a pace or rate that is not positive.
 */
export function openRecorded(opening: RecordedOpening): RecordedSource {
  const { path, timers, pace = 1, rateHz = 4, repeats = true, read = readLogFile } = opening
  refuseUnlessPositive('pace', pace)
  refuseUnlessPositive('rate', rateHz)
  const waiter = createWaiter(timers)
  let badLines = 0
  let firstBad = 0
  let isStopped = false
  let isOpen = false

  async function play(): Promise<string> {
    for await (const record of roundsOf({ read: () => read(path), rateHz, repeats })) {
      if (isStopped) break
      if (record.kind === 'bad') note(record)
      else await say(record)
    }
    return 'the log has ended'
  }

  async function say({ gapMs, bytes }: Extract<LogRecord, { kind: 'said' }>): Promise<void> {
    if (!isOpen) opening.onOpen()
    isOpen = true
    await waiter.pass(gapMs / pace)
    if (!isStopped) opening.onBytes(bytes, timers.now())
  }

  function note({ number, text }: Extract<LogRecord, { kind: 'bad' }>): void {
    badLines += 1
    firstBad ||= number
    opening.onBadLine?.(number, text)
  }

  function close(reason: string): void {
    if (isStopped) return
    const passedOver =
      badLines > 0 ? `; lines without a time: ${badLines}, the first is line ${firstBad}` : ''
    opening.onClose({ reason: `${path}: ${reason}${passedOver}`, retryInMs: Number.POSITIVE_INFINITY })
  }

  const played = play().catch(messageOf).then(close)
  return {
    get badLines() {
      return badLines
    },
    stop() {
      isStopped = true
      waiter.end()
      return played
    },
  }
}

function refuseUnlessPositive(name: string, value: number): void {
  if (!(value > 0 && Number.isFinite(value))) throw new RangeError(`The ${name} must be positive: ${value}`)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
