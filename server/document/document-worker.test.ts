import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { processTimers } from '../../scripts/process.ts'
import { createManualTime } from '../wire/testing.ts'
import { DocumentWorker, type TaskLimits } from './document-worker.ts'
import { pageTasks } from './page-schema.ts'

const ample: TaskLimits = { documentSeconds: 60, documentMegabytes: 256 }

function open(limits: Partial<TaskLimits> = {}) {
  return new DocumentWorker({
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

const onLinux = { skip: process.platform === 'linux' ? false : 'threads are counted in /proc' }
const tasks = '/proc/self/task'

test('a thread that is idle for five seconds ends, and the next task starts another', onLinux, async () => {
  const time = createManualTime()
  const worker = new DocumentWorker({
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
