// Ctrl-C and the like, for a command that has something to put away before it ends.

const signals = ['SIGINT', 'SIGTERM'] as const

/** Two signals closer together than this are one: a whole process group gets it, and the npm command forwards it. */
const sameSignalMs = 500

export interface Ending {
  /** The process, as far as it is needed. */
  readonly process: { on(signal: NodeJS.Signals, listener: () => void): unknown }
  /** Ms, of a steady clock. */
  readonly now: () => number
  /** Somebody will not wait for the end. */
  insist(): void
}

/** Aborts at the first signal; any that comes later, and is not the same one, insists. */
export function endBySignal({ process, now, insist }: Ending): AbortSignal {
  const ending = new AbortController()
  let firstAt: number | null = null

  function take(): void {
    if (firstAt !== null && now() - firstAt > sameSignalMs) insist()
    firstAt ??= now()
    ending.abort()
  }

  for (const signal of signals) process.on(signal, take)
  return ending.signal
}
