// Message sizes, and where the time goes: the stages between stamps, with their report section.

import { mean } from '../../client/statistics.ts'
import { stacks } from '../report/charts.ts'
import { figure, type Section, table } from '../report/section.ts'
import type { RunClock } from './clock.ts'
import { labelOf } from './mode-names.ts'
import { atOthers, hasArrived, type Sample } from './samples.ts'
import { median, rounded, significant } from './statistics.ts'

/** From stamp to stamp; once per message, or per window that receives it. */
const stages = {
  inputMs: { from: 'inputAt', to: 'sentAt', each: 'message' },
  upMs: { from: 'sentAt', to: 'acceptedAt', each: 'message' },
  downMs: { from: 'acceptedAt', to: 'receivedAt', each: 'window' },
  applyMs: { from: 'receivedAt', to: 'appliedAt', each: 'window' },
  paintMs: { from: 'appliedAt', to: 'paintedAt', each: 'window' },
  showMs: { from: 'receivedAt', to: 'paintedAt', each: 'window' },
} as const

type StageName = keyof typeof stages

/** The first sample of each message. */
const messagesIn = (samples: readonly Sample[]) => [
  ...new Map(samples.map((sample) => [sample.id, sample])).values(),
]

/** Means over messages, and over samples that arrived; null without any. */
export function bytesOf(samples: readonly Sample[]) {
  const meanOf = (sizes: readonly number[]) => significant(sizes.length === 0 ? Number.NaN : mean(sizes))
  return {
    sentBytes: meanOf(messagesIn(samples).map(({ sentBytes }) => sentBytes)),
    receivedBytes: meanOf(samples.flatMap(({ receivedBytes }) => receivedBytes ?? [])),
  }
}

/** Medians in ms, which need not add up; a stage without stamps is absent. */
export function stagesOf(samples: readonly Sample[]) {
  const messages = messagesIn(samples)
  const medians: { -readonly [Name in StageName]?: number } = {}
  for (const name of Object.keys(stages) as StageName[]) {
    const { from, to, each } = stages[name]
    const times = (each === 'message' ? messages : samples).flatMap(({ [from]: start, [to]: end }) =>
      start === null || end === null ? [] : [end - start],
    )
    if (times.length > 0) medians[name] = rounded(median(times))
  }
  return medians
}

/** The stamps along a message's path, in order, and who spends the time up to each. */
const wayPoints = [
  { stamp: 'inputAt', stage: 'Input', by: 'page' },
  { stamp: 'sentAt', stage: 'Input → sent', by: 'page' },
  { stamp: 'arrivedAt', stage: 'Way up', by: 'way' },
  { stamp: 'acceptedAt', stage: 'Read, checked', by: 'server' },
  { stamp: 'committingAt', stage: 'Waits for its commit', by: 'server' },
  { stamp: 'storedAt', stage: 'Numbered, stored', by: 'server' },
  { stamp: 'writtenAt', stage: 'Written to all', by: 'server' },
  { stamp: 'receivedAt', stage: 'Way down', by: 'way' },
  { stamp: 'appliedAt', stage: 'Applied', by: 'page' },
  { stamp: 'paintedAt', stage: 'Painted', by: 'page' },
] as const satisfies readonly { stamp: keyof Sample; stage: string; by: 'page' | 'way' | 'server' }[]

/**
 * Mean ms of the stages of one message to one window, which add up to the whole. Adjacent stages
 * without a stamp between them in this mode are merged, and count as the network's if that is among
 * them. Excludes the typing window, which does not draw its own message. Over the samples that have
 * every stamp the mode has; empty without any.
 */
export function pathOf(samples: readonly Sample[]) {
  const arrived = atOthers(samples).filter(hasArrived)
  // Nine in ten suffice, or all but one: the last message may be read before it is drawn.
  const mayLack = Math.max(1, 0.1 * arrived.length)
  const known = wayPoints.filter(({ stamp }) => {
    const stamped = arrived.filter((sample) => sample[stamp] !== null).length
    return stamped > 0 && arrived.length - stamped <= mayLack
  })
  const whole = arrived.filter((sample) => known.every(({ stamp }) => sample[stamp] !== null))
  if (whole.length === 0) return []
  return known.slice(1).map((to, index) => {
    const from = known[index] ?? to
    const parts = wayPoints.slice(wayPoints.indexOf(from) + 1, wayPoints.indexOf(to) + 1)
    const times = whole.map((sample) => (sample[to.stamp] ?? 0) - (sample[from.stamp] ?? 0))
    return {
      stage: [...new Set([parts[0]?.stage ?? '', to.stage])].join(' … '),
      by: parts.find(({ by }) => by === 'way')?.by ?? to.by,
      meanMs: rounded(mean(times)),
    }
  })
}

interface Pathed {
  readonly mode: string
  readonly path: ReturnType<typeof pathOf>
}

export function stagesSection(modes: readonly Pathed[], clock: RunClock): Section {
  const title = 'Where the time goes'
  const known = modes.filter(({ path }) => path.length > 0)
  if (known.length === 0) return { title, paragraphs: ['No stage was stamped.'] }
  const names = [...new Set(known.flatMap(({ path }) => path.map(({ stage }) => stage)))]
  const means = table(
    'Mean of each stage, in milliseconds',
    ['Mode', ...names, 'Sum'],
    known.map(({ mode, path }) => [
      labelOf(mode),
      ...names.map((name) => path.find(({ stage }) => stage === name)?.meanMs),
      path.reduce((sum, { meanMs }) => sum + meanMs, 0),
    ]),
  )
  const rows = known.map(({ mode, path }) => ({ label: labelOf(mode), parts: path }))
  const spoken = known.map(
    ({ mode, path }) =>
      `${labelOf(mode)}: ${path.map(({ stage, meanMs }) => `${stage} ${figure(meanMs)} ms`).join(', ')}`,
  )
  return {
    title,
    figure: {
      caption:
        'Mean time from input to paint, stage by stage from left to right as in the table. The transmission time is everything except the page’s own stages at both ends.',
      description: spoken.join('; '),
      draw: (width) => stacks(rows, width),
    },
    tables: [means],
    paragraphs: [
      'The ways up and down run from the page’s call to the server’s first line of JavaScript, and back: they include the browser’s network process, the system and TLS on both sides, and waiting for a processor. A poll’s way down includes the wait for the next request.',
      ...(clock.method === 'one machine'
        ? []
        : [
            `Every window’s stamps are converted to the server’s clock; the ways to and from the server include the error, at most ${figure(clock.boundMs)} ms.`,
          ]),
    ],
  }
}
