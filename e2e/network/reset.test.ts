import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { test } from 'node:test'
import { openPort } from '../../scripts/open-port.ts'
import { reset } from './reset.ts'

test('a connection whose end is being sent is closed, not reset', async (t) => {
  const server = createServer((socket) => t.after(() => socket.destroy()))
  t.after(() => server.close())
  const client = connect(await openPort(server), '127.0.0.1')
  await once(client, 'connect')
  client.end()
  reset(client)
  // Rejects with the error of a reset that failed.
  const [hadError] = await once(client, 'close')
  assert.equal(hadError, false)
})
