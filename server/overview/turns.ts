// Does a long piece of work in short turns, between which everything else goes on.

import type { Timers } from '../wire/time.ts'

/** So short that nobody who waits for a message notices. */
const turnMs = 3

/** Each `yield` is a place to stop at. The first turn is at once. Rejects with what the work throws. */
export async function inTurns<Result>(steps: Iterator<void, Result>, timers: Timers): Promise<Result> {
  for (;;) {
    const until = timers.now() + turnMs
    let step = steps.next()
    while (!step.done && timers.now() < until) step = steps.next()
    if (step.done) return step.value
    await new Promise<void>((resolve) => timers.later(resolve, 0))
  }
}
