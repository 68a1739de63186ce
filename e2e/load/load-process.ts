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

export function startLoadProcess(): LoadProcess {
  const child = fork(join(import.meta.dirname, 'worker.ts'), [], {
    // Latencies travel as the typed arrays that they are.
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ended = new AbortController()
  child.once('exit', (code, signal) =>
    ended.abort(new Error(`A load process ended by itself (${signal ?? code}).`)),
  )

  async function ask(order: Order): Promise<Reply> {
    ended.signal.throwIfAborted()
    const replied = once(child, 'message', { signal: ended.signal })
    child.send(order)
    const [reply] = (await replied.catch(() => {
      throw ended.signal.reason
    })) as [Reply]
    if (reply.type === 'failed') throw new Error(reply.sentence)
    return reply
  }

  return {
    open: async (plan) => void (await ask({ type: 'open', plan })),
    async measure(measuring) {
      const reply = await ask({ type: 'measure', measuring })
      if (reply.type !== 'measured') throw new Error(`A load process answered ${reply.type} when it was to measure.`)
      return reply.measured
    },
    closeWindows: async () => void (await ask({ type: 'close' })),
    end: () => void child.kill(),
  }
}
