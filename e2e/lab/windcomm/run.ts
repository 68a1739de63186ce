// A run of the WindComm experiment as data: what was measured, over which networks. Everything printed is made from this.

import type { Profile } from '../../network/profiles.ts'
import type { CheckedClock } from '../clock.ts'
import type { Environment } from '../samples.ts'
import type { LinkUse } from './links.ts'

/** One reading of the sensor, as the log has it. Times are ms since the epoch, of the server's clock. */
export interface Reading {
  readonly id: string
  readonly seq: number
  /** The host's stamp of the frame's first byte. */
  readonly at: number
  /** The server had the reading and could pass it on: the paper's t0. */
  readonly acceptedAt: number
}

/** One reading at one window. */
export interface WindSample {
  readonly site: string
  readonly mode: string
  /** Which of the counted readings, from 1. */
  readonly place: number
  readonly id: string
  readonly seq: number
  readonly acceptedAt: number
  /** Before anything was parsed: the paper's t4. Null for one that never came. */
  readonly receivedAt: number | null
  /** Times it arrived: 1 is right, 0 lost, more duplicated. */
  readonly copies: number
  /** It came after one that the log has later. */
  readonly reordered: boolean
}

export interface Site {
  readonly name: string
  /** As it was run: made faster where the run was. */
  readonly profile: Profile
  /** Of the network's course, the same for every method here. */
  readonly seed: number
  /** Pages of a real browser, or clients without one. */
  readonly windows: 'browser' | 'client'
}

/** Offset and bound are by exchanges with the server; nothing is added to any stamp, for on one machine there is one clock. */
export interface ComparedClock extends CheckedClock {
  /** Stamps of this clock are off from the server's by this at most, ms. */
  readonly errorMs: number
}

export interface RunClock {
  /** Before the first reading counted and after the last: the lab's clients have one clock, each page its own. */
  readonly before: readonly ComparedClock[]
  readonly after: readonly ComparedClock[]
}

export interface Pace {
  /** All of these as they were run. */
  readonly rateHz: number
  readonly holdMs: number
  readonly intervalMs: number
  /** How many times as fast as asked for: rate, hold, interval and the networks' delays together. */
  readonly faster: number
}

export interface WindRun extends Pace {
  readonly command: string
  /** ISO 8601. */
  readonly startedAt: string
  readonly finishedAt: string
  readonly environment: Environment
  readonly parameters: Readonly<Record<string, string | number | boolean>>
  /** Left out after every window had one. */
  readonly warmUpReadings: number
  readonly sites: readonly Site[]
  readonly modes: readonly string[]
  readonly readings: readonly Reading[]
  readonly samples: readonly WindSample[]
  readonly clock: RunClock
  readonly links: readonly LinkUse[]
  /** Of the server's process, between the first reading counted and the last straggler. */
  readonly serverCpuMs: number
}

export type Arrived = WindSample & { readonly receivedAt: number }

export function hasArrived(sample: WindSample): sample is Arrived {
  return sample.receivedAt !== null
}

/** One way, from the server's having the reading to its receipt, ms. */
export function latencyMs({ acceptedAt, receivedAt }: Arrived): number {
  return receivedAt - acceptedAt
}

/** The samples of one mode at one site, in the order of the readings. */
export function cellOf(run: Pick<WindRun, 'samples'>, site: string, mode: string): readonly WindSample[] {
  return run.samples.filter((sample) => sample.site === site && sample.mode === mode)
}
