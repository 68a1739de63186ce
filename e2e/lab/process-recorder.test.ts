// How /proc is parsed, and that a process and its children are recorded under their names.

import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { ProcessRecorder, parseStat, pin, readProcessorMs } from './process-recorder.ts'

const isLinux = { skip: process.platform === 'linux' ? false : 'needs /proc' }

test('a program’s name may contain spaces and brackets', () => {
  const rest = 'S 7 1 1 0 -1 4194560 9 0 0 0 250 50 0 0 20 0 11 0 12345 999 321 18446744073709551615'
  for (const name of ['node', 'MainThread', 'a) S (b c'])
    assert.deepEqual(parseStat(`42 (${name}) ${rest}\n`), { cpuMs: 3000, rssBytes: 321 * 4096 })
  assert.throws(() => parseStat('42 (node) S'), /Not a process's stat/)
})

test('the measured use of this process agrees with its own figures', isLinux, async () => {
  const recorder = new ProcessRecorder([{ name: 'own', pid: process.pid }], () => performance.now())
  await recorder.sample()
  const before = process.cpuUsage()
  while (process.cpuUsage(before).user < 150_000);
  await recorder.sample()
  const [record] = await recorder.stop()
  const [first, second] = record?.samples ?? []
  assert.ok(first && second && second.atMs >= first.atMs)
  assert.ok(second.cpuMs - first.cpuMs >= 120, `${second.cpuMs - first.cpuMs} ms`)
  const { rss } = process.memoryUsage()
  assert.ok(Math.abs(second.rssBytes - rss) < rss / 2, `${second.rssBytes} of ${rss}`)
  const shared = (await recorder.proportionalBytes()).get('own') ?? 0
  assert.ok(shared > rss / 10 && shared <= rss * 1.5, String(shared))
})

test('the scheduler’s count for this process agrees with its own', isLinux, async () => {
  const [before, counted] = [process.cpuUsage(), await readProcessorMs(process.pid)]
  while (process.cpuUsage(before).user < 50_000);
  const { user, system } = process.cpuUsage(before)
  const ms = (await readProcessorMs(process.pid)) - counted
  const own = (user + system) / 1000
  assert.ok(Math.abs(ms - own) < 10, `${ms} ms, not ${own}`)
  assert.equal(await readProcessorMs(2 ** 30), Number.NaN)
})

test(
  'children are found and named in order; one that has ended gets no further samples',
  isLinux,
  async (t) => {
    const child = fork('-', [], {
      execArgv: ['-e', 'process.send("up"); process.once("message", () => process.exit())'],
    })
    t.after(() => child.kill())
    await once(child, 'message')
    const recorder = new ProcessRecorder(
      [{ name: 'parent', pid: process.pid, nameOfChild: (place) => `child ${place}` }],
      () => performance.now(),
    )
    await recorder.sample()
    child.send('go')
    await once(child, 'exit')
    await recorder.sample()
    const records = await recorder.stop()
    const own = records.find(({ pid }) => pid === child.pid)
    assert.match(own?.name ?? '', /^child \d$/)
    assert.deepEqual([own?.samples.length, records[0]?.samples.length], [1, 2])
  },
)

test('a core that does not exist is named', isLinux, async () => {
  await assert.rejects(pin(process.pid, '4095'), /could not be bound to core 4095/)
})
