// A server's load per second and process, as reported by its monitor and shown on its page.

export interface MonitorSecond {
  /** End of the second, ms since the epoch. */
  readonly at: number
  /** Processor time divided by elapsed time: 1 is a core at full load. */
  readonly cpu: number
  readonly rssBytes: number
  readonly heapBytes: number
  /** How late the event loop fired a timer, ms; null if it fired none. */
  readonly loopDelayMs: Quantiles | null
  /** Streams and polling clients, by mode. */
  readonly windows: Readonly<Record<string, number>>
  /** Messages stored by the log. */
  readonly stored: number
  /** Messages written to windows. */
  readonly sent: number
  /** Readings not sent to windows that read too slowly. */
  readonly omitted: number
  /** Bytes that windows have not read yet. */
  readonly backlogBytes: number
  /**
   * From a message's admission until it was stored and written to its windows; null if there was
   * none.
   */
  readonly latencyMs: Quantiles | null
  readonly isLogUp: boolean
  /** Documents that take too long to read. */
  readonly quarantined: number
}

export interface Quantiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

export interface MonitorReply {
  readonly node: string
  /** `SQLite`, `memory`, `NATS JetStream`, `SQS, SQLite` */
  readonly log: string
  /** A single process, or several that serve windows and one with the log. */
  readonly processes: readonly MonitorProcess[]
}

export interface MonitorProcess {
  /** `server` if it is the only one, otherwise `log`, `worker-1` … */
  readonly name: string
  readonly uptimeMs: number
  /** In order. The first request starts the sampling. */
  readonly seconds: readonly MonitorSecond[]
}

export const secondsKept = 120
