// What the paper's formulas say of long polling and polling, from the latency of the network alone.

export interface Expectation {
  readonly expectedMs: number
  /** The most that the paper allows for; null where it names no such bound. */
  readonly worstMs: number | null
}

export interface Timing {
  /** ν, the underlying latency of one way; here WebSocket's mean. */
  readonly oneWayMs: number
  /** M, from reading to reading. */
  readonly betweenReadingsMs: number
  /** Δ, from an answer to the next question. */
  readonly intervalMs: number
}

/** Whether a question of long polling is back at the server before the next reading: ν < M/2 ("Polling", last but two paragraphs). */
export function keepsUp({ oneWayMs, betweenReadingsMs }: Pick<Timing, 'oneWayMs' | 'betweenReadingsMs'>) {
  return oneWayMs < betweenReadingsMs / 2
}

/** ν while it keeps up; beyond, 3ν/2 expected and 2ν at worst (2012 paper, "Long Polling"). */
export function longPollingExpectation(timing: Timing): Expectation {
  const { oneWayMs } = timing
  if (keepsUp(timing)) return { expectedMs: oneWayMs, worstMs: null }
  return { expectedMs: 1.5 * oneWayMs, worstMs: 2 * oneWayMs }
}

/** 2ν + Δ/2 expected, for questions that arrive at any moment alike, and 3ν + Δ at worst (2012 paper, "Polling"). */
export function pollingExpectation({ oneWayMs, intervalMs }: Timing): Expectation {
  return { expectedMs: 2 * oneWayMs + intervalMs / 2, worstMs: 3 * oneWayMs + intervalMs }
}
