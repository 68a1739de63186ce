// Operating an application's server: copies of the log, and the history of documents.

import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import * as Y from 'yjs'
import { z } from 'zod'
import { stopClock } from '../../app/testing.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { type CrosswindOptions, createCrosswind } from '../../server/index.ts'
import { checkLogFile, copyLogFile, isLocked, LogFileError } from '../../server/log-file.ts'
import { checked, engineShape, keysOf, whole } from '../../server/settings.ts'
import { connectHttp, type HttpClient, textOf } from '../clients/http-client.ts'
import { start } from './testing.ts'
import { startDocuments } from './yjs-testing.ts'

function open(t: TestContext, options: Partial<CrosswindOptions> = {}) {
  const opened = createCrosswind({
    path: '/realtime',
    channels: { 'room.*': { kind: 'json' }, 'doc.*': { kind: 'yjs' } },
    authorize: 'everyone',
    ...options,
  })
  t.after(async () => (await opened).close({ drainMs: 0 }))
  return opened
}

const textsOn = async (crosswind: Awaited<ReturnType<typeof createCrosswind>>, channel: string) =>
  (await Array.fromAsync(crosswind.read(channel))).map(({ data }) => data)

test('a copy of the log has what was stored before, and a server begins with it', async (t) => {
  const folder = temporaryFolder(t)
  const crosswind = await open(t, { storage: { kind: 'sqlite', folder } })
  for (const text of ['one', 'two']) await crosswind.publish('room.1', text)
  const copy = join(folder, 'copies', 'monday.db')
  const head = await crosswind.backup(copy)
  await crosswind.publish('room.1', 'three')
  assert.equal(head, 2)
  const restored = join(folder, 'restored')
  mkdirSync(restored)
  copyFileSync(copy, join(restored, 'log.db'))
  const other = await open(t, { storage: { kind: 'sqlite', folder: restored } })
  assert.deepEqual(await textsOn(other, 'room.1'), ['one', 'two'])
  assert.deepEqual(await textsOn(crosswind, 'room.1'), ['one', 'two', 'three'])
})

test('a log’s file is copied and checked without its server, and says whether one has it open', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'log.db')
  const crosswind = await open(t, { storage: { kind: 'sqlite', folder } })
  for (const text of ['one', 'two']) await crosswind.publish('room.1', text)
  assert.equal(isLocked(file), true)
  const copy = join(folder, 'copy.db')
  assert.equal(copyLogFile(file, copy), 2)
  await crosswind.close({ drainMs: 0 })
  assert.equal(isLocked(file), false)
  checkLogFile(copy)
  truncateSync(copy, 6000)
  assert.throws(() => checkLogFile(copy), LogFileError)
})

test('a program has settings of its own beside the limits of Crosswind', async (t) => {
  const schema = z.strictObject({
    ownPort: whole(0, 65_535, 8443).describe('Port for the pump'),
    limits: engineShape.limits,
  })
  const keys = keysOf(schema, { prefix: 'PUMP' })
  const given = checked(schema, keys, { limits: { messagesPerSecond: 5 } }, 'pump.json', '.')
  assert.deepEqual([given.ownPort, given.limits.messagesPerSecond], [8443, 5])
  assert.equal((await open(t, { limits: given.limits })).limits.messagesPerSecond, 5)
  const { flag, variable, meaning, allowed, initial } = keys[0] ?? assert.fail()
  assert.deepEqual(
    [flag, variable, meaning, allowed, initial],
    ['--own-port', 'PUMP_OWN_PORT', 'Port for the pump', 'whole numbers from 0 to 65535', 8443],
  )
  assert.throws(() => checked(schema, keys, { limits: { maxWindow: 1 } }, 'pump.json', '.'), {
    name: 'ConfigError',
    message: /^There is no key limits\.maxWindow \(from pump\.json\); did you mean limits\.maxWindows\?/,
  })
})

test('a copy does not replace a file, and a log in memory cannot be copied', async (t) => {
  const folder = temporaryFolder(t)
  const crosswind = await open(t, { storage: { kind: 'sqlite', folder } })
  await crosswind.publish('room.1', 'one')
  const copy = join(folder, 'copy.db')
  await crosswind.backup(copy)
  await assert.rejects(crosswind.backup(copy), { message: /copy\.db exists; name a new file\.$/ })
  const inMemory = await open(t)
  await assert.rejects(inMemory.backup(copy), { message: /the log is not in a file/ })
})

test('a document’s history is its updates in order, which reproduce it', async (t) => {
  const { provide, crosswind } = await startDocuments(t)
  const provider = provide()
  const text = provider.doc.getText('text')
  for (const word of ['one ', 'two ', 'three']) {
    text.insert(text.length, word)
    await provider.whenSaved()
  }
  const again = new Y.Doc()
  const seen: string[] = []
  for await (const { update, seq, at } of crosswind.history('doc.1')) {
    Y.applyUpdate(again, update)
    seen.push(`${seq}: ${again.getText('text')}`)
    assert.ok(at > 0)
  }
  assert.deepEqual(seen, ['1: one ', '2: one two ', '3: one two three'])
  await assert.rejects(crosswind.history('room.1').next(), { code: 'bad-channel' })
})

test('documents whose channels are not declared for a while keep their text, whatever else is stored meanwhile', async (t) => {
  const storage = { kind: 'sqlite', folder: temporaryFolder(t) } as const
  const limits = { logMessages: 100, messagesPerSecond: 100_000 }
  const before = await startDocuments(t, { storage, limits })
  const provider = before.provide()
  const text = provider.doc.getText('text')
  for (let count = 0; count < 50; count += 1) {
    text.insert(text.length, `${count} `)
    await provider.whenSaved()
  }
  provider.destroy()
  await before.stop()
  const without = await open(t, {
    storage,
    limits,
    channels: { 'room.*': { kind: 'json' }, 'others.*': { kind: 'yjs' } },
  })
  for (let count = 0; count < 500; count += 1) await without.publish('room.1', count)
  await without.close({ drainMs: 0 })
  const after = await open(t, { storage, limits })
  assert.equal(String((await after.document('doc.1')).getText('text')), String(text))
})

test('a client that reads large channels repeatedly is slowed down, and others are not', async (t) => {
  stopClock(t)
  const { crosswind, origin } = await start(t)
  const large = 'x'.repeat(900_000)
  for (let count = 0; count < 3; count += 1) await crosswind.publish('room.1', large)
  const ask = async (http: HttpClient) => {
    const { status, body } = await http.ask({ path: '/realtime/channels/room.1?after=start' })
    const text = await textOf(body)
    return status === 200 ? JSON.parse(text).messages[0].body.data.length : JSON.parse(text).code
  }
  const open = () => {
    const http = connectHttp('1.1', origin, null)
    t.after(() => http.close())
    return http
  }
  const greedy = open()
  const answers = new Set()
  for (let count = 0; count < 100; count += 1) answers.add(await ask(greedy))
  assert.deepEqual(answers, new Set([900_000, 'too-fast']))
  assert.equal(await ask(open()), 900_000)
})
