// A database of drafts that the browser does not open.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDraftDatabase } from './draft-database.ts'
import { settled } from './testing.ts'

test('a database that was not opened is opened again, and does not keep others from theirs', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const asked: { onsuccess?: () => void; result: { close: () => void } }[] = []
  const closed: number[] = []
  const factory = {
    open() {
      const index = asked.length
      asked.push({ result: { close: () => closed.push(index) } })
      return asked[index]
    },
  }
  const open = () => openDraftDatabase(() => factory as unknown as IDBFactory, 'again')
  const keys = [open().key('one'), open().key('two')]
  for (const [index, proposed] of ['one', 'two'].entries()) {
    await settled()
    t.mock.timers.tick(3000)
    assert.equal(await keys[index], proposed)
  }
  assert.equal(asked.length, 2)
  asked[0]?.onsuccess?.()
  await settled()
  assert.deepEqual(closed, [0], 'one that is opened late is closed')
})

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
