import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { PageTasks } from '../../app/document/document-tasks.ts'
import { pageTasks } from '../../app/document/page-schema.ts'
import { createManualTime } from '../../protocol/testing.ts'
import { processTimers } from '../../scripts/process.ts'
import { DocumentWorker, type TaskLimits } from './document-worker.ts'

const ample: TaskLimits = { documentSeconds: 60, documentMegabytes: 256 }

function open(limits: Partial<TaskLimits> = {}) {
  return new DocumentWorker<PageTasks>({
    tasks: pageTasks,
    limits: { ...ample, ...limits },
    timers: processTimers,
    onQuarantined: () => undefined,
  })
}

/** Micromark takes minutes to parse it. */
const slow = '*_'.repeat(50_000)

test('a text made to be slow ends at the limit of processor time, other code runs meanwhile, and the next text is read', async () => {
  const worker = open({ documentSeconds: 0.3 })
  let turns = 0
  const turning = setInterval(() => (turns += 1), 10)
  const refused = assert.rejects(
    worker.run('linesFrom', 'text/markdown', slow),
    /TooCostly: takes more than 0.3 s of processor time \(limits\.documentSeconds\)/,
  )
  const next = worker.run('linesFrom', 'text/markdown', '# next')
  await refused
  clearInterval(turning)
  assert.ok(turns > 1)
  assert.deepEqual(
    (await next).map(({ block, runs }) => [block, runs[0]?.text]),
    [['h1', 'next']],
  )
  await worker.close()
})

test('an update from a client may take half a second plus a share of the time', async () => {
  const worker = open({ documentSeconds: 5 })
  await assert.rejects(
    worker.within(slow.length / 1e6).run('linesFrom', 'text/markdown', slow),
    /takes more than 1 s of processor time, as much as a text of its length may take/,
  )
  await worker.close()
})

test('a text that takes too much memory is refused, and the next is read', async () => {
  const worker = open({ documentMegabytes: 16 })
  const refused = assert.rejects(
    worker.run('linesFrom', 'text/html', '<p>a<b>b</b>'.repeat(400_000)),
    /TooCostly: takes more than 16 MB of memory \(limits\.documentMegabytes\)/,
  )
  const next = worker.run('linesFrom', 'text/html', '<p>next</p>')
  await refused
  assert.equal((await next)[0]?.runs[0]?.text, 'next')
  await worker.close()
})

test('a task is refused when too many are queued; closing the worker rejects queued tasks', async () => {
  const worker = open()
  const all = Array.from({ length: 101 }, () => worker.run('linesFrom', 'text/markdown', slow))
  const ended = Promise.allSettled(all)
  await assert.rejects(worker.run('linesFrom', 'text/markdown', 'one more'), {
    status: 429,
    code: 'too-fast',
  })
  await worker.close()
  assert.deepEqual(new Set((await ended).map(({ status }) => status)), new Set(['rejected']))
})

const eve = { connection: {}, name: 'eve' }
const others: readonly (readonly [what: string, clients: (n: number) => readonly unknown[]])[] = [
  ['one connection and name', () => [eve.connection, eve.name]],
  ['one name on many connections', () => [{}, eve.name]],
  ['one connection under many names', (n) => [eve.connection, `eve${n}`]],
]

for (const [what, clientOf] of others)
  test(`clients take turns: ${what} share one turn`, async () => {
    const worker = open()
    const done: string[] = []
    const run = async (name: string, client: readonly unknown[]) => {
      await worker.for(...client).run('linesFrom', 'text/plain', name)
      done.push(name)
    }
    const all = [1, 2, 3, 4].map((n) => run(`eve ${n}`, clientOf(n)))
    all.push(run('ann 1', [{}, 'ann']), run('ann 2', [{}, 'ann']), run('bob', [{}, 'bob']))
    await Promise.all(all)
    assert.deepEqual(done, ['eve 1', 'ann 1', 'bob', 'eve 2', 'ann 2', 'eve 3', 'eve 4'])
    await worker.close()
  })

test('one client that queues too much is refused, and the others are not', async () => {
  const worker = open()
  const read = (name: string) => worker.for({}, name).run('linesFrom', 'text/plain', 'x')
  const all = Array.from({ length: 20 }, () => read('eve'))
  await assert.rejects(read('eve'), { status: 429, code: 'too-fast' })
  assert.equal((await read('ann'))[0]?.runs[0]?.text, 'x')
  await Promise.all(all)
  await read('eve')
  await worker.close()
})

const onLinux = { skip: process.platform === 'linux' ? false : 'threads are counted in /proc' }
const tasks = '/proc/self/task'

test('a thread that is idle for five seconds ends, and the next task starts another', onLinux, async () => {
  const time = createManualTime()
  const worker = new DocumentWorker<PageTasks>({
    tasks: pageTasks,
    limits: ample,
    timers: time,
    onQuarantined: () => undefined,
  })
  const read = async () => (await worker.run('linesFrom', 'text/plain', 'x'))[0]?.runs[0]?.text
  const threads = () => readdirSync(tasks).length
  const before = threads()
  assert.equal(await read(), 'x')
  assert.equal(threads(), before + 1)
  time.advance(4999)
  assert.equal(await read(), 'x')
  time.advance(4999)
  assert.equal(threads(), before + 1)
  time.advance(1)
  while (threads() > before) await nextTurn()
  assert.equal(await read(), 'x')
  await worker.close()
})

test('a thread releases its memory before the next one starts', onLinux, async () => {
  const worker = open({ documentSeconds: 0.3 })
  await worker.run('linesFrom', 'text/plain', 'x')
  const one = readdirSync(tasks).length
  const refused = assert.rejects(worker.run('linesFrom', 'text/markdown', slow), /TooCostly/)
  const next = worker.run('linesFrom', 'text/plain', 'next')
  let most = 0
  // The next thread would start before any other code runs.
  const seen = refused.then(() => (most = readdirSync(tasks).length))
  await Promise.all([seen, next])
  assert.ok(most > 0 && most <= one, `${most} threads instead of ${one}`)
  await worker.close()
})

test('the thread’s priority is lower than the event loop’s', onLinux, async () => {
  const worker = open()
  await worker.run('linesFrom', 'text/plain', 'x')
  // Field 19 of proc_pid_stat(5).
  const niceness = readdirSync(tasks).map((id) =>
    Number(readFileSync(`${tasks}/${id}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[16]),
  )
  assert.equal(Math.max(...niceness), Math.min(19, Math.min(...niceness) + 10), String(niceness))
  await worker.close()
})
