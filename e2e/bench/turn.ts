// One turn: windows join, a warm-up passes uncounted, messages are measured, windows leave.

import { setTimeout as pause } from 'node:timers/promises'
import type { Figures } from '../../server/monitor/figures.ts'
import type { LoadProcess } from '../load/load-process.ts'
import type { Measured } from '../load/orders.ts'
import { createSharedClock } from '../load/shared-clock.ts'
import type { RunningServer } from './contender.ts'
import { split } from './turns.ts'

export interface TurnPlan {
  readonly windows: number
  readonly perBrowser: number
  readonly rate: number
  /** Messages before those that count, and those that count. */
  readonly warmupMessages: number
  readonly messages: number
  readonly openingAtOnce: number
  /** Windows are told who else is here for a while after the last one joined; that is not to be measured along. */
  readonly settleMs: number
  readonly graceMs: number
  /** Names the turn: its own channel, so that nothing of another turn can arrive. */
  readonly channel: string
}

export interface Turn {
  readonly before: Figures
  readonly after: Figures
  /** Until the server counted every window. */
  readonly joinedInMs: number
  /** One for each load process. */
  readonly measured: readonly Measured[]
}

const clock = createSharedClock()
/** From the order to the first message: orders to all load processes take less. */
const leadMs = 50

export async function takeTurn(
  server: RunningServer,
  loads: readonly LoadProcess[],
  plan: TurnPlan,
  signal: AbortSignal,
): Promise<Turn> {
  const startedAt = clock()
  await join(server, loads, plan)
  await untilWindows(server, (windows) => windows >= plan.windows, signal)
  const joinedInMs = clock() - startedAt
  await pause(plan.settleMs, undefined, { signal })
  if (plan.warmupMessages > 0) await measure(loads, plan, 0, plan.warmupMessages)
  const before = await server.figures.read()
  const measured = await measure(loads, plan, plan.warmupMessages, plan.messages)
  const after = await server.figures.read()
  await Promise.all(loads.map((load) => load.closeWindows()))
  signal.throwIfAborted()
  return { before, after, measured, joinedInMs }
}

/** Whole browsers for each load process. */
async function join(server: RunningServer, loads: readonly LoadProcess[], plan: TurnPlan): Promise<void> {
  const { windows, perBrowser, channel, openingAtOnce } = plan
  const browsers = split(Math.ceil(windows / perBrowser), loads.length)
  let firstWindow = 0
  const openings = loads.map((load, place) => {
    const share = Math.min((browsers[place] ?? 0) * perBrowser, windows - firstWindow)
    const opening = load.open({
      target: server.target,
      firstWindow,
      windows: share,
      perBrowser,
      channel,
      openingAtOnce: Math.max(1, Math.floor(openingAtOnce / loads.length)),
    })
    firstWindow += share
    return opening
  })
  await Promise.all(openings)
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

const windowsWithinMs = 30_000

async function untilWindows(
  { figures }: RunningServer,
  isEnough: (windows: number) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const deadline = clock() + windowsWithinMs
  for (;;) {
    const { windows } = await figures.read()
    if (isEnough(windows)) return
    if (clock() > deadline)
      throw new Error(
        `The server counts only ${windows} windows, ${windowsWithinMs / 1000} s after they joined.`,
      )
    await pause(20, undefined, { signal })
  }
}
