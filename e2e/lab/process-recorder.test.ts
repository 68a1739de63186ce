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

/** The kernel's tick, ms: running threads are counted, and `stat` is rounded down, to one. */
const tickMs = 10

/** Processor time that this process has used. */
function usedMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function useProcessor(ms: number): void {
  for (const startMs = usedMs(); usedMs() < startMs + ms; );
}

test('a sample lies between this process’s own figures before and after it', isLinux, async () => {
  let now = 0
  const recorder = new ProcessRecorder([{ name: 'own', pid: process.pid }], () => now)
  const own: [before: number, after: number][] = []
  for (now = 0; now < 3000; now += 1000) {
    const before = usedMs()
    await recorder.sample()
    own.push([before, usedMs()])
    useProcessor(3 * tickMs)
  }
  const [record] = await recorder.stop()
  const samples = record?.samples ?? []
  assert.deepEqual(
    samples.map(({ atMs }) => atMs),
    [0, 1000, 2000],
  )
  // User and system time are rounded each.
  for (const [index, { cpuMs }] of samples.entries()) {
    const [before, after] = own[index] ?? [Number.NaN, Number.NaN]
    assert.ok(cpuMs > before - 2 * tickMs && cpuMs <= after, `${cpuMs} ms, not ${before} to ${after}`)
  }
  const second = samples.at(-1) ?? assert.fail('nothing was recorded')
  const { rss } = process.memoryUsage()
  assert.ok(Math.abs(second.rssBytes - rss) < rss / 2, `${second.rssBytes} of ${rss}`)
  const shared = (await recorder.proportionalBytes()).get('own') ?? 0
  assert.ok(shared > rss / 10 && shared <= rss * 1.5, String(shared))
})

test('the scheduler’s count for this process agrees with its own', isLinux, async () => {
  const read = async () => {
    const before = usedMs()
    return { before, ms: await readProcessorMs(process.pid), after: usedMs() }
  }
  const first = await read()
  useProcessor(20 * tickMs)
  const second = await read()
  const ms = second.ms - first.ms
  const least = second.before - first.after
  const most = second.after - first.before
  assert.ok(ms > least - tickMs && ms < most + tickMs, `${ms} ms, not ${least} to ${most}`)
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
      [{ name: 'parent', pid: process.pid, nameOfChild: (index) => `child ${index}` }],
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
