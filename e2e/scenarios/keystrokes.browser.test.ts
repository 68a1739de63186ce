// The keystroke scenario as a person runs it: a small run from the command line to the report.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startLab } from './testing.ts'

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crosswind-lab-'))
})
after(() => rm(folder, { recursive: true, force: true }))

test('a small run of both editors with their bare peer ends with nothing lost and a whole report', async (t) => {
  const out = join(folder, 'report')
  const run = startLab(
    t,
    'keystrokes',
    '--sessions',
    '2',
    '--keys',
    '3',
    '--blocks',
    '1',
    '--windows',
    '2',
    '--warmup',
    '2',
    '--peers',
    'bare',
    '--editor',
    'shared,mirror',
    '--modes',
    'sse/2,websocket/1.1',
    '--out',
    out,
  )
  const [code] = await run.ended
  assert.equal(code, 0, run.said())

  const summary = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  assert.equal(summary.scenario, 'keystrokes')
  assert.equal(summary.sessions, 2)
  assert.ok(summary.comparisons.every(({ sessions }: { sessions: unknown[] }) => sessions.length === 2))
  assert.match(summary.command, /^npm run lab -- keystrokes --sessions 2 --keys 3 /)
  const names = ['sse/2', 'websocket/1.1'].flatMap((mode) => [
    `${mode} shared`,
    `${mode} mirror`,
    `bare:${mode}`,
  ])
  assert.deepEqual(summary.modes.map(({ mode }: { mode: string }) => mode).sort(), names.sort())
  for (const mode of summary.modes) {
    assert.deepEqual(
      [mode.n, mode.expected, mode.lost, mode.duplicated, mode.reordered],
      [12, 12, 0, 0, 0],
      mode.mode,
    )
    assert.ok(mode.meanMs > 0 && mode.serverRssBytes > 0, mode.mode)
  }
  const csv = await readFile(join(out, 'samples.csv'), 'utf8')
  assert.equal(csv.trim().split('\n').length, 1 + 6 * 12)
  assert.match(await readFile(join(out, 'report.html'), 'utf8'), /<!doctype html>/i)
  assert.match(await readFile(join(out, 'report.md'), 'utf8'), /Table 1/)
})

test('over a simulated network, and over budget: the delay is measured, and the status says that a figure is too high', async (t) => {
  const [out, budget] = [join(folder, 'mobile'), join(folder, 'budget.json')]
  await writeFile(budget, '{"modes":{"*":{"lost":0,"meanMs":20}}}')
  const size = ['--sessions', '1', '--keys', '4', '--blocks', '1', '--windows', '2', '--warmup', '1']
  const network = ['--profile', 'mobile', '--modes', 'websocket/1.1', '--peers', 'bare']
  const run = startLab(t, 'keystrokes', ...size, ...network, '--budget', budget, '--out', out)
  const [code] = await run.ended
  assert.equal(code, 2, run.said())
  assert.match(run.said(), /Over budget: websocket\/1\.1: meanMs is \d+\.?\d*, at most 20 allowed/)
  assert.doesNotMatch(run.said(), /Over budget: .*lost/)
  const { modes, network: simulated, finding } = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8'))
  // 25 ms each way at least, to the server and to the window.
  for (const { mode, meanMs, n } of modes)
    assert.ok(meanMs > 50 && meanMs < 1000 && n === 8, `${mode} ${meanMs}`)
  assert.deepEqual([simulated.profile, simulated.lateMs < 5], ['mobile', true])
  assert.match(finding, /^Over the simulated network “mobile”: /)
  assert.match(
    await readFile(join(out, 'report.md'), 'utf8'),
    /keystrokes over a simulated network, “mobile”/,
  )
})

test('Ctrl-C ends it in order and leaves nothing that looks whole', async (t) => {
  const out = join(folder, 'stopped')
  const run = startLab(t, 'keystrokes', '--keys', '400', '--windows', '2', '--out', out)
  await run.hasSaid('keys for each')
  run.child.kill('SIGINT')
  const [code] = await run.ended
  assert.equal(code, 130, run.said())
  assert.match(run.said(), /Stopped; no report was written/)
  assert.equal(existsSync(out), false)
  assert.equal(existsSync(`${out}.unfinished`), false)
})

for (const [flags, sentence] of [
  [['--modes', 'sse/3'], /--modes names "sse\/3"; there are sse\/2, sse\/1.1, websocket\/1.1, /],
  [['--keys', 'many'], /--keys is "many"/],
  [['--peers', 'ws'], /--peers names "ws"; there is bare\./],
  [['--server', 'http://x'], /--server is "http:\/\/x": must be an https address/],
  [['--keys', '2', '--blocks', '3'], /keys must be at least as many as blocks/],
  [['--editor', 'vi'], /--editor names "vi"; there are shared, mirror\./],
  [['--editor', 'shared,mirror', '--server', 'https://x'], /a server has one editor/],
  [['--windows', '6'], /--windows is 6: sse\/1.1 carries 5 windows of one browser/],
  [['--until', 'done'], /--until is "done": must be decided\./],
  [['--matters', '5'], /--matters is "5": must be like 1ms or 5%\./],
  [['--until', 'decided', '--sessions', '2'], /with --until, --sessions is the fewest, 3 or more/],
  [['--profile', 'mars'], /--profile is "mars": there are loopback, lan, mobile, edmonton/],
  [['--profile', 'lan', '--server', 'https://x'], /a profile is simulated on this machine/],
  [['--budget', 'none.json'], /--budget names none\.json, which cannot be read \(ENOENT\)/],
  [['--budget'], /--budget needs a file/],
  [['--wibble'], /wibble/],
] as const) {
  test(`${flags.join(' ')}: one sentence, and nothing is started`, async (t) => {
    const run = startLab(t, 'keystrokes', ...flags)
    const [code] = await run.ended
    assert.equal(code, 1)
    assert.match(run.said(), sentence)
    assert.equal(run.said().trim().split('\n').length, 1)
  })
}
