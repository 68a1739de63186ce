// Workers of a program that does not do what it must.

import assert from 'node:assert/strict'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createManualTime } from '../../protocol/testing.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { hostSiblings, startWorkers } from './workers.ts'

test('a start fails in time, and says why, if a worker never calls listen', async (t) => {
  const exec = join(temporaryFolder(t), 'idle.mjs')
  await writeFile(exec, 'setInterval(() => undefined, 1000)')
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
  const ended = Object.values(cluster.workers ?? {}).map((worker) => worker && once(worker, 'exit'))
  assert.equal(ended.length, 2)
  time.advance(120_000)
  await assert.rejects(starting, /A worker did not call listen within 120 s; the program must/)
  await Promise.all(ended)
  assert.equal(time.pending(), 0)
})
