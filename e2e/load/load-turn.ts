// One turn of load clients at a server: join, warm up, measure, leave.

import { setTimeout as pause } from 'node:timers/promises'
import { summarise } from '../lab/statistics.ts'
import { createSharedClock, type LoadProcess, type Measured, openAcross } from './load-process.ts'
import type { LoadServer } from './load-server.ts'

interface TurnPlan {
  readonly windows: number
  readonly perBrowser: number
  readonly rate: number
  readonly warmupMessages: number
  readonly messages: number
  readonly openingAtOnce: number
  /** Pause after the last join, so that late presence frames are not measured. */
  readonly settleMs: number
  readonly graceMs: number
  readonly channel: string
}

const clock = createSharedClock()
/** Delay of the first message: all orders arrive sooner. */
const leadMs = 50

/** Also resolves to the time until the server counted every window, ms. */
export async function takeTurn(
  server: LoadServer,
  loads: readonly LoadProcess[],
  plan: TurnPlan,
  signal: AbortSignal,
) {
  const startedAt = clock()
  const { target } = server
  const { windows, perBrowser, channel, openingAtOnce } = plan
  await openAcross(loads, { target, windows, perBrowser, channel, openingAtOnce })
  await server.untilCounted(plan.windows, signal)
  const joinedInMs = clock() - startedAt
  await pause(plan.settleMs, undefined, { signal })
  if (plan.warmupMessages > 0) await measure(loads, plan, 0, plan.warmupMessages)
  const before = await server.figures()
  const cpuBefore = await server.cpuMs()
  const measured = await measure(loads, plan, plan.warmupMessages, plan.messages)
  const cpuMs = (await server.cpuMs()) - cpuBefore
  const after = await server.figures()
  await Promise.all(loads.map((load) => load.closeWindows()))
  signal.throwIfAborted()
  return { ...tallied(measured, plan.windows * plan.messages), cpuMs, before, after, measured, joinedInMs }
}

/** Latencies are in no order. `expected`: windows times messages. */
export function tallied(measured: readonly Measured[], expected: number) {
  const sumOf = (figure: 'received' | 'duplicated' | 'reordered') =>
    measured.reduce((total, one) => total + one[figure], 0)
  const n = sumOf('received')
  return {
    n,
    lost: expected - n,
    duplicated: sumOf('duplicated'),
    reordered: sumOf('reordered'),
    latenciesMs: measured.flatMap(({ latenciesMs }) => Array.from(latenciesMs)),
    failures: measured.flatMap(({ failureWords }) => failureWords),
  }
}

/** NaN without values. */
export function figuresOf(values: readonly number[]) {
  return summarise(values.length === 0 ? [Number.NaN] : values)
}

function measure(
  loads: readonly LoadProcess[],
  { rate, graceMs }: TurnPlan,
  first: number,
  count: number,
): Promise<Measured[]> {
  const measuring = { first, count, startAt: clock() + leadMs, intervalMs: 1000 / rate, graceMs }
  return Promise.all(loads.map((load) => load.measure(measuring)))
}
