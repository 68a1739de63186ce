// Devices with wrong clocks join a run by its link, without any WebDriver.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { type EditingPage, openEditingPage } from '../browser/editing.ts'
import { startLab } from '../lab/testing.ts'
import { readCompressed } from '../report/render.ts'
import type { Summary } from './keystrokes-report.ts'
import type { WindSummary } from './windcomm-summary.ts'

const size = ['--keys', '6', '--blocks', '1', '--windows', '2', '--warmup', '2']
const folder = temporaryFolder()

function startRun(t: TestContext, out: string, count: number, { sessions = 1, modes = 'sse/2' } = {}) {
  const join = ['--join', String(count), '--host', '127.0.0.1']
  const run = startLab(
    t,
    'keystrokes',
    '--sessions',
    String(sessions),
    ...size,
    '--modes',
    modes,
    ...join,
    '--out',
    out,
  )
  return { ...run, link: () => linkOf(run) }
}

async function linkOf(run: ReturnType<typeof startLab>): Promise<string> {
  await run.hasSaid('/lab/join')
  return /https:\S+\/lab\/join/.exec(run.said())?.[0] ?? assert.fail(run.said())
}

async function joinWith(
  t: TestContext,
  ...opening: Parameters<typeof openEditingPage>
): Promise<EditingPage> {
  const page = await openEditingPage(...opening)
  t.after(page.close)
  return page
}

const wordsOf = (page: EditingPage) => page.run(() => document.querySelector('h1')?.textContent ?? '')

async function untilWords({ page }: EditingPage, words: string): Promise<void> {
  await page.waitForFunction((said) => document.querySelector('h1')?.textContent === said, {}, words)
}

async function summaryOf(out: string): Promise<Summary> {
  return JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
}

test('a Chromium 50 s behind and a Firefox 70 s ahead: times are right within the bound', async (t) => {
  const behindMs = 50_000
  const aheadMs = 70_000
  const out = join(folder, 'wrong')
  const run = startRun(t, out, 2, { modes: 'sse/2,websocket/1.1' })
  const link = await run.link()
  const behind = await joinWith(t, 'chromium', link, { clockShiftMs: -behindMs })
  await untilWords(behind, 'Waiting for the lab to begin')
  const ahead = await joinWith(t, 'firefox', link, { clockShiftMs: aheadMs })
  for (const [page, shiftMs] of [
    [behind, -behindMs],
    [ahead, aheadMs],
  ] as const) {
    const before = Date.now()
    const shownMs = (await page.run(() => performance.timeOrigin + performance.now())) - shiftMs
    // The clocks of the machine's processes differ by less than a second.
    assert.ok(shownMs > before - 1000 && shownMs < Date.now() + 1000, String(shownMs))
  }
  const [code] = await run.ended
  const endedAt = Date.now()
  assert.equal(code, 0, run.said())
  assert.deepEqual([await wordsOf(behind), await wordsOf(ahead)], ['Done, thank you', 'Done, thank you'])

  const { details, clock, boundMs, command } = await summaryOf(out)
  assert.equal(clock, 'server exchange')
  const { windows } = details
  assert.deepEqual(
    windows.map(({ name }) => name.replace(/ \d+ /, ' ')),
    [
      'window 1, this machine, types',
      'window 2, this machine',
      'device 1, headless Chrome on Linux',
      'device 2, Firefox on Linux',
    ],
  )
  for (const { name, n, lost, missed, boundMs } of windows) {
    assert.deepEqual([n, lost, missed], [12, 0, []], name)
    // Otherwise the times below would say nothing.
    assert.ok(boundMs > 0 && boundMs < behindMs / 2, `${name}: ± ${boundMs} ms`)
  }
  const times = (await readCompressed(join(out, 'samples.csv.gz'))).trim().split('\n').slice(1)
  for (const line of times) {
    const [sentAt, receivedAt] = line.split(',').slice(7, 9).map(Number)
    assert.ok(sentAt && receivedAt, line)
    assert.ok(receivedAt > sentAt - (boundMs ?? 0) && receivedAt < endedAt + (boundMs ?? 0), line)
  }
  assert.match(command, /--join 2 --host HOST(?: |$)/)
  const report = await readFile(join(out, 'report.md'), 'utf8')
  assert.match(report, /Window by window/)
  assert.doesNotMatch(report, /127\.0\.0\.1/)
})

test('a hidden device misses the turn; one that leaves is excluded, and the run ends without it', async (t) => {
  const out = join(folder, 'gone')
  const run = startRun(t, out, 1, { sessions: 2 })
  const page = await openEditingPage('chromium', await run.link())
  await untilWords(page, 'Measuring turn 1 of 2: keep this window in front')
  await page.run(hide)
  assert.match(
    await page.run(() => document.querySelector('#detail')?.textContent ?? ''),
    /was hidden: its times/,
  )
  await run.hasSaid('without device 1, which was hidden')
  await run.hasSaid('Session 2 of 2')
  await page.close()
  const [code] = await run.ended
  assert.equal(code, 0, run.said())
  assert.match(run.said(), /without device 1, which went away/)
  const device = (await summaryOf(out)).details.windows.at(-1)
  assert.ok(device && device.missed.length > 0 && device.lost === 0, JSON.stringify(device))
  assert.match(
    await readFile(join(out, 'report.md'), 'utf8'),
    /device 1, .*missed turns: session \d, block 1, /,
  )
})

test('windcomm: a Firefox 70 s ahead has a window for each method, and its times are right within the bound', async (t) => {
  const aheadMs = 70_000
  const out = join(folder, 'wind')
  const size = ['--modes', 'websocket/1.1,sse/2', '--rate', '10', '--readings', '12', '--browsers-at', 'none']
  const run = startLab(t, 'windcomm --join 1 --host 127.0.0.1', ...size, '--out', out)
  const device = await joinWith(t, 'firefox', await linkOf(run), { clockShiftMs: aheadMs })
  const [code] = await run.ended
  const endedAt = Date.now()
  assert.equal(code, 0, run.said())
  assert.equal(await wordsOf(device), 'Done, thank you')
  const { cells, clock, command }: WindSummary = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  assert.deepEqual(
    cells.map(({ site, mode, n }) => [site, mode, n]),
    ['here', 'device 1'].flatMap((site) => ['websocket/1.1', 'sse/2'].map((mode) => [site, mode, 12])),
  )
  const boundMs = clock.largestErrorMs
  // Otherwise the times below would say nothing.
  assert.ok(boundMs > 0 && boundMs < aheadMs / 2, `± ${boundMs} ms`)
  for (const line of (await readCompressed(join(out, 'samples.csv.gz'))).trim().split('\n').slice(1)) {
    const [acceptedAt, receivedAt] = line.split(',').slice(5, 7).map(Number)
    assert.ok(acceptedAt && receivedAt, line)
    assert.ok(receivedAt > acceptedAt - boundMs && receivedAt < endedAt + boundMs, line)
  }
  assert.match(command, /--join 1 --host HOST(?: |$)/)
})

test('devices are told when a run is stopped', async (t) => {
  const run = startRun(t, join(folder, 'stopped'), 2)
  const page = await joinWith(t, 'chromium', await run.link())
  await run.hasSaid('Joined, device 1')
  run.child.kill('SIGINT')
  const [code] = await run.ended
  assert.equal(code, 130, run.said())
  await untilWords(page, 'The lab has ended')
})

/** Runs in the page: as if another one were in front. */
function hide(): void {
  Object.defineProperty(document, 'visibilityState', { value: 'hidden' })
  document.dispatchEvent(new Event('visibilitychange'))
}
