// Revoked users, as the servers of a log know them, also after older revocations were joined.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Message } from '../../protocol/messages.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { ampleLimits } from '../log/log-testing.ts'
import { createMemoryLog } from '../log/memory-log.ts'
import { openSqliteLog } from '../log/sqlite-log.ts'
import { foldRevocations, Revocations, revocationsChannel, revocationsType } from './revocations.ts'

const dayMs = 86_400_000

const openLog = () =>
  createMemoryLog({
    epoch: 'life1',
    limits: ampleLimits,
    typeOf: () => revocationsType,
    now: () => 0,
    onFailure: assert.ifError,
  })

const draftOf = (user: string, count: number) =>
  ({
    id: `r-${count}`,
    channel: revocationsChannel,
    kind: 'revocation',
    from: 'r',
    at: 0,
    body: { revoked: [{ user }] },
  }) as const

const messageOf = (user: string, seq: number, acceptedAt = 0): Message<'revocation'> => ({
  ...draftOf(user, seq),
  seq,
  acceptedAt,
})

const at = (seq: number, epoch = 'life1') => ({ epoch, seq })

test('a server knows what was revoked before it began and hears of the rest, in the log’s order', async () => {
  const log = openLog()
  await log.append(draftOf('ada', 1), 0)
  const heard: string[] = []
  const revocations = await Revocations.follow(log, (user) => void heard.push(user))
  await log.append(draftOf('bob', 2), 0)
  assert.deepEqual(heard, ['ada', 'bob'])
  assert.deepEqual(revocations.position, { epoch: 'life1', seq: 2 })
  assert.deepEqual(
    [0, 1, 2].map((seq) => [revocations.isRevoked('ada', at(seq)), revocations.isRevoked('bob', at(seq))]),
    [
      [true, true],
      [false, true],
      [false, false],
    ],
  )
})

test('a revocation that is stored while a server reads the log is not missed', async () => {
  const log = openLog()
  const opening = Revocations.follow(log, () => undefined)
  await log.append(draftOf('ada', 1), 0)
  assert.equal((await opening).isRevoked('ada', at(0)), true)
})

test('joined revocations mean the same, repeated or joined again', () => {
  const messages = [messageOf('ada', 3), messageOf('bob', 5), messageOf('ada', 8)]
  const joined = { ...messageOf('', 8), body: foldRevocations(messages) }
  const again = { ...messageOf('', 9), body: foldRevocations([joined, ...messages, messageOf('cyd', 9)]) }
  const names = ['ada', 'bob', 'cyd']
  const known = (given: readonly Message<'revocation'>[]) => {
    const revocations = new Revocations(at(0), openLog())
    for (const message of given) revocations.take(message)
    return [2, 3, 4, 5, 7, 8].map((seq) => names.map((name) => revocations.isRevoked(name, at(seq))))
  }
  assert.deepEqual(known([joined]), known(messages))
  assert.deepEqual(known([again]), known([...messages, messageOf('cyd', 9)]))
  assert.deepEqual(foldRevocations([]), { revoked: [] })
})

test('a revocation is kept for longer than any permit lasts, then forgotten', () => {
  const messages = [messageOf('ada', 1), messageOf('bob', 2, 3 * dayMs)]
  assert.deepEqual(
    foldRevocations(messages).revoked.map(({ user }) => user),
    ['bob'],
  )
  const recent = [messageOf('ada', 1), messageOf('bob', 2, dayMs)]
  assert.equal(foldRevocations(recent).revoked.length, 2)
})

test('a user who was revoked again is forgotten by the newest time', () => {
  const messages = [messageOf('ada', 1), messageOf('ada', 2, 2 * dayMs), messageOf('bob', 3, 3 * dayMs)]
  assert.deepEqual(
    foldRevocations(messages).revoked.map(({ user, seq }) => [user, seq]),
    [
      ['ada', 2],
      ['bob', 3],
    ],
  )
})

test('a name like a property of every object is a user like others', () => {
  const revocations = new Revocations(at(0), openLog())
  assert.equal(revocations.isRevoked('constructor', at(0)), false)
  revocations.take(messageOf('__proto__', 1))
  assert.deepEqual(
    ['__proto__', 'constructor'].map((user) => revocations.isRevoked(user, at(0))),
    [true, false],
  )
})

test('in a log that continues an earlier one, what was revoked since is known; in any other it is not', async (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const open = () =>
    openSqliteLog({
      file,
      limits: ampleLimits,
      durability: 'process',
      typeOf: () => revocationsType,
      now: () => 0,
      random: Math.random,
      onFailure: assert.ifError,
    })
  const first = open()
  const before = (await Revocations.follow(first, () => undefined)).position
  await first.append(draftOf('ada', 1), 0)
  const { position: after } = await Revocations.follow(first, () => undefined)
  await first.close()
  const second = open()
  t.after(() => second.close())
  const revocations = await Revocations.follow(second, () => undefined)
  assert.notEqual(revocations.position.epoch, before.epoch)
  for (const position of [before, after]) assert.equal(await revocations.reachBack(position), true)
  assert.deepEqual(
    [before, after].map((position) => revocations.isRevoked('ada', position)),
    [true, false],
  )
  const elsewhere = await Revocations.follow(openLog(), () => undefined)
  assert.equal(await elsewhere.reachBack(after), false)
})
