// Builds anew what depends on a log, whenever another log has replaced it.

import { processTimers } from '../scripts/process.ts'
import { output } from './output.ts'

interface Renewable {
  /** See `OpenedLog`. */
  readonly lost: Promise<string>
  readonly close: () => Promise<void>
}

/**
 * NATS 2.9 continues erasing a deleted stream, and loses messages of one that is created at once.
 */
const renewAfterMs = 1000

/**
 * `begin` gets what it returned the time before; nothing else of that stays in memory. `signal` ends
 * its waiting. Rejects as `begin` does at first.
 */
export async function renewing<Built extends Renewable>(
  begin: (signal: AbortSignal, former: Built | null) => Promise<Built>,
) {
  const closing = new AbortController()
  const { signal } = closing
  let current = await begin(signal, null)
  const lost = Promise.withResolvers<string>()

  async function renew(): Promise<void> {
    output.say(
      'log-replaced',
      `The log is lost: ${await current.lost}. The server restarts, and its windows reconnect.`,
    )
    await current.close()
    await new Promise<void>((resolve) => processTimers.later(resolve, renewAfterMs))
    if (signal.aborted) return
    current = await begin(signal, current)
    if (signal.aborted) await current.close()
    else await renew()
  }
  renew().catch((error) => {
    if (signal.aborted) return
    output.incident('restart-failed', 'The server did not restart', error)
    lost.resolve('it did not restart')
  })

  return {
    current: () => current,
    /** Resolves to the reason if `begin` rejects later. */
    lost: lost.promise,
    close(): Promise<void> {
      closing.abort()
      return current.close()
    },
  }
}
