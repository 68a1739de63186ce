// The server for an application's tests.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect } from '../../client/node.ts'
import { createTestCrosswind } from '../../server/test-server.ts'

test('a client connects, and what the clock is put past has happened', async (t) => {
  let asked = 0
  const { crosswind, url, advance, close } = await createTestCrosswind({
    channels: { 'room.*': { kind: 'json', keep: { hours: 1 } } },
    authorize() {
      asked += 1
      return { read: ['*'], write: ['*'], user: 'ann', expiresAt: Date.now() + 600_000 }
    },
  })
  t.after(close)
  const client = connect(url, { token: () => 'a token' })
  t.after(() => client.close())
  const room = client.channel<string>('room.1')
  await room.publish('old')
  const times = asked
  const renewed = new Promise<void>((resolve) => {
    client.on('state', ({ status }) => status === 'open' && asked > times && resolve())
  })
  advance(2 * 3_600_000)
  await crosswind.publish('room.1', 'new')
  assert.deepEqual(await Array.fromAsync(crosswind.read('room.1'), ({ data }) => data), ['new'])
  await renewed
})

test('`await using` ends it', async () => {
  let url = ''
  {
    await using server = await createTestCrosswind({ channels: { 'room.*': { kind: 'json' } } })
    url = server.url
    assert.equal((await fetch(`${url}/clock`)).status, 200)
  }
  await assert.rejects(fetch(`${url}/clock`))
})
