// Windows estimate their offset to the server's clock, in every mode, also with a wrong clock.

import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { modes } from '../../protocol/modes.ts'
import type { LabDoor } from '../../web/lab.ts'
import { type BrowserWindow, until } from '../browser/browser.ts'
import { exchangeClocks, readTickOffset } from '../browser/typing.ts'
import { checkClocks, followClock } from '../lab/clock.ts'
import { switchMode } from './page.ts'
import { openStage, type Stage, untilOpen } from './stage.ts'

let stage: Stage
before(async () => {
  stage = await openStage()
})
after(() => stage.close())

const ticks = 20

/** The server runs in this process: both clocks are compared with the machine's. */
async function truth(window: BrowserWindow) {
  const own = await window.run(readTickOffset, ticks)
  const servers = readTickOffset(ticks)
  return { offsetMs: own.offsetMs - servers.offsetMs, boundMs: own.boundMs + servers.boundMs }
}

async function isWithinBound(t: TestContext, window: BrowserWindow): Promise<void> {
  const known = await window.run(clock)
  const { offsetMs, boundMs } = await truth(window)
  assert.ok(known, 'the clock offset is unknown')
  const errorMs = Math.abs(known.offsetMs - offsetMs)
  t.diagnostic(
    `${known.offsetMs.toFixed(2)} ms ± ${known.boundMs.toFixed(2)} ms, ${errorMs.toFixed(2)} ms off the true value, which is known to ± ${boundMs.toFixed(2)} ms`,
  )
  assert.ok(errorMs <= known.boundMs + boundMs)
}

for (const mode of modes) {
  test(`${mode.name}: a window knows its offset, and again when its clock is 5 s ahead and 200 ppm fast`, async (t) => {
    const [window] = await stage.open(mode, 1, `clock-${mode.name.replace('/', '-')}`)
    assert.ok(window)
    const isKnown = async () => (await window.run(clock)) !== null
    await until(isKnown, 'the clock was not compared')
    await isWithinBound(t, window)

    await window.run(setWrong, 5000, 200e-6)
    await window.run(switchMode, mode.name)
    await untilOpen(window, mode)
    // Until then the last reading goes on.
    const isCompared = async () => Math.abs(((await window.run(clock))?.offsetMs ?? 0) + 5000) < 1000
    await until(isCompared, 'the wrong clock was not compared')
    await isWithinBound(t, window)
    await window.close()
  })
}

test('a scenario checks a window’s clock over the direct path', async (t) => {
  const mode = modes[0] ?? assert.fail('there is no mode')
  const [window] = await stage.open(mode, 1, 'clock-check')
  assert.ok(window)
  const { origin } = stage.server
  for (const to of ['', ...Object.values(origin)]) {
    const followed = followClock('window 1', (times) => window.run(exchangeClocks, times, to))
    const [checked] = await checkClocks([followed])
    const { offsetMs, boundMs } = await truth(window)
    assert.ok(checked)
    t.diagnostic(`${checked.offsetMs.toFixed(2)} ms ± ${checked.boundMs.toFixed(2)} ms`)
    assert.ok(Math.abs(checked.offsetMs - offsetMs) <= checked.boundMs + boundMs)
  }
  await window.close()
})

// The functions below run in the page.

type Page = typeof globalThis & { readonly crosswind?: LabDoor }

function clock() {
  return (globalThis as Page).crosswind?.clock() ?? null
}

function setWrong(aheadMs: number, drift: number): void {
  const right = performance.now.bind(performance)
  performance.now = () => right() * (1 + drift) + aheadMs
}
