// The frames bench from options to figures: streams are made, take turns through the splitter, rows come out.

import { axesOf } from '../../server/sources/frames/axes.ts'
import { createFrameSplitter } from '../../server/sources/frames/frame-splitter.ts'
import { writeFrame } from '../../server/sources/frames/write-frame.ts'
import { createSeededRandom, type Random } from '../../server/wire/random.ts'
import type { FrameFormat } from '../../server/wire/reading.ts'
import { median } from '../lab/stats/summary.ts'
import type { FramesOptions } from './frames-options.ts'
import type { Progress } from './progress.ts'
import { turnsOf } from './turns.ts'

export interface FramesRow {
  readonly format: FrameFormat
  /** Bytes in 100 that were replaced by others. */
  readonly damagePercent: number
  /** In a turn. */
  readonly sent: number
  readonly read: number
  /** The median of the rounds, which one disturbed round does not move; the least, the most. */
  readonly microsPerFrame: number
  readonly microsMin: number
  readonly microsMax: number
}

interface Stream {
  readonly format: FrameFormat
  readonly damagePercent: number
  readonly pieces: readonly Uint8Array[]
}

const formats: readonly FrameFormat[] = ['polar', 'uv', 'nmea', 'tunnel']
/** The first turns run code that nothing has compiled yet: nobody counts them. */
const warmupTurns = 3
const strongestMetresPerSecond = 40

/** `now` is in ms, with fractions: this thread's processor time unless told, so that who else runs does not count. */
export function frames(
  options: FramesOptions,
  progress: Progress,
  now: () => number = processorMs,
): readonly FramesRow[] {
  const random = createSeededRandom(options.seed)
  const streams = formats.flatMap((format) =>
    [...new Set([0, options.damage])].map((damagePercent) =>
      makeStream(format, damagePercent, options, random),
    ),
  )
  const turns = new Map(streams.map((stream) => [stream, [] as Turn[]]))
  for (let turn = 0; turn < warmupTurns; turn++) for (const stream of streams) takeTurn(stream, now)
  for (const [round, order] of turnsOf(streams, options.rounds).entries()) {
    progress.say(`round ${round + 1} of ${options.rounds}`)
    for (const stream of order) turns.get(stream)?.push(takeTurn(stream, now))
  }
  progress.clear()
  return Array.from(turns, ([stream, taken]) => rowOf(stream, options.frames, taken))
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function makeStream(
  format: FrameFormat,
  damagePercent: number,
  { frames: count, piece }: FramesOptions,
  random: Random,
): Stream {
  const bytes = Buffer.concat(Array.from({ length: count }, () => anyFrame(format, random)))
  for (let at = 0; at < bytes.length; at++)
    if (random() * 100 < damagePercent) bytes[at] = Math.floor(random() * 256)
  const pieces = Array.from({ length: Math.ceil(bytes.length / piece) }, (_, place) =>
    bytes.subarray(place * piece, (place + 1) * piece),
  )
  return { format, damagePercent, pieces }
}

function anyFrame(format: FrameFormat, random: Random): Uint8Array {
  const directionDegrees = Math.floor(random() * 360)
  const speed = random() * strongestMetresPerSecond
  const axes = axesOf(directionDegrees, speed)
  return writeFrame(
    { node: 'Q', directionDegrees, speed, axes, unit: 'M', status: '00' },
    { format, ending: '\r\n', talker: 'II', hasGillStatus: false },
  )
}

interface Turn {
  readonly read: number
  readonly ms: number
}

function takeTurn({ pieces }: Stream, now: () => number): Turn {
  const splitter = createFrameSplitter()
  let read = 0
  const startAt = now()
  for (const piece of pieces) {
    for (const split of splitter.push(piece, startAt)) if (split.kind === 'frame') read += 1
  }
  return { read, ms: now() - startAt }
}

function rowOf({ format, damagePercent }: Stream, sent: number, turns: readonly Turn[]): FramesRow {
  const micros = turns.map(({ ms }) => (ms * 1000) / sent)
  return {
    format,
    damagePercent,
    sent,
    read: turns[0]?.read ?? 0,
    microsPerFrame: median(micros),
    microsMin: Math.min(...micros),
    microsMax: Math.max(...micros),
  }
}
