// A server's load, second by second and process by process, as its monitor tells it and the page shows it.

export interface MonitorSecond {
  /** Its end, ms since the epoch. */
  readonly at: number
  /** Processor time over time: 1 is a core at full load. */
  readonly cpu: number
  readonly rssBytes: number
  readonly heapBytes: number
  /** How late the event loop fired a timer, ms; null where it fired none. */
  readonly loopDelayMs: Quantiles | null
  /** Streams, and clients that poll, by mode. */
  readonly windows: Readonly<Record<string, number>>
  /** Messages that the log took. */
  readonly stored: number
  /** Messages written to windows. */
  readonly sent: number
  /** Readings and overviews not sent to windows that read too slowly. */
  readonly omitted: number
  /** Waiting for windows to read. */
  readonly backlogBytes: number
  /** From a message's admission until it was stored and written to its windows; null without any. */
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
  /** One, or several that serve windows and one with the log. */
  readonly processes: readonly MonitorProcess[]
}

export interface MonitorProcess {
  /** `server` if it is the only one, else `log`, `worker-1` … */
  readonly name: string
  readonly uptimeMs: number
  /** In order. The first look starts them. */
  readonly seconds: readonly MonitorSecond[]
}

export const secondsKept = 120
