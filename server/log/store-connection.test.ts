// Opens a connection to a store when it is used, and again after it broke.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreConnection } from './store-connection.ts'

/** Of the servers `down`, none can be used. A client is the address and how many were opened before. */
function openFake(down: ReadonlySet<string>) {
  const events: string[] = []
  let count = 0
  let onBroken = () => undefined as unknown
  const connection = new StoreConnection<string>({
    addresses: ['first', 'second'],
    async open(address, broken) {
      if (down.has(address)) throw new Error(`${address} is down`)
      onBroken = broken
      count += 1
      return `${address} ${count}`
    },
    end: (client) => events.push(`ended ${client}`),
    onReopened: () => events.push('reopened'),
  })
  return { connection, events, breakIt: () => onBroken() }
}

const same = async (client: string) => client

test('uses one connection, to the first server that can be used, and another one after it broke', async () => {
  const down = new Set(['first'])
  const { connection, events, breakIt } = openFake(down)
  assert.deepEqual([await connection.use(same), await connection.use(same)], ['second 1', 'second 1'])
  down.clear()
  breakIt()
  assert.deepEqual([await connection.use(same), events, connection.reconnects], ['first 2', ['reopened'], 1])
  await connection.drop('second 1')
  assert.equal(await connection.use(same), 'first 2')
  await connection.drop('first 2')
  assert.equal(await connection.use(same), 'first 3')
  await connection.close()
  assert.deepEqual(events, ['reopened', 'ended first 2', 'reopened', 'ended first 3'])
  await assert.rejects(connection.use(same), { message: 'the connection is closed' })
})

test('rejects with the error of the first server if none can be used, and tries again', async () => {
  const down = new Set(['first', 'second'])
  const { connection } = openFake(down)
  await assert.rejects(connection.use(same), { message: 'first is down' })
  down.delete('second')
  assert.equal(await connection.use(same), 'second 1')
})

test('runs work one after the other, also after work that failed', async () => {
  const { connection } = openFake(new Set())
  const order: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = connection.use(async () => {
    await gate.promise
    order.push('first')
    throw new Error('fails')
  })
  const second = connection.use(async () => order.push('second'))
  gate.resolve()
  await assert.rejects(first, { message: 'fails' })
  await second
  assert.deepEqual(order, ['first', 'second'])
})
