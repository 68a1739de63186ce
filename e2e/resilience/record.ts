// What a resilience run saw, as data: everything that is printed is made from this.

/** One message, as a window or a reader of the log saw it. */
export interface Seen {
  readonly id: string
  readonly seq: number
}

/** A time in which a window was not open, as it saw it; ms since the run began. */
export interface Outage {
  readonly fromMs: number
  /** Null while it lasts. */
  toMs: number | null
}

/** One window through the whole run. */
export interface WindowRecord {
  readonly name: string
  /** Name of the mode that it was opened in. */
  readonly mode: string
  readonly channel: string
  readonly isWriter: boolean
  /** Ids in the order in which they were published. */
  readonly published: string[]
  /** Acknowledged ids and their numbers. */
  readonly accepted: Map<string, number>
  /** Refused for good, or left out for a newer one, with the reason. */
  readonly refused: string[]
  /** What the link handed over, in that order. */
  readonly seen: Seen[]
  readonly outages: Outage[]
  /** Message frames that came over its connections, those included that the link had already. */
  frames: number
  /** Resumed with all that was missed. */
  recovered: number
  /** Resumed with a snapshot instead. */
  snapshots: number
  newLogs: number
  repairs: number
  /** How often it was welcomed in another mode than its own. */
  modeChanges: number
  cuts: number
  stalls: number
  /** Why the server, or the link, ended its connections: the sentence, and how often. */
  readonly reasons: Map<string, number>
}

export type FaultKind = 'cut' | 'stall' | 'restart' | 'kill' | 'flood' | 'broken input'

/** One fault as it was carried out. */
export interface FaultRecord {
  readonly kind: FaultKind
  readonly how: string
  /** Window, mode or port that it met. */
  readonly target: string
  /** Ms since the run began. */
  readonly atMs: number
  readonly lastedMs: number
  readonly outcome: string
  /** False when there was nothing to meet, so that it does not count. */
  readonly isDone: boolean
}

/** The server's memory at one time; null in place of figures while it was down. */
export interface MemorySample {
  readonly atMs: number
  readonly life: number
  readonly rssBytes: number
  readonly heapUsedBytes: number
  readonly windows: number
}

/** One real browser window. */
export interface BrowserRecord {
  readonly mode: string
  readonly isWriter: boolean
  readonly typed: number
  readonly lost: number
  readonly duplicated: number
  readonly reordered: number
  readonly isEqual: boolean
  readonly expected: number
  readonly n: number
}

export interface ResilienceRecord {
  /** How long faults and messages went on, ms. */
  readonly lastedMs: number
  readonly windows: readonly WindowRecord[]
  readonly faults: readonly FaultRecord[]
  readonly memory: readonly MemorySample[]
  /** All messages of the windows' channels, read back when all was over. */
  readonly log: readonly Seen[]
  readonly browsers: readonly BrowserRecord[]
  /** What the server wrote when it ended unasked. */
  readonly crashes: readonly string[]
  /** How long it took after the last fault until every window had everything; null when it ran out of time, ms. */
  readonly settledAfterMs: number | null
}
