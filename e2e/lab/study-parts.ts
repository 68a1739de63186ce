// Factors, measures and rows that several studies have in common.

import { imitatedBy, labelOf, spokenName, withoutVariant } from './mode-names.ts'
import { hasArrived, type Sample, transmissionMs } from './samples.ts'
import type { Analysis, Factor, Level, Measure, Row } from './study.ts'

export const modeFactor: Factor = {
  name: 'mode',
  title: 'Mode',
  label: (mode) => labelOf(String(mode)),
  spoken: (mode) => spokenName(String(mode)),
  family: (mode) => withoutVariant(imitatedBy(String(mode)) ?? String(mode)),
}

/** From being handed to the transport to being received. */
export const transmission: Measure = {
  name: 'transmissionMs',
  title: 'Transmission time',
  unit: 'ms',
  better: 'less',
}

/** Levels of the factors besides the mode, and further columns. */
type Columns = Readonly<Record<string, Level | boolean | null>>

/** Times are ms since the epoch; null is "never". */
export function transmissionRow(sample: Sample, columns: Columns): Row {
  const { mode, session, key, id, receiver, sentAt, acceptedAt, receivedAt } = sample
  const { sentBytes, receivedBytes, copies, reordered } = sample
  return {
    mode,
    session,
    ...columns,
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

/** For an absent receiver. `message`: a sample of it elsewhere; undefined if it was never sent. */
export function missedRow(
  { mode, session, key, receiver }: Pick<Sample, 'mode' | 'session' | 'key' | 'receiver'>,
  message: Sample | undefined,
  columns: Columns,
): Row {
  return {
    mode,
    session,
    ...columns,
    key,
    id: message?.id ?? '',
    receiver,
    sentAt: message?.sentAt ?? null,
    receivedAt: null,
    transmissionMs: null,
    acceptedAt: null,
    sentBytes: message?.sentBytes ?? null,
    receivedBytes: null,
    copies: 0,
    reordered: false,
  }
}

export const hasLost = ({ figures }: Pick<Analysis, 'figures'>) => figures.some(({ lost }) => lost > 0)
