// The run in the order of its keys: shows a drift, a slow start or a bad minute that a histogram hides.

import type { Run } from '../../lab/samples.ts'
import { labelOf } from '../../lab/stats/names.ts'
import { isLogarithmic } from '../figures/axis.ts'
import { timeline } from '../figures/timeline.ts'
import { hasTimes, timesOf } from '../figures/times.ts'
import type { Section } from '../section.ts'

export function timelineSection(run: Run): Section {
  const times = timesOf(run)
  if (!hasTimes(times))
    return {
      title: 'Through the run',
      tables: [],
      paragraphs: ['Nothing arrived: there is nothing to draw.'],
    }
  const isLog = isLogarithmic(times)
  return {
    title: 'Through the run',
    figure: {
      caption: `Transmission time in milliseconds${isLog ? ' (logarithmic)' : ''} by key, in the order of sending. Upright lines part the blocks, between which the other modes had their turns.`,
      description: `Transmission time of each sample by key for ${run.modes.map(labelOf).join('; ')}.`,
      draw: (width) => timeline(times, width),
    },
    tables: [],
    paragraphs: [],
  }
}
