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

/** Works until this process has used so much of the processor, whatever else the machine does. */
function useProcessor(us: number): number {
  const before = process.cpuUsage()
  while (process.cpuUsage(before).user < us);
  return us / 1000
}

test('what this process used between two samples is in the second one', isLinux, async () => {
  const recorder = new ProcessRecorder([{ name: 'own', pid: process.pid }], () => performance.now())
  await recorder.sample()
  const startedAt = process.cpuUsage()
  const usedMs = useProcessor(150_000)
  await recorder.sample()
  const { user, system } = process.cpuUsage(startedAt)
  const [record] = await recorder.stop()
  const [first, second] = record?.samples ?? []
  assert.ok(first && second && second.atMs >= first.atMs)
  const ms = second.cpuMs - first.cpuMs
  // The kernel adds what a thread uses at each tick, of 10 ms at most; several threads are added up.
  assert.ok(ms >= usedMs - 40 && ms <= (user + system) / 1000 + 40, `${ms} ms of ${usedMs}`)
  const { rss } = process.memoryUsage()
  assert.ok(Math.abs(second.rssBytes - rss) < rss / 2, `${second.rssBytes} of ${rss}`)
  const shared = (await recorder.proportionalBytes()).get('own') ?? 0
  assert.ok(shared > rss / 10 && shared <= rss * 1.5, String(shared))
})

test('the scheduler counts at least what this process used between two readings', isLinux, async () => {
  const counted = await readProcessorMs(process.pid)
  const usedMs = useProcessor(50_000)
  const ms = (await readProcessorMs(process.pid)) - counted
  assert.ok(ms >= usedMs - 10, `${ms} ms, not ${usedMs}`)
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
