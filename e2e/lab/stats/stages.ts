// Where the time goes between a key and its paint: the median of each stage whose two stamps exist.

import type { ClockCheck, Sample } from '../samples.ts'
import { median } from './summary.ts'

/** Medians in ms; a stage that nobody stamped is left out. Medians of parts need not add up to the median of the whole. */
export interface Stages {
  /** The key's input event until handed to the transport. */
  readonly inputMs?: number
  /** Handed to the transport until taken by the server. */
  readonly upMs?: number
  /** Taken by the server until received. */
  readonly downMs?: number
  /** Received until put into the document. */
  readonly applyMs?: number
  /** Put into the document until the first frame painted after it. */
  readonly paintMs?: number
}

type Stamp = 'inputAt' | 'sentAt' | 'acceptedAt' | 'receivedAt' | 'appliedAt' | 'paintedAt'

interface Stage {
  readonly name: keyof Stages
  readonly from: Stamp
  readonly to: Stamp
  /** It happens once for a message, at its author's, and not once for each receiving window. */
  readonly once: boolean
}

const stages: readonly Stage[] = [
  { name: 'inputMs', from: 'inputAt', to: 'sentAt', once: true },
  { name: 'upMs', from: 'sentAt', to: 'acceptedAt', once: true },
  { name: 'downMs', from: 'acceptedAt', to: 'receivedAt', once: false },
  { name: 'applyMs', from: 'receivedAt', to: 'appliedAt', once: false },
  { name: 'paintMs', from: 'appliedAt', to: 'paintedAt', once: false },
]

/** The stages of one mode's samples. */
export function stagesOf(samples: readonly Sample[], clock: ClockCheck): Stages {
  const messages = [...new Map(samples.map((sample) => [sample.id, sample])).values()]
  const medians = stages
    .filter((stage) => clock.method === 'one machine' || !touchesServer(stage))
    .map(({ name, from, to, once }) => [name, medianBetween(once ? messages : samples, from, to)] as const)
  return Object.fromEntries(medians.filter(([, value]) => value !== undefined))
}

/** A server elsewhere has its own clock, against which no window is set stage by stage. */
function touchesServer({ from, to }: Stage): boolean {
  return from === 'acceptedAt' || to === 'acceptedAt'
}

function medianBetween(samples: readonly Sample[], from: Stamp, to: Stamp): number | undefined {
  const times = samples.flatMap(({ [from]: start, [to]: end }) =>
    start === null || end === null ? [] : [end - start],
  )
  return times.length === 0 ? undefined : median(times)
}
