// A load process, from the bench's side: its windows use the processor in a process of their own.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { FleetPlan } from './fleet.ts'
import type { Measured, Measuring, Order, Reply } from './orders.ts'

export interface LoadProcess {
  readonly open: (plan: FleetPlan) => Promise<void>
  readonly measure: (measuring: Measuring) => Promise<Measured>
  readonly closeWindows: () => Promise<void>
  readonly end: () => void
}

/** Opening may take long with many windows; a measurement takes as long as it is told, and this much more. */
const openWithinMs = { least: 20_000, perWindow: 20 }
const spareMs = 10_000

/** Whatever it is doing is given up when `stopping` aborts. */
export function startLoadProcess(stopping: AbortSignal): LoadProcess {
  const child = fork(join(import.meta.dirname, 'worker.ts'), [], {
    // Latencies travel as the typed arrays that they are.
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ended = new AbortController()
  child.once('exit', (code, signal) =>
    ended.abort(new Error(`A load process ended by itself (${signal ?? code}).`)),
  )

  async function ask(order: Order, withinMs: number): Promise<Reply> {
    const late = AbortSignal.timeout(withinMs)
    const signal = AbortSignal.any([ended.signal, stopping, late])
    signal.throwIfAborted()
    const replied = once(child, 'message', { signal })
    child.send(order)
    const [reply] = (await replied.catch(() => {
      throw late.aborted
        ? new Error(`The load process did not ${order.type} within ${withinMs / 1000} s.`)
        : signal.reason
    })) as [Reply]
    if (reply.type === 'failed') throw new Error(reply.sentence)
    return reply
  }

  return {
    async open(plan) {
      await ask({ type: 'open', plan }, openWithinMs.least + openWithinMs.perWindow * plan.windows)
    },
    async measure(measuring) {
      const { count, intervalMs, graceMs } = measuring
      const reply = await ask({ type: 'measure', measuring }, count * intervalMs + graceMs + spareMs)
      if (reply.type !== 'measured')
        throw new Error(`A load process answered ${reply.type} when it was to measure.`)
      return reply.measured
    },
    closeWindows: async () => void (await ask({ type: 'close' }, spareMs)),
    end: () => void child.kill(),
  }
}
