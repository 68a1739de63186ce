// Documents that cost minutes to read: they are refused, and others are answered meanwhile.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { countItems, rivals } from '../../server/document/testing.ts'
import { follow, isEqual, startDocuments } from './yjs-testing.ts'

test('an update in which 20,000 clients set one key is refused, and an application whose log has it reads none, while others are answered', async (t) => {
  const bomb = { update: Buffer.from(rivals(20_000)).toString('base64') }
  const channels = { 'doc.*': { kind: 'yjs' }, 'room.*': { kind: 'json' } } as const
  const onEventLoop = countItems(t)
  const fresh = await startDocuments(t)
  await assert.rejects(follow(fresh.open()).publish('update', bomb), { code: 'too-costly' })
  assert.ok(isEqual(await fresh.crosswind.document('doc.1'), new Y.Doc()))

  const storage = { kind: 'sqlite', folder: temporaryFolder(t) } as const
  const patient = await startDocuments(t, { storage, limits: { documentSeconds: 600 } })
  await follow(patient.open()).publish('update', bomb)
  await patient.crosswind.close({ drainMs: 0 })
  const { crosswind, open } = await startDocuments(t, { storage, channels })
  const room = open().channel('room.1')
  await room.publish('before')
  const events: string[] = []
  const reading = crosswind.document('doc.1').finally(() => events.push('read'))
  const answering = room.publish('meanwhile').then(() => events.push('answered'))
  await Promise.all([assert.rejects(reading, { code: 'too-costly' }), answering])
  assert.deepEqual([events, onEventLoop.items], [['answered', 'read'], 0])
})
