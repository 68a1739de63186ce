// The list of documents after deletions and erasures.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ampleLimits, draft, startMs, toyTypes } from '../../server/log/log-testing.ts'
import { createMemoryLog } from '../../server/log/memory-log.ts'
import { deletedForMs } from '../shared/page-messages.ts'
import { Directory } from './directory.ts'

const deletion = (id: string, deleted: boolean, channel: string) =>
  ({ ...draft(id, '', channel), kind: 'deletion', body: { deleted } }) as const

/** For a log that is read, and one that is followed. */
for (const isRead of [true, false])
  test(`a deleted document is listed with its time, and leaves the list when erased: the log is ${isRead ? 'read' : 'followed'}`, async () => {
    let time = startMs
    const onFailure = (error: unknown) => assert.fail(String(error))
    const log = createMemoryLog({
      epoch: 'one',
      limits: ampleLimits,
      typeOf: toyTypes(),
      now: () => time,
      onFailure,
    })
    const directory = new Directory(log)
    const deletions = async () =>
      [...(isRead ? await new Directory(log).entries() : await directory.entries())].map(
        ([channel, { at, deletedAt }]) => [channel, at, deletedAt],
      )
    await deletions()
    for (const channel of ['main', 'notes']) {
      await log.append(draft(`w1-${channel}`, 'x', channel), startMs)
      await log.append(deletion(`w1-${channel}-2`, true, channel), startMs + 1)
    }
    assert.deepEqual(await deletions(), [
      ['main', startMs, startMs + 1],
      ['notes', startMs, startMs + 1],
    ])
    await log.append(deletion('w1-back', false, 'notes'), startMs + 2)
    assert.deepEqual((await deletions())[1], ['notes', startMs, null])
    await log.append(deletion('w1-again', true, 'notes'), startMs + 3)
    time += deletedForMs + 3
    for (const _each of ['main', 'notes']) await log.snapshot(new Set(['main']))
    // The main page is always on the list.
    assert.deepEqual(await deletions(), [['main', null, null]])
  })
