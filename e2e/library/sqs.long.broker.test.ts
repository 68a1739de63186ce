// A server of an application behind a queue of SQS.

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { startSqsServer, type TestSqs } from '../../scripts/sqs-server.ts'
import { accessTo, type Said, start, texts } from './testing.ts'

let sqs: TestSqs
before(async () => {
  sqs = await startSqsServer()
})
after(() => sqs.stop())

test('messages that passed the queue are stored with their user, also after a restart', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const { endpoint, queue } = sqs.settings('library')
  const setting = {
    storage: { kind: 'sqs', folder, queue, ...(endpoint !== null && { endpoint }) },
    authorize: () => ({ user: 'ada', read: ['room.*'], write: ['room.*'] }),
  } as const
  const first = await start(t, setting)
  const room = first.open().channel<Said>('room.1')
  const heard = texts(room, 1)
  await room.publish({ text: 'hello' })
  assert.deepEqual(await heard, ['hello'])
  assert.equal(statSync(folder).mode & 0o077, 0)
  assert.deepEqual(accessTo(folder).openToOthers, [])
  await first.crosswind.close({ drainMs: 0 })
  const { crosswind } = await start(t, setting)
  const read = await Array.fromAsync(crosswind.read('room.1'))
  assert.deepEqual(
    read.map(({ user, data }) => [user, data]),
    [['ada', { text: 'hello' }]],
  )
})
