// The times of a run as figures need them: by mode, in the order of the keys.

import type { Run } from '../../lab/samples.ts'
import { hasArrived, transmissionMs } from '../../lab/stats/messages.ts'
import { isPeer, labelOf } from '../../lab/stats/names.ts'

export interface ModeTimes {
  readonly label: string
  /** CSS colour: peers have their own, and their name says so too. */
  readonly colour: string
  readonly values: readonly { readonly ms: number; readonly key: number; readonly block: number }[]
}

/** Every mode of the run, also one of which nothing arrived. */
export function timesOf({ modes, samples }: Run): readonly ModeTimes[] {
  const byMode = Map.groupBy(samples.filter(hasArrived), ({ mode }) => mode)
  return modes.map((mode) => ({
    label: labelOf(mode),
    colour: isPeer(mode) ? 'var(--peer)' : 'var(--accent)',
    values: (byMode.get(mode) ?? []).map((sample) => ({
      ms: transmissionMs(sample),
      key: sample.key,
      block: sample.block,
    })),
  }))
}

export function hasTimes(times: readonly ModeTimes[]): boolean {
  return times.some(({ values }) => values.length > 0)
}
