// A database of drafts that the browser does not open.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDraftDatabase } from './draft-database.ts'
import { settled } from './testing.ts'

test('while the browser does not open it, the key is the proposed one, and what is written is not kept', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const database = openDraftDatabase(() => ({ open: () => ({}) }) as unknown as IDBFactory)
  const key = database.key('proposed')
  const ends = async () => {
    await settled()
    t.mock.timers.tick(3000)
  }
  await ends()
  assert.equal(await key, 'proposed')
  const written = assert.rejects(database.change([], ['w1-1']), /does not open the database/)
  await ends()
  await written
})
