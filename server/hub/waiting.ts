// Long polls that wait for a message on one of their channels, or for their time to be up.

import type { Timers } from '../wire/time.ts'

export interface WaitingPolls {
  /** Resolves when something is there, when the time is up, when it is given up, or when all are woken. */
  readonly wait: (channels: ReadonlySet<string>, holdMs: number, signal: AbortSignal) => Promise<void>
  readonly wake: (channel: string) => void
  readonly wakeAll: () => void
}

export function createWaitingPolls(timers: Timers): WaitingPolls {
  const byChannel = new Map<string, Set<() => void>>()

  function wake(channel: string): void {
    for (const end of [...(byChannel.get(channel) ?? [])]) end()
  }

  return {
    wait(channels, holdMs, signal) {
      return new Promise((resolve) => {
        const stopTimer = timers.later(end, holdMs)
        signal.addEventListener('abort', end, { once: true })
        for (const channel of channels) {
          const known = byChannel.get(channel)
          if (known) known.add(end)
          else byChannel.set(channel, new Set([end]))
        }
        function end(): void {
          stopTimer()
          signal.removeEventListener('abort', end)
          for (const channel of channels) {
            const known = byChannel.get(channel)
            known?.delete(end)
            if (known?.size === 0) byChannel.delete(channel)
          }
          resolve()
        }
        if (signal.aborted) end()
      })
    },
    wake,
    wakeAll() {
      for (const channel of [...byChannel.keys()]) wake(channel)
    },
  }
}
