// Ends a run on Ctrl-C: it reaches one process group; exit listeners end the other groups.

import { constants } from 'node:os'

/** From now on SIGINT, SIGTERM and SIGHUP exit this process, so that its exit listeners run. */
export function exitBySignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    if (!process.listeners(signal).includes(exitBySignal)) process.on(signal, exitBySignal)
  }
}

function exitBySignal(signal: NodeJS.Signals): never {
  process.exit(128 + constants.signals[signal])
}
