// `bench frames`: splits streams of wind frames, clean and damaged.

import { z } from 'zod'
import { createFrameSplitter } from '../../server/sensor/frame-splitter.ts'
import { axesOf, writeFrame } from '../../server/sensor/windsonic-frame.ts'
import type { FrameFormat } from '../../server/wire/messages.ts'
import { createSeededRandom, type Random } from '../../server/wire/time.ts'
import { readFlags, whole } from '../lab/flags.ts'
import { median } from '../lab/statistics.ts'
import { textTable } from '../lab/terminal-output.ts'
import { count, figure } from '../report/section.ts'
import { turnsOf } from './bench-turn.ts'

const schema = z.object({
  frames: whole(1, 1_000_000).default(10_000),
  rounds: whole(1, 1000).default(21),
  piece: whole(1, 65_536).default(23),
  damage: whole(0, 100).default(1),
  seed: whole(0, 2 ** 32 - 1).default(1405),
  json: z.string().min(1).optional(),
})

const help = `npm run bench -- frames [flags]

  What it costs to find and read a wind sensor's frames in the bytes that come, for each format, clean and damaged.

  --frames N    frames of each format in a turn          10000
  --rounds N    turns of each, in another order each     21
  --piece N     bytes that arrive together               23
  --damage N    of the damaged streams, bytes in 100     1
  --seed N      of winds and damage                      1405
  --json FILE   write the figures there too

  Microseconds of processor time for each frame that was sent, whether or not it could be read: the median of the rounds,
  the least and the most. Everything runs in this process, one turn after the other.
`

interface Stream {
  readonly format: FrameFormat
  /** Replaced bytes in 100. */
  readonly damagePercent: number
  readonly pieces: readonly Uint8Array[]
}

const formats: readonly FrameFormat[] = ['polar', 'uv', 'nmea', 'tunnel']
/** Not counted: the first passes run uncompiled code. */
const warmupPasses = 3
const strongestMetresPerSecond = 40

export const framesBench = {
  help,
  /** `now`: fractional ms; by default this thread's CPU time, which excludes other programs. */
  async run(
    argv: readonly string[],
    onStep: (step: string) => void,
    _signal: AbortSignal,
    now: () => number = processorMs,
  ) {
    const { frames, rounds, piece, damage, seed, json } = readFlags(schema, argv)
    const random = createSeededRandom(seed)
    const damages = [...new Set([0, damage])]
    const streams = formats.flatMap((format) =>
      damages.map((damagePercent) => makeStream({ format, damagePercent }, frames, piece, random)),
    )
    const passes = new Map(streams.map((stream) => [stream, [] as ReturnType<typeof readStream>[]]))
    for (let pass = 0; pass < warmupPasses; pass++) for (const stream of streams) readStream(stream, now)
    for (const [round, order] of turnsOf(streams, rounds).entries()) {
      onStep(`round ${round + 1} of ${rounds}`)
      for (const stream of order) passes.get(stream)?.push(readStream(stream, now))
    }
    const rows = Array.from(passes, ([stream, taken]) => rowOf(stream, frames, taken))
    return {
      text: framesText(rows),
      failures: [],
      rows,
      isComplete: rows.every(({ damagePercent, sent, read }) => damagePercent > 0 || read === sent),
      json,
    }
  },
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function makeStream(
  { format, damagePercent }: Omit<Stream, 'pieces'>,
  frames: number,
  pieceBytes: number,
  random: Random,
): Stream {
  const bytes = Buffer.concat(Array.from({ length: frames }, () => anyFrame(format, random)))
  for (let at = 0; at < bytes.length; at++)
    if (random() * 100 < damagePercent) bytes[at] = Math.floor(random() * 256)
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, place) =>
    bytes.subarray(place * pieceBytes, (place + 1) * pieceBytes),
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

function readStream({ pieces }: Stream, now: () => number) {
  const splitter = createFrameSplitter()
  let read = 0
  const startAt = now()
  for (const piece of pieces) {
    for (const split of splitter.push(piece, startAt)) if (split.kind === 'frame') read += 1
  }
  return { read, ms: now() - startAt }
}

/** `sent` and `read` are per turn; the median is robust against one disturbed round. */
function rowOf(
  { format, damagePercent }: Stream,
  sent: number,
  passes: readonly ReturnType<typeof readStream>[],
) {
  const micros = passes.map(({ ms }) => (ms * 1000) / sent)
  return {
    format,
    damagePercent,
    sent,
    read: passes[0]?.read ?? 0,
    microsPerFrame: median(micros),
    microsMin: Math.min(...micros),
    microsMax: Math.max(...micros),
  }
}

const allowedMicros = 3

function framesText(rows: readonly ReturnType<typeof rowOf>[]): string {
  const table = textTable<(typeof rows)[number]>(
    [
      ['format', ({ format }) => format],
      ['damage', ({ damagePercent }) => (damagePercent === 0 ? 'none' : `${damagePercent} %`)],
      ['sent', ({ sent }) => count(sent)],
      ['read', ({ read }) => count(read)],
      ['µs a frame', ({ microsPerFrame }) => figure(microsPerFrame)],
      ['min', ({ microsMin }) => figure(microsMin)],
      ['max', ({ microsMax }) => figure(microsMax)],
    ],
    rows,
  )
  const slowest = Math.max(...rows.map(({ microsPerFrame }) => microsPerFrame))
  return `${table}\n\n  The slowest takes ${figure(slowest)} µs a frame; ${allowedMicros} are allowed.`
}
