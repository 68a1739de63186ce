import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { reset } from './reset.ts'

test('a connection whose end is being sent is closed, not reset', async (t) => {
  const server = createServer((socket) => t.after(() => socket.destroy()))
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(client, 'connect')
  client.end()
  reset(client)
  // Rejects with the error of a reset that failed.
  const [hadError] = await once(client, 'close')
  assert.equal(hadError, false)
})
