// Windows of every mode go through cuts, stalls, restarts, kills, floods and nonsense; afterwards all is counted.

import { setTimeout as delay } from 'node:timers/promises'
import type { Mode } from '../../server/wire/modes.ts'
import { bringAbout } from '../resilience/bringing-about.ts'
import { browserChannel, openBrowsers } from '../resilience/browsers.ts'
import { channelOf, openFleet, startWriting } from '../resilience/fleet.ts'
import { startFlooder } from '../resilience/flood.ts'
import { findFreePorts } from '../resilience/free-ports.ts'
import { readContent, readLog } from '../resilience/log-reader.ts'
import type { FaultPlan } from '../resilience/plan.ts'
import type { ResilienceProgress } from '../resilience/progress.ts'
import type { ResilienceRecord } from '../resilience/record.ts'
import { startRestartingServer } from '../resilience/restarting-server.ts'
import { startSampling } from '../resilience/sampling.ts'
import { prepareGround } from '../resilience/server-flags.ts'
import { settle, untilAllOpen } from '../resilience/settling.ts'

export interface ResiliencePlan {
  readonly modes: readonly Mode[]
  /** In all, dealt out over the modes. */
  readonly windows: number
  readonly seconds: number
  /** Messages a second from each writer. */
  readonly rate: number
  readonly mayFall: boolean
  /** Real Chromium windows beside the fleet's. */
  readonly browsers: number
  readonly faults: FaultPlan
}

/** On a slow machine the server is down for longer, and faults wait for somebody to meet: so much longer they may take. */
const overtime = 1.5
/** A link that was open for this long waits but a moment before its next try. */
const steadyMs = 5000
const openWithinMs = 20_000
/** The link waits for 15 s at most between two tries; after that a window has three more. */
const settleWithinMs = 45_000
/** Nothing happens any more: what memory is left then is kept. */
const restMs = 1500

export interface Lived {
  readonly record: ResilienceRecord
  /** What the server's processes wrote to their standard error. */
  readonly errors: string
  readonly browser: string
}

/** Rejects when the signal aborts, and when the windows do not open to begin with. */
export async function runResilience(
  plan: ResiliencePlan,
  progress: ResilienceProgress,
  signal: AbortSignal,
): Promise<Lived> {
  await using opened = new AsyncDisposableStack()
  const { elapsed, begin } = startClock()
  const pause = (ms: number) => delay(Math.max(0, ms), undefined, { signal })
  const ground = await prepareGround()
  opened.defer(ground.clear)
  const server = await startRestartingServer(await findFreePorts(), ground.flags)
  opened.defer(server.close)
  const flooder = await startFlooder()
  opened.defer(flooder.close)
  const place = { origin: server.origin, ca: ground.ca }
  const windows = openFleet({ ...plan, ...place, seed: plan.faults.seed, elapsed })
  opened.defer(() => {
    for (const window of windows) window.close()
  })
  const browsers = await openBrowsers(plan.browsers, server.origin)
  opened.defer(browsers.close)
  await untilAllOpen(windows, { withinMs: openWithinMs, pause })
  progress.say(
    `${windows.length} windows are open${plan.browsers > 0 ? `, and ${plan.browsers} of ${browsers.version}` : ''}.`,
  )

  begin()
  const sampling = startSampling(server, elapsed)
  opened.defer(sampling.stop)
  const stopFollowing = progress.follow(windows, elapsed, plan.seconds)
  opened.defer(stopFollowing)
  const stopWriting = startWriting(windows, plan.rate)
  opened.defer(stopWriting)
  const stopTyping = new AbortController()
  opened.defer(() => stopTyping.abort())
  const typing = browsers.type(stopTyping.signal)
  const target = { ...place, ports: server.ports, maxMessageBytes: ground.maxMessageBytes }
  const wholeMs = plan.seconds * 1000
  const parts = { windows, server, flooder, target, elapsed, pause, ...patience(wholeMs) }
  const faults = await bringAbout(plan.faults.faults, wholeMs, parts, progress.fault)

  stopWriting()
  stopTyping.abort()
  stopFollowing()
  await typing
  const lastedMs = elapsed()
  progress.say('The faults are over; every window is given time to get everything.')
  const settledAfterMs = await settle(windows, { withinMs: settleWithinMs, pause })
  await browsers.settle(settleWithinMs)
  await pause(restMs)
  await sampling.sampleNow()
  const reading = { ...place, origin: server.origin['1.1'] }
  const log = await readLog({ ...reading, channels: plan.modes.map(({ name }) => channelOf(name)) })
  const typedLog = await readLog({ ...reading, channels: [browserChannel] })
  const shown = await browsers.records(
    typedLog,
    await readContent(reading.origin, reading.ca, browserChannel),
  )
  const seen = { windows: windows.map(({ record }) => record), faults, memory: sampling.samples, log }
  const record = { ...seen, lastedMs, settledAfterMs, browsers: shown, crashes: server.crashes() }
  return { record, errors: server.errors(), browser: browsers.version }
}

function patience(wholeMs: number) {
  return { endsAtMs: wholeMs * overtime, spareMs: Math.min(steadyMs, wholeMs / 12) }
}

/** Ms since it was told to begin; before that, since it was made. */
function startClock() {
  let zero = performance.now()
  return {
    elapsed: () => performance.now() - zero,
    begin() {
      zero = performance.now()
    },
  }
}
