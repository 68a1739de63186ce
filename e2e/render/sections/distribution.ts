// Every sample drawn, by mode: a mean hides what a reader can see at a glance.

import type { Run } from '../../lab/samples.ts'
import { labelOf } from '../../lab/stats/names.ts'
import { isLogarithmic } from '../figures/axis.ts'
import { distribution } from '../figures/distribution.ts'
import { hasTimes, timesOf } from '../figures/times.ts'
import type { Section } from '../section.ts'

export function distributionSection(run: Run): Section {
  const times = timesOf(run)
  if (!hasTimes(times))
    return { title: 'Every sample', tables: [], paragraphs: ['Nothing arrived: there is nothing to draw.'] }
  const isLog = isLogarithmic(times)
  const axis = isLog ? 'The axis is logarithmic' : 'The axis is linear, as some times are not above 0'
  return {
    title: 'Every sample',
    figure: {
      caption: `Transmission time of every sample, in milliseconds. ${axis} and cut nowhere: the slowest sample is on it. A dot is one sample, set higher or lower only to lie free. Below the dots: the middle half (thick), the 5th to the 95th percentile (thin) and the median (upright, with its figure).`,
      description: `Distribution of transmission times for ${run.modes.map(labelOf).join('; ')}. The table of transmission times gives the same in figures.`,
      draw: (width) => distribution(times, width),
    },
    tables: [],
    paragraphs: [],
  }
}
