// Workers of a program that does not do what it must.

import assert from 'node:assert/strict'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createManualTime } from '../../protocol/testing.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { hostSiblings, startWorkers } from './workers.ts'

/** Starts two workers that run this program, on manual time. */
async function startTwo(t: TestContext, program: string) {
  const exec = join(temporaryFolder(t), 'worker.mjs')
  await writeFile(exec, program)
  cluster.setupPrimary({ exec })
  const time = createManualTime()
  const starting = startWorkers({
    count: 2,
    siblings: hostSiblings(2),
    secret: 'secret',
    attach: undefined,
    timers: time,
    signal: new AbortController().signal,
  })
  return { time, starting }
}

test('a start fails in time, and says why, if a worker never calls listen', async (t) => {
  const { time, starting } = await startTwo(t, 'setInterval(() => undefined, 1000)')
  const ended = Object.values(cluster.workers ?? {}).map((worker) => worker && once(worker, 'exit'))
  assert.equal(ended.length, 2)
  time.advance(120_000)
  await assert.rejects(starting, /A worker did not call listen within 120 s; the program must/)
  await Promise.all(ended)
  assert.equal(time.pending(), 0)
})

test('a worker may wait for its log as long as it must, and has its time again once the log is open', async (t) => {
  const { time, starting } = await startTwo(
    t,
    `process.send({ type: 'log', isOpen: false })
    process.on('message', () => process.send({ type: 'log', isOpen: true }))`,
  )
  const workers = Object.values(cluster.workers ?? {}).flatMap((worker) => worker ?? [])
  const ended = workers.map((worker) => once(worker, 'exit'))
  const all = (wanted: boolean) =>
    Promise.all(
      workers.map(async (worker) => {
        const [{ isOpen }] = await once(worker, 'message')
        assert.equal(isOpen, wanted)
      }),
    )
  await all(false)
  time.advance(3_600_000)
  const opened = all(true)
  for (const worker of workers) worker.send('open')
  await opened
  time.advance(119_999)
  assert.equal(time.pending(), 2)
  time.advance(1)
  await assert.rejects(starting, /A worker did not call listen within 120 s; the program must/)
  await Promise.all(ended)
  assert.equal(time.pending(), 0)
})
