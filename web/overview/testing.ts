// Overviews for tests.

import type { OverviewBody, WindOverview } from '../../server/wire/overview.ts'
import type { OverviewView } from '../store/store.ts'

/** A round time of day by the server's clock; windows' own are an hour ahead. */
export const serverAt = new Date(2026, 4, 3, 14, 2).getTime()
export const windowAt = serverAt + 3_600_000

export const wind: WindOverview = {
  source: 'simulated',
  state: 'measured',
  status: '00',
  readingAt: serverAt - 200,
  trouble: null,
  meanMetresPerSecond: 5.25,
  meanDirectionDegrees: 247,
  meanCoversSeconds: 119,
  gustMetresPerSecond: 8.1,
  gustCoversSeconds: 599,
}

export const body: OverviewBody = {
  words: 1234,
  characters: 7890,
  editsLastMinute: 42,
  editsEachSecond: [...new Array(55).fill(0), 10, 0, 12, 13, 7],
  edits: 1280,
  countedSince: serverAt - 60_000,
  wind,
}

export function overviewOf(change: Partial<OverviewBody> = {}): OverviewView {
  return { body: { ...body, ...change }, at: serverAt, receivedAt: windowAt }
}
