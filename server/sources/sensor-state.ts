// Judges how a real sensor is doing from what is heard of it, and says so when that changes.

import type { SensorBody } from '../wire/reading.ts'
import { nothingPlanned, type Timers } from '../wire/time.ts'
import type { Closing } from './byte-source.ts'
import { type LineWords, trouble, unplugged } from './port/sentences.ts'
import { collectEvidence } from './port/verdict.ts'

export interface SensorWatchOpening extends LineWords {
  readonly timers: Timers
  /** Without a good frame for this long a sensor is silent or garbled; longer for one that is known to be slow. */
  readonly silentAfterMs: number
  onChange(body: SensorBody): void
}

export interface SensorWatch {
  opened(): void
  /** Whatever came, good or not. */
  bytes(bytes: Uint8Array): void
  /** A good frame came. */
  frame(): void
  /** Something was refused; `isIntact` when its checksum was right, so it is only another format. */
  refused(isIntact: boolean): void
  /** A question to a polled sensor was not answered. */
  missed(): void
  closed(closing: Closing): void
  stop(): void
}

/** A WindSonic's slowest rate is a frame in 4 s (P20); a longer gap between two is an outage, not its rate. */
const slowestMs = 4500
/** A frame may be late by as much again, and half. */
const patience = 2.5

/**
 * Says `connected` at the first good frame, `silent` or `garbled` after `silentAfterMs` without one, `unplugged` when
 * the port closes or will not open; and again when the reason for that changes. Says nothing twice.
 */
export function watchSensor(opening: SensorWatchOpening): SensorWatch {
  const { path, timers, onChange } = opening
  const evidence = collectEvidence()
  /** After one frame nobody knows when the next is due, unless it was asked for. */
  const unknownGapMs = opening.polling === null ? slowestMs : 0
  let said: string | null = null
  let silentAfterMs = opening.silentAfterMs
  let frameAt: number | null = null
  let missed = 0
  let cancel = nothingPlanned

  function say(state: SensorBody['state'], sentence: string, because = ''): void {
    if (said === state + because) return
    said = state + because
    onChange({ source: 'serial', state, sentence })
  }

  function listenAnew(): void {
    cancel()
    evidence.age()
    cancel = timers.later(judge, silentAfterMs)
  }

  function judge(): void {
    const verdict = evidence.judge()
    const { state, sentence } = trouble(opening, { verdict, forMs: silentAfterMs, missed })
    say(state, sentence, verdict.kind)
    listenAnew()
  }

  function learnPace(): void {
    const now = timers.now()
    const gapMs = frameAt === null ? unknownGapMs : now - frameAt
    frameAt = now
    if (gapMs <= slowestMs) silentAfterMs = Math.max(opening.silentAfterMs, patience * gapMs)
  }

  function begin(): void {
    evidence.clear()
    missed = 0
    listenAnew()
  }

  return {
    opened: begin,
    bytes: evidence.bytes,
    frame() {
      say('connected', `The sensor on ${path} is sending readings.`)
      learnPace()
      begin()
    },
    refused: evidence.refused,
    missed() {
      missed += 1
    },
    closed(closing) {
      cancel()
      frameAt = null
      say('unplugged', unplugged(opening, closing), closing.reason)
    },
    stop: () => cancel(),
  }
}
