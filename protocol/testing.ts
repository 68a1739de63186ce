// Test doubles: manual timers, a client clock with a known error against the server's, and traces.

import type { Exchange } from './clock-estimate.ts'
import { createSeededRandom, type Random, type Timers } from './time.ts'
import { trace, traceSections, turnOnTraces } from './trace.ts'

interface Planned {
  readonly dueAt: number
  readonly run: () => void
}

interface ManualTime extends Timers {
  /** Passes `byMs`: due timers run in order, at their due times. */
  advance(byMs: number): void
  /** Passes `byMs` as a blocked process does: due timers run at the next `advance`. */
  stall(byMs: number): void
  /** Steps the clock; timers are unaffected. */
  setClock(byMs: number): void
  pending(): number
}

/** `fromMs` is in ms since the epoch. */
export function createManualTime(fromMs = 1_700_000_000_000): ManualTime {
  let now = 0
  let offset = fromMs
  const planned = new Set<Planned>()

  function nextBefore(endMs: number): Planned | undefined {
    let next: Planned | undefined
    for (const one of planned) if (one.dueAt <= endMs && (!next || one.dueAt < next.dueAt)) next = one
    return next
  }

  return {
    now: () => offset + now,
    later(run, delayMs) {
      const one = { dueAt: now + Math.max(0, delayMs), run }
      planned.add(one)
      return () => void planned.delete(one)
    },
    advance(byMs) {
      const endMs = now + byMs
      for (let next = nextBefore(endMs); next; next = nextBefore(endMs)) {
        planned.delete(next)
        now = Math.max(now, next.dueAt)
        next.run()
      }
      now = endMs
    },
    stall(byMs) {
      now += byMs
    },
    setClock(byMs) {
      offset += byMs
    },
    pending: () => planned.size,
  }
}

export interface ClockSettings {
  /** Initial lead of the client's clock over the server's, ms. */
  readonly aheadMs?: number
  /** Rate error, ppm. */
  readonly fastPpm?: number
  /** Amplitude (ppm) and period (ms) of the rate's variation. */
  readonly swingPpm?: number
  readonly swingMs?: number
  /** Resolution, ms; 0 for exact. */
  readonly resolutionMs?: number
}

/** Server time, ms since the epoch. */
export const startMs = 1_763_715_600_000

/**
 * A client clock compared with the server's, which is exact; `sinceMs` is the time since the start.
 */
export function createWrongClock({
  aheadMs = 0,
  fastPpm = 0,
  swingPpm = 0,
  swingMs = 60_000,
  resolutionMs = 0,
}: ClockSettings) {
  let steppedMs = 0
  const turn = (2 * Math.PI) / swingMs

  function read(sinceMs: number): number {
    const driftMs = (sinceMs * fastPpm + (swingPpm / turn) * Math.sin(turn * sinceMs)) / 1e6
    const wholeMs = startMs + sinceMs + aheadMs + driftMs + steppedMs
    return resolutionMs === 0 ? wholeMs : Math.floor(wholeMs / resolutionMs) * resolutionMs
  }

  return {
    read,
    offsetMs: (sinceMs: number) => startMs + sinceMs - read(sinceMs),
    step(byMs: number) {
      steppedMs += byMs
    },
  }
}

type WrongClock = ReturnType<typeof createWrongClock>

/** One-way delay, ms: uniform from `leastMs` to `leastMs + spreadMs`. */
export interface Way {
  readonly leastMs: number
  readonly spreadMs: number
}

export interface Ways {
  readonly there: Way
  readonly back: Way
}

/** 5 to 10 ms each way. */
export const evenWays: Ways = { there: { leastMs: 5, spreadMs: 5 }, back: { leastMs: 5, spreadMs: 5 } }

/** An exchange that starts at `sinceMs`; `endsMs` is the arrival of the answer. */
export function exchangeAt(clock: WrongClock, sinceMs: number, ways: Ways, random: Random) {
  const draw = ({ leastMs, spreadMs }: Way) => leastMs + spreadMs * random()
  const thereMs = sinceMs + draw(ways.there)
  const answeredMs = thereMs + random()
  const endsMs = answeredMs + draw(ways.back)
  const exchange: Exchange = {
    sentAt: clock.read(sinceMs),
    receivedAt: startMs + thereMs,
    answeredAt: startMs + answeredMs,
    returnedAt: clock.read(endsMs),
  }
  return { exchange, endsMs }
}

const wholes =
  '😀 🇸🇪 🇳🇴 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👩‍👩‍👧‍👦 🧑🏽‍🚀 👍🏿 ❤️‍🔥 1️⃣ e\u0301 n\u0303\u0323 각 \u1112\u1161\u11ab 한글 שָׁלוֹם مرحبا नमस्ते क्षि ไทย 𝒳 𠮷 漢字 \ufffd'.split(
    ' ',
  )
const plain = [
  ...'abz*_`[]()<>&#!-|~\\.:"\'',
  '\n',
  '\n\n',
  ' ',
  '  ',
  '\t',
  '\u00a0',
  '\u200d',
  '\ufe0f',
  '\0',
  '\u0001',
  '\u0085',
  '\ufffe',
]
const halves = ['\ud83d', '\ude00', '\udfff', '\ud800']

/** Texts of characters that are easily cut in half, and of halves. */
export const randomTexts = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, seed) => {
    const random = createSeededRandom(seed + 1)
    const pick = (items: readonly string[]) => items[Math.floor(random() * items.length)] ?? ''
    return Array.from({ length: 1 + random() * 60 }, () => {
      const chance = random()
      return pick(chance < 0.6 ? wholes : chance < 0.95 ? plain : halves)
    }).join('')
  })

/** Number of U+FFFD in a text, including in addresses. */
export const replacementsIn = (text: string): number =>
  text.split('\ufffd').length + text.split(/%EF%BF%BD/i).length - 2

/** Turns on these sections until it is disposed of. `lines`: `SECTION SENTENCE`. */
export function collectTraces(list: string) {
  const lines: string[] = []
  turnOnTraces(list, (section, sentence) => void lines.push(`${section} ${sentence}`))
  return {
    lines,
    [Symbol.dispose]() {
      for (const section of traceSections) trace[section] = null
    },
  }
}
