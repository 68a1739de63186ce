// The three things a WindSonic can be doing: sending, waiting to be asked, being configured.

import type { Random } from '../../wire/random.ts'
import { nothingPlanned, type Timers } from '../../wire/time.ts'
import { longestFrameBytes } from './meaning.ts'
import { createPolls } from './polls.ts'
import { startTicks } from './ticks.ts'
import { gatherLines } from './typing.ts'

export interface Mode {
  /** The host wrote this character. */
  take(character: string): void
  stop(): void
}

export interface ContinuousOpening {
  readonly timers: Timers
  readonly rateHz: number
  readonly byteMs: number
  readonly startAt: number
  /** A frame has to have left at `dueAt`. */
  onDue(dueAt: number): void
  onConfigure(): void
}

/** Frame n has left at `startAt + n / rateHz`, so that it arrives then however long it is. `*` configures. */
export function sendContinuously({ byteMs, onDue, onConfigure, ...beat }: ContinuousOpening): Mode {
  const aheadMs = Math.ceil(longestFrameBytes * byteMs)
  const stop = startTicks({ ...beat, aheadMs, onTick: onDue })
  return {
    take(character) {
      if (character === '*') onConfigure()
    },
    stop,
  }
}

export interface PolledOpening {
  readonly timers: Timers
  readonly random: Random
  /** Samples a second; a reply is of the last one. */
  readonly rateHz: number
  /** Before it nothing is heard, ms of the timers' clock. */
  readonly readyAt: number
  readonly node: string
  /** `samples`: how many have passed since the last reply, 0 where it is the same again. */
  onReply(samples: number): void
  onIdentify(): void
  onConfigure(): void
}

/** A reply begins within 130 ms (manual 1405-PS-0019, section 9.3): here within 50, how it spreads is unverified. */
const soonestReplyMs = 10
const latestReplyMs = 50

/** A question while a reply is under way is lost, which is unverified. */
export function waitForPolls({ timers, random, rateHz, readyAt, onReply, ...polled }: PolledOpening): Mode {
  let sampledAt = timers.now()
  let isReplying = false
  let cancel = nothingPlanned
  const take = createPolls({
    ...polled,
    onAsk() {
      if (isReplying) return
      isReplying = true
      cancel = timers.later(reply, soonestReplyMs + (latestReplyMs - soonestReplyMs) * random())
    },
  })

  function reply(): void {
    isReplying = false
    const samples = Math.max(0, Math.floor(((timers.now() - sampledAt) * rateHz) / 1000))
    sampledAt += (samples * 1000) / rateHz
    onReply(samples)
  }

  return {
    take(character) {
      if (timers.now() >= readyAt) take(character)
    },
    stop: () => cancel(),
  }
}

/** Takes commands until `onCommand` changes the mode. */
export function beConfigured(onCommand: (command: string) => void): Mode {
  return { take: gatherLines(onCommand), stop: nothingPlanned }
}
