// WindComm's experiment (2012 paper, "Experimental Design"): a sensor's readings timed to far windows, every method at once.

import { setTimeout as delay } from 'node:timers/promises'
import type { Mode } from '../../server/wire/modes.ts'
import { createSeededRandom } from '../../server/wire/random.ts'
import type { Polling } from '../../server/wire/settings.ts'
import { startBrowser } from '../browser/browser.ts'
import { largestErrorMs } from '../lab/windcomm/clocks.ts'
import type { LinkUse } from '../lab/windcomm/links.ts'
import { matchReadings } from '../lab/windcomm/matching.ts'
import type { Reading, RunClock, Site, WindSample } from '../lab/windcomm/run.ts'
import { openClient } from './windcomm/clients.ts'
import { clockComparer } from './windcomm/comparing-clocks.ts'
import { type Ground, openGround } from './windcomm/ground.ts'
import { openPage, type Page } from './windcomm/pages.ts'
import type { WindProgress } from './windcomm/progress.ts'
import { type Pause, untilEverywhere, untilOpen, untilReadings } from './windcomm/waiting.ts'
import type { ListeningWindow } from './windcomm/window.ts'
import { openWitness, refuseGaps, type Witness } from './windcomm/witness.ts'

export interface WindcommPlan {
  readonly sites: readonly Site[]
  readonly modes: readonly Mode[]
  readonly readings: number
  readonly rateHz: number
  readonly polling: Polling
  readonly seed: number
}

export interface Measured {
  readonly readings: readonly Reading[]
  readonly samples: readonly WindSample[]
  readonly clock: RunClock
  readonly links: readonly LinkUse[]
  readonly serverCpuMs: number
  readonly browser: string
}

/** Left out after every window had a reading: five seconds of the paper's pace. */
export const warmUpReadings = 20

/** Rejects when the signal aborts, when windows do not open, when a clock is not known well enough, and when the sensor stops. */
export async function runWindcomm(
  plan: WindcommPlan,
  progress: WindProgress,
  signal: AbortSignal,
): Promise<Measured> {
  await using opened = new AsyncDisposableStack()
  const pause = (ms: number) => delay(ms, undefined, { signal })
  const ground = await openGround(plan, opened)
  const witness = openWitness(ground)
  opened.defer(witness.close)
  const { windows, pages, version } = await openWindows(plan, ground, opened, signal)
  await untilOpen(windows, witness, pause)
  progress.say(
    `${windows.length} windows are open${version === 'none' ? '' : `, ${pages.length} of ${version}`}.`,
  )

  const compareClocks = clockComparer(ground, pages)
  const before = await compareClocks('before')
  progress.say(
    `Clocks are off by ${largestErrorMs({ clock: { before, after: [] } }).toFixed(2)} ms at most; warming up.`,
  )
  const first = await warmUp(windows, witness, pause)
  const usedBefore = await ground.server.figures()
  const linksWatched = ground.watchLinks()
  const readings = await collect(plan.readings, { windows, witness, first, progress, pause })
  const links = linksWatched()
  const usedAfter = await ground.server.figures()
  const after = await compareClocks('after')
  return {
    readings,
    samples: await samplesOf(windows, readings),
    clock: { before, after },
    links,
    serverCpuMs: usedAfter.cpuMs - usedBefore.cpuMs,
    browser: version,
  }
}

/** Resolves to how many of the witness's readings do not count, when every window had one of them. */
async function warmUp(windows: readonly ListeningWindow[], witness: Witness, pause: Pause): Promise<number> {
  const settled = witness.readings().length
  await untilReadings(witness, settled + warmUpReadings, pause)
  const early = witness.readings()[settled]
  if (early && (await untilEverywhere(windows, early, pause))) return witness.readings().length
  throw new Error('Not every window received the readings of the warm-up: nothing was measured.')
}

interface Collecting {
  readonly windows: readonly ListeningWindow[]
  readonly witness: Witness
  readonly first: number
  readonly progress: WindProgress
  readonly pause: Pause
}

/** The next readings, and time for the stragglers; what is missing at a window then is lost. */
async function collect(
  count: number,
  { windows, witness, first, progress, pause }: Collecting,
): Promise<readonly Reading[]> {
  const stopFollowing = progress.follow(windows, count, () => witness.readings().length - first)
  try {
    await untilReadings(witness, first + count, pause)
  } finally {
    await stopFollowing()
  }
  const readings = witness.readings().slice(first, first + count)
  refuseGaps(readings)
  const last = readings.at(-1)
  if (last) await untilEverywhere(windows, last, pause)
  return readings
}

async function openWindows(
  { sites, modes, seed }: WindcommPlan,
  ground: Ground,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
) {
  const pages: Page[] = []
  const clients: ListeningWindow[] = []
  const random = createSeededRandom(seed)
  let version = 'none'
  for (const { name, windows } of sites) {
    if (windows === 'browser') {
      const browser = await startBrowser()
      opened.defer(browser.quit)
      version = browser.version
      for (const mode of modes) {
        signal.throwIfAborted()
        pages.push(await openPage(browser, ground, name, mode))
      }
    } else {
      clients.push(...modes.map((mode) => openClient(ground, name, mode, random)))
    }
  }
  opened.defer(() => {
    for (const client of clients) client.close()
  })
  return { windows: [...pages, ...clients], pages, version }
}

async function samplesOf(
  windows: readonly ListeningWindow[],
  readings: readonly Reading[],
): Promise<readonly WindSample[]> {
  const samples: WindSample[] = []
  for (const window of windows) {
    const { site, mode } = window
    samples.push(...matchReadings(readings, { site, mode, receipts: await window.receipts() }))
  }
  return samples
}
