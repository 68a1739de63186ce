// `frames`: splits streams of wind frames, clean and damaged.

import { createSeededRandom, type Random } from '../../client/wire.ts'
import { createFrameSplitter } from '../../sensor/frame-splitter.ts'
import type { FrameFormat } from '../../sensor/readings.ts'
import { axesOf, writeFrame } from '../../sensor/windsonic-frame.ts'
import { defineExperiment } from '../lab/experiment.ts'
import { flag, whole } from '../lab/flags.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import type { Lab } from '../lab/run-sessions.ts'
import { middleOf } from '../lab/statistics.ts'
import { turnsOf } from '../lab/turns.ts'
import { count, figure, table } from '../report/section.ts'

interface Stream {
  readonly format: FrameFormat
  /** Replaced bytes per 100. */
  readonly damagePercent: number
  readonly pieces: readonly Uint8Array[]
}

const formats: readonly FrameFormat[] = ['polar', 'uv', 'nmea', 'tunnel']
/** Not counted: the first passes run uncompiled code. */
const warmupPasses = 3
const strongestMetresPerSecond = 40
const allowedMicros = 3

type Options = Readonly<Record<'frames' | 'rounds' | 'piece' | 'damage' | 'seed', number>>
type Row = Awaited<ReturnType<typeof measureFrames>>[number]

interface Run extends Circumstances {
  readonly rows: readonly Row[]
}

export const frames = defineExperiment({
  name: 'frames',
  about: `What it costs to find and read a wind sensor’s frames in a byte stream, for each format, clean and damaged.`,
  notes: `Microseconds of processor time per frame sent, whether or not it could be read: the median of the rounds, the\n    minimum and the maximum. Everything runs in this process, one turn after the other.`,
  isBench: true,
  flags: {
    frames: flag(whole(1, 1_000_000).default(10_000), 'N', 'frames of each format per turn'),
    rounds: flag(whole(1, 1000).default(21), 'N', 'turns each, in changing order'),
    piece: flag(whole(1, 65_536).default(23), 'N', 'bytes per chunk'),
    damage: flag(whole(0, 100).default(1), 'N', 'damage to streams, bytes per 100'),
    seed: flag(whole(0, 2 ** 32 - 1).default(1405), 'N', 'seed of winds and damage'),
  },
  options: (given): Options => given,

  async measure(options, lab): Promise<Run> {
    const rows = await measureFrames(options, (step) => lab.progress.step(step), lab.signal)
    const place = { browser: 'none', server: 'none: the parser alone' }
    return { ...lab.circumstances({ ...place, parameters: { ...options } }), rows }
  },

  analyse: ({ rows, ...circumstances }) => ({
    scenario: 'frames',
    ...circumstances,
    rows,
    finding: `The slowest takes ${figure(Math.max(...rows.map(({ microsPerFrame }) => microsPerFrame ?? 0)))} µs a frame; ${allowedMicros} are allowed.`,
  }),

  report(_, { rows }) {
    const tables = [
      table(
        'Processor time per frame sent, µs',
        ['Format', 'Sent', 'Read', 'µs a frame', 'Least', 'Most'],
        rows.map(({ mode, sent, read, microsPerFrame, microsMin, microsMax }) => [
          mode,
          count(sent),
          count(read),
          microsPerFrame,
          microsMin,
          microsMax,
        ]),
      ),
    ]
    return {
      sections: [{ title: 'What a frame costs', tables }],
      tables,
      isFailure: rows.some(({ damagePercent, sent, read }) => damagePercent === 0 && read < sent),
    }
  },
})

/** `now`: fractional ms; by default this thread's CPU time, which excludes other programs. */
export async function measureFrames(
  { frames, rounds, piece, damage, seed }: Options,
  step: (words: string) => void,
  signal: Lab['signal'],
  now: () => number = processorMs,
) {
  const random = createSeededRandom(seed)
  const streams = formats.flatMap((format) =>
    [...new Set([0, damage])].map((damagePercent) =>
      makeStream({ format, damagePercent }, frames, piece, random),
    ),
  )
  const passes = new Map(streams.map((stream) => [stream, [] as ReturnType<typeof readStream>[]]))
  for (let pass = 0; pass < warmupPasses; pass++) for (const stream of streams) readStream(stream, now)
  for (const [round, order] of turnsOf(streams, rounds).entries()) {
    signal.throwIfAborted()
    step(`round ${round + 1} of ${rounds}`)
    for (const stream of order) passes.get(stream)?.push(readStream(stream, now))
  }
  /** `sent` and `read` are per turn; the median is robust against one disturbed round. */
  return Array.from(passes, ([{ format, damagePercent }, taken]) => {
    const { median, min, max } = middleOf(taken.map(({ ms }) => (ms * 1000) / frames))
    return {
      mode: damagePercent === 0 ? format : `${format}, ${damagePercent} % damaged`,
      format,
      damagePercent,
      sent: frames,
      read: taken[0]?.read ?? 0,
      microsPerFrame: median,
      microsMin: min,
      microsMax: max,
    }
  })
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
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, index) =>
    bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes),
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
