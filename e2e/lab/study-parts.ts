// Factors, measures and rows that several studies have in common.

import { labelOf, spokenName } from './mode-names.ts'
import { hasArrived, type Sample, transmissionMs } from './samples.ts'
import type { Factor, Found, Level, Measure, Row } from './study.ts'

export const modeFactor: Factor = {
  name: 'mode',
  title: 'Mode',
  label: (mode) => labelOf(String(mode)),
  spoken: (mode) => spokenName(String(mode)),
}

/** From being handed to the transport to being received. */
export const transmission: Measure = {
  name: 'transmissionMs',
  title: 'Transmission time',
  unit: 'ms',
  better: 'less',
}

/** Times are ms since the epoch; null is "never". `at`: levels of the factors besides the mode. */
export function transmissionRow(sample: Sample, at: Readonly<Record<string, Level>>): Row {
  const { mode, session, key, id, receiver, sentAt, acceptedAt, receivedAt } = sample
  const { sentBytes, receivedBytes, copies, reordered } = sample
  return {
    mode,
    session,
    ...at,
    key,
    id,
    receiver,
    sentAt,
    receivedAt,
    transmissionMs: hasArrived(sample) ? transmissionMs(sample) : null,
    acceptedAt,
    sentBytes,
    receivedBytes,
    copies,
    reordered,
  }
}

export const hasLost = ({ figures }: Pick<Found, 'figures'>) => figures.some(({ lost }) => lost > 0)
