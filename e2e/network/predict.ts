// What a profile predicts for the three methods of the 2012 paper: an experiment of messages and times, without a machine.

import { createSeededRandom, type Random } from '../../server/wire/random.ts'
import { createPaths, type Paths } from './path.ts'
import type { Profile } from './profiles.ts'

export type Method = 'websocket' | 'long-polling' | 'polling'

export interface Experiment {
  readonly readings: number
  readonly rateHz: number
  /** The longest that a question of long polling is held. */
  readonly holdMs: number
  /** Polling's pause from an answer to the next question. */
  readonly intervalMs: number
  readonly random: Random
}

/** Those who ask have been at it for so many readings when the first one counts. */
const warmUpReadings = 8

/**
 * One-way latencies, ms, in the order of the readings: from the server's reading to the client's receipt. All three pass
 * the same course of queues and stalls. Machines take no time here, and a rate limit is left out: a reading is 22 bytes.
 */
export function predict(
  profile: Profile,
  { readings, rateHz, holdMs, intervalMs, random }: Experiment,
): Readonly<Record<Method, readonly number[]>> {
  const seed = Math.floor(random() * 2 ** 32)
  const paths = () => createPaths(profile, createSeededRandom(seed))
  const everyMs = 1000 / rateHz
  const times = Array.from({ length: readings }, (_, reading) => (reading + warmUpReadings) * everyMs)
  const firstAskMs = random() * everyMs
  return {
    websocket: push(times, paths()),
    'long-polling': ask(times, paths(), { holdMs, pauseMs: 0, firstAskMs }),
    polling: ask(times, paths(), { holdMs: 0, pauseMs: intervalMs, firstAskMs }),
  }
}

function push(times: readonly number[], { down }: Paths): number[] {
  return times.map((time) => down(time) - time)
}

interface Asking {
  readonly holdMs: number
  readonly pauseMs: number
  readonly firstAskMs: number
}

/** Each answer has all readings since the one before; the next question leaves a pause after it. */
function ask(times: readonly number[], { down, up }: Paths, asking: Asking): number[] {
  const latencies: number[] = []
  let askedAt = asking.firstAskMs
  while (latencies.length < times.length) {
    const heardAt = up(askedAt)
    const newest = times[latencies.length] ?? 0
    const answeredAt = Math.min(Math.max(newest, heardAt), heardAt + asking.holdMs)
    const receivedAt = down(answeredAt)
    for (let time = times[latencies.length]; time !== undefined && time <= answeredAt; ) {
      latencies.push(receivedAt - time)
      time = times[latencies.length]
    }
    askedAt = receivedAt + asking.pauseMs
  }
  return latencies
}
