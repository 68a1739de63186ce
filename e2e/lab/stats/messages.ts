// Samples gathered by message, the unit of every comparison: windows that receive one message are no independent witnesses.

import type { Sample } from '../samples.ts'
import type { Cluster } from './median-ratio.ts'
import { mean } from './summary.ts'

/** A sample that arrived. */
export type Received = Sample & { readonly receivedAt: number }

export function hasArrived(sample: Sample): sample is Received {
  return sample.receivedAt !== null
}

/** Handed to the transport until received, in ms. */
export function transmissionMs(sample: Received): number {
  return sample.receivedAt - sample.sentAt
}

/** Transmission times in ms, one list for each message that arrived anywhere, in the order of sending. */
export function clustersOf(samples: readonly Sample[]): readonly Cluster[] {
  const messages = Map.groupBy(samples.filter(hasArrived), (sample) => sample.id)
  return [...messages.values()].map((message) => message.map(transmissionMs))
}

/** Mean transmission time of each message over the windows that received it, in ms. */
export function messageMeans(samples: readonly Sample[]): readonly number[] {
  return clustersOf(samples).map(mean)
}
