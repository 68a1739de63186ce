import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { maxQueued, RequestQueue } from './request-queue.ts'

/** One connection; `ask` returns a request's response, or null if the request is refused. */
function connect(total = { requests: 0 }) {
  const secure = new PassThrough()
  const queue = new RequestQueue(secure as unknown as TLSSocket, total)
  const begun: EventEmitter[] = []
  const ask = () => {
    const response = new EventEmitter()
    return queue.run(response as never, () => begun.push(response)) ? response : null
  }
  const endNext = async (response: EventEmitter | undefined) => {
    response?.emit('close')
    await nextTurn()
  }
  return { secure, queue, total, begun, ask, endNext }
}

test('a request starts in a turn of its own after the response before it, in order', async () => {
  const { queue, total, begun, ask } = connect()
  const responses = [ask(), ask(), ask()]
  assert.deepEqual([begun.length, total.requests, queue.isBusy], [1, 2, true])
  for (const [index, response] of responses.entries()) {
    assert.equal(begun.at(-1), response)
    response?.emit('close')
    assert.equal(begun.length, index + 1)
    await nextTurn()
  }
  assert.deepEqual([total.requests, queue.isBusy], [0, false])
  ask()
  assert.equal(begun.length, 4)
})

test('a connection with too many queued requests is no longer read, and ends after them', async () => {
  const { secure, total, begun, ask, endNext } = connect()
  secure.resume()
  for (let count = 0; count <= maxQueued.perConnection; count += 1) ask()
  assert.equal(secure.isPaused(), false)
  // Read in the same turn as the one before.
  for (let count = 0; count < 2; count += 1) assert.ok(ask())
  // As Node does for a request's body.
  secure.resume()
  await nextTurn()
  assert.equal(secure.isPaused(), true)
  for (let count = 1; count <= maxQueued.perConnection + 3; count += 1) {
    assert.deepEqual([begun.length, secure.writableEnded], [count, false])
    await endNext(begun.at(-1))
  }
  assert.deepEqual([total.requests, secure.writableEnded], [0, true])
})

test('no connection queues a request when too many are queued in total, until a place is free', async () => {
  const total = { requests: maxQueued.total - 1 }
  const first = connect(total)
  const second = connect(total)
  assert.ok(first.ask() && first.ask() && second.ask())
  assert.equal(second.ask(), null)
  await first.endNext(first.begun[0])
  assert.ok(second.ask())
})

test('closing frees the places of the queued requests, which never start', async () => {
  const { queue, total, begun, ask, endNext } = connect({ requests: 5 })
  for (let count = 0; count < 3; count += 1) ask()
  queue.close()
  await endNext(begun[0])
  assert.deepEqual([total.requests, begun.length, queue.isBusy], [5, 1, false])
  // Whichever request came first: a later one is queued, too.
  ask()
  ask()
  queue.close()
  assert.equal(total.requests, 5)
})
