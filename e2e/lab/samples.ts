// A run of the lab as data: what was measured, under which circumstances. Everything printed is made from this.

/** One message at one receiving window. Times are ms since the epoch on one common clock; null is "never". */
export interface Sample {
  /** `sse/2`, or a peer's, `bare:sse/2`. */
  readonly mode: string
  /** 1 to blocks. */
  readonly block: number
  /** Which key of this mode's, 1 to keys: also the payload's length in characters. */
  readonly key: number
  readonly id: string
  /** Receiving window, 1 to windows; the typing window is 1. */
  readonly receiver: number
  /** True where the receiver is the window that typed. */
  readonly own: boolean
  /** The key's input event in the page. */
  readonly inputAt: number | null
  /** Handed to the transport in the page. */
  readonly sentAt: number
  /** Taken by the server (the server's own clock). */
  readonly acceptedAt: number | null
  readonly receivedAt: number | null
  /** Put into the document. */
  readonly appliedAt: number | null
  /** First frame painted after that. */
  readonly paintedAt: number | null
  /** Times it arrived: 1 is right, 0 lost, more duplicated. */
  readonly copies: number
  /** It came after one that was sent later. */
  readonly reordered: boolean
}

/** What the server spent on one mode, summed over its blocks. */
export interface ServerUse {
  readonly cpuMs: number
  /** Highest resident set seen in the mode's blocks. */
  readonly rssBytes: number
}

export interface ClockCheck {
  /** `one machine`: system clock alignment; `server exchange`: repeated exchanges, fastest kept. */
  readonly method: 'one machine' | 'server exchange'
  /** Bound on the error between any two windows' stamps. */
  readonly boundMs: number
}

export interface Environment {
  readonly machine: string
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  readonly os: string
  readonly node: string
  readonly browser: string
  readonly commit: string
  readonly server: string
  /** 1-minute load average before and after: how noisy the machine was. */
  readonly loadBefore: number
  readonly loadAfter: number
}

export interface Run {
  readonly scenario: string
  /** Exactly what to type to run it again. */
  readonly command: string
  /** ISO 8601. */
  readonly startedAt: string
  readonly finishedAt: string
  readonly environment: Environment
  readonly parameters: Readonly<Record<string, string | number | boolean>>
  /** In the order in which they were asked for; peers after them. */
  readonly modes: readonly string[]
  /** The mode that the others are compared with. */
  readonly baseline: string
  readonly samples: readonly Sample[]
  readonly serverUse: Readonly<Record<string, ServerUse>>
  readonly clock: ClockCheck
}
