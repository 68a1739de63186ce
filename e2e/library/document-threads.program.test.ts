// Content that an application's documents may have, and work on them beside the event loop.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Y from 'yjs'
import { isKind } from '../../protocol/messages.ts'
import { performTasks } from '../../server/documents.ts'
import { createCrosswind, type ReadableLog, TooCostly } from '../../server/index.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'
import { openSchema, type ShoutingTasks } from './shouting-tasks.ts'
import { start } from './testing.ts'

const tasks = new URL('shouting-tasks.ts', import.meta.url)

const updateOf = (root: string, text: string) => {
  const doc = new Y.Doc()
  doc.getText(root).insert(0, text)
  return Buffer.from(Y.encodeStateAsUpdate(doc)).toString('base64')
}

test('an update must fit the application’s schema, and a thread performs its tasks', async (t) => {
  const { crosswind, origin } = await start(t, {
    channels: { 'doc.*': { kind: 'yjs' } },
    documents: { schema: openSchema, tasks },
    limits: { documentSeconds: 1 },
  })
  let log: ReadableLog | undefined
  crosswind.onLog((opened) => {
    log = opened
    return undefined
  })
  const http = connectHttp('1.1', origin, null)
  t.after(() => http.close())
  async function send(count: number, update: string) {
    const draft = {
      id: `ann-${count}`,
      from: 'ann',
      channel: 'doc.1',
      at: 1,
      kind: 'update',
      body: { update },
    }
    const headers = { 'content-type': 'application/json' }
    const answer = { method: 'POST', path: '/realtime/messages', headers, body: JSON.stringify(draft) }
    return JSON.parse(await textOf((await http.ask(answer)).body))
  }
  const refused = await send(1, updateOf('secret', 'x'))
  assert.deepEqual(
    [refused.code, /"secret", which no document has/.test(refused.message)],
    ['bad-update', true],
  )
  assert.equal((await send(2, updateOf('text', 'hello'))).type, 'stored')
  const found = await log?.snapshot(new Set(['doc.1']))
  const updates = (found?.messages ?? []).flatMap((message) =>
    isKind(message, 'update') ? message.body.update : [],
  )
  const { stored, sent } = crosswind.documentThreads<ShoutingTasks>()
  assert.equal(await stored.read('doc.1', 'shout', updates), 'HELLO')
  assert.equal(await sent.run('shout', updates), 'HELLO')
  await assert.rejects(sent.for('ann').within(0.1).run('waste'), (error) => {
    assert.ok(error instanceof TooCostly)
    assert.match(error.message, /^takes more than 0\.6 s of processor time/)
    return true
  })
  await assert.rejects(stored.read('doc.1', 'waste'), { code: 'too-costly' })
  assert.ok(stored.isQuarantined('doc.1'))
  await assert.rejects(sent.run('shout', (() => 1) as never), { name: 'DataCloneError' })
  await assert.rejects(sent.run('cry' as 'shout', updates), /There is no task "cry"; there are /)
  await assert.rejects(sent.run('leave'), /^Error: The thread of documents ended by itself/)
  assert.equal(await sent.run('shout', updates), 'HELLO')
})

test('a schema without a module of tasks, and a task with a name of Crosswind’s, are refused', async () => {
  const unread = createCrosswind({
    path: '/realtime',
    channels: { 'doc.*': { kind: 'yjs' } },
    authorize: 'everyone',
    documents: { schema: openSchema },
  })
  await assert.rejects(unread, /^Error: createCrosswind: documents\.schema needs documents\.tasks/)
  assert.throws(() => performTasks(openSchema, { join: () => null }), /"join" is a task of Crosswind/)
})

test('without documents there are no threads', async (t) => {
  const crosswind = await createCrosswind({
    path: '/realtime',
    channels: { 'room.*': { kind: 'json' } },
    authorize: 'everyone',
  })
  t.after(() => crosswind.close({ drainMs: 0 }))
  assert.throws(() => crosswind.documentThreads(), { message: 'documentThreads: no channel is a document.' })
})
