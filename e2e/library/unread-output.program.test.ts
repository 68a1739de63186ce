// An application whose output nobody reads: what Crosswind says does not end it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { type Order, startApplicationProcess } from './application-process.ts'

type Started = Awaited<ReturnType<typeof startApplicationProcess>>

async function closeReaders({ stdout, stderr }: Started): Promise<void> {
  const closed = [stdout, stderr].map((stream) => once(stream, 'close'))
  for (const stream of [stdout, stderr]) stream.destroy()
  await Promise.all(closed)
}

/** Resolves when it has been done; rejects if that ended the process. */
async function order({ child, ended }: Started, what: Order): Promise<void> {
  const done = once(child, 'message')
  child.send(what)
  await Promise.race([done, ended.then(() => assert.fail('It ended.'))])
}

function connectTo(t: TestContext, { origin }: Started) {
  const http = connectHttp('1.1', origin, null)
  t.after(() => http.close())
  return {
    async publish(channel: string): Promise<string> {
      const draft = { id: `w-${channel}`, channel, kind: 'json', from: 'w', at: 1, body: { data: 1 } }
      const headers = { 'content-type': 'application/json' }
      const request = { method: 'POST', path: '/realtime/messages', headers, body: JSON.stringify(draft) }
      const { status, body } = await http.ask(request)
      return `${status} ${JSON.parse(await textOf(body)).code}`
    },
    async status(path: string): Promise<number> {
      const { status, body } = await http.ask({ path })
      await textOf(body)
      return status
    },
  }
}

for (const [what, command, prepare] of [
  ['has no reader any more', 'exec "$@"', closeReaders],
  ['goes to a full disk', 'exec "$@" >/dev/full 2>&1', () => undefined],
] as const)
  test(`an application whose output ${what} goes on after Crosswind’s sentences, and stops when it is told to`, {
    skip: process.platform !== 'linux' && 'needs /dev/full',
  }, async (t) => {
    const started = await startApplicationProcess(t, command)
    await prepare(started)
    const { publish, status } = connectTo(t, started)
    for (const channel of ['first', 'second']) assert.equal(await publish(channel), '400 bad-shape')
    await order(started, 'say something')
    for (const path of ['/realtime/clock', '/own']) assert.equal(await status(path), 200)
    started.child.kill('SIGTERM')
    assert.deepEqual(await started.ended, [0, null])
  })

test('a failed write of the application itself is its own failure, also after one of Crosswind’s sentences', {
  skip: process.platform === 'win32' && 'needs a shell',
}, async (t) => {
  const started = await startApplicationProcess(t, 'exec "$@"')
  await closeReaders(started)
  const { publish, status } = connectTo(t, started)
  assert.equal(await publish('first'), '400 bad-shape')
  assert.equal(await status('/own'), 200)
  started.child.send('write on standard error' satisfies Order)
  assert.deepEqual(await started.ended, [1, null])
})
