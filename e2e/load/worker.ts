// Entry point of a load process: does what it is told over its parent's channel, and ends with it.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { startAuthor } from './author.ts'
import { type Fleet, type FleetPlan, openFleet, windowName } from './fleet.ts'
import type { Measured, Measuring, Order, Reply } from './orders.ts'
import { createSharedClock } from './shared-clock.ts'
import { createTallying, type Tallying } from './tally.ts'

const clock = createSharedClock()
const wordsKept = 3
let fleet: Fleet | null = null
let plan: FleetPlan | null = null
let tallying: Tallying | null = null
let failures: string[] = []

process.on('message', (order: Order) => {
  obey(order).then(answer, (error) =>
    answer({ type: 'failed', sentence: error instanceof Error ? error.message : String(error) }),
  )
})
process.once('disconnect', () => process.exit(0))
// The parent ends this process in order: a Ctrl-C reaches the whole group.
process.on('SIGINT', () => undefined)

function answer(reply: Reply): void {
  process.send?.(reply)
}

async function obey(order: Order): Promise<Reply> {
  if (order.type === 'open') await open(order.plan)
  else if (order.type === 'measure') return { type: 'measured', measured: await measure(order.measuring) }
  else close()
  return { type: 'done' }
}

async function open(given: FleetPlan): Promise<void> {
  failures = []
  plan = given
  fleet = await openFleet(given, {
    onMark: (window, mark) => tallying?.take(window, mark, clock()),
    onFailure: (why) => failures.push(why),
  })
}

function close(): void {
  tallying = null
  fleet?.close()
  fleet = null
}

async function measure(measuring: Measuring): Promise<Measured> {
  if (!fleet || !plan) throw new Error('A load process was told to measure before its windows were open.')
  const { startAt, count, intervalMs, graceMs } = measuring
  const complete = Promise.withResolvers<void>()
  tallying = createTallying(plan.windows, measuring, complete.resolve)
  const stopAuthor = plan.firstWindow === 0 ? author(fleet, plan, measuring) : () => undefined
  const timer = setTimeout(complete.resolve, startAt + count * intervalMs + graceMs - clock())
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const cpuBefore = process.cpuUsage()
  const startedAt = clock()
  await complete.promise
  const { user, system } = process.cpuUsage(cpuBefore)
  const wallMs = clock() - startedAt
  delay.disable()
  clearTimeout(timer)
  stopAuthor()
  return {
    ...tallying.result(),
    cpuMs: (user + system) / 1000,
    wallMs,
    loopDelayP99Ms: delay.percentile(99) / 1e6,
    loopDelayMaxMs: delay.max / 1e6,
    failures: failures.length,
    failureWords: failures.slice(0, wordsKept),
  }
}

function author({ windows }: Fleet, plan: FleetPlan, measuring: Measuring): () => void {
  const [window] = windows
  if (!window) throw new Error('There is no window to write in.')
  return startAuthor(
    { name: windowName(plan, 0), channel: plan.channel, publish: window.publish },
    measuring,
    clock,
  )
}
