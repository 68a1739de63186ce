// Records the wind: takes readings as they come and knows the figures of now and the history of the last hour.

import { createFigures, type WindFigures } from './figures.ts'
import { createHistory, type WindHistory } from './history.ts'
import { type BareReading, createSampling } from './sampling.ts'

export interface Anemograph {
  /**
   * `stampedAt`: when the reading was made, ms since the epoch. Returns the same in the anemograph's own time, which
   * never runs back. Repeats count; faults do not, and no line leads through them.
   */
  readonly take: (reading: BareReading, stampedAt: number) => number
  /** As of `now`, in the anemograph's time. */
  readonly figures: (now: number) => WindFigures
  readonly history: Pick<WindHistory, 'since' | 'oldestAt'>
}

export function createAnemograph(): Anemograph {
  const sampling = createSampling()
  const figures = createFigures()
  const history = createHistory()
  return {
    take(reading, stampedAt) {
      const { at, sample } = sampling.take(reading, stampedAt)
      if (sample) {
        figures.add(sample)
        history.add(sample, figures.gusts.ofOneMinute(at))
      }
      return at
    },
    figures: figures.at,
    history,
  }
}
