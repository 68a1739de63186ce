import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { isKind } from '../wire/messages.ts'
import { createSeededRandom } from '../wire/time.ts'
import { newEpoch } from './log.ts'
import { testLogContract } from './log-contract.ts'
import { ampleLimits, countTo, draft, main, newFile, seqsOf } from './log-testing.ts'
import { createMemoryLog } from './memory-log.ts'
import { openLog } from './open-log.ts'

testLogContract('memory', (parts) => createMemoryLog({ epoch: 'life1', ...parts }))

function openMemoryLog(limits = ampleLimits) {
  return createMemoryLog({ epoch: 'life1', limits, now: () => 0, onFailure: () => assert.fail() })
}

test('memory: followers are notified before append returns', () => {
  const log = openMemoryLog()
  const cursors: string[] = []
  log.follow((_message, cursor) => cursors.push(cursor))
  void log.append(draft('w1-1'), 1)
  assert.deepEqual(cursors, ['life1:1'])
})

test('memory: a draft that the log has forgotten leaves nothing behind', async () => {
  const log = openMemoryLog({ ...ampleLimits, messages: 2 })
  for (const id of ['w1-1', 'w1-2', 'w1-3']) await log.append(draft(id), 1)
  assert.equal(await log.append(draft('w1-1'), 1), 4)
})

test('an epoch is valid in a cursor', () => {
  for (const draw of [0, 0.5, 1 - Number.EPSILON])
    assert.match(
      newEpoch(() => draw),
      /^[a-z0-9]{8}$/,
    )
})

const probes = new Set(['probes'])
const probe = (n: number) =>
  ({ id: `p-${n}`, channel: 'probes', kind: 'probe', from: 'p', at: 1, body: { text: 'x' } }) as const

const nats = { servers: [], stream: '', replicas: 0, credentialsFile: null }
const sqs = { endpoint: null, region: '', queue: '', visibilitySeconds: 1, maxReceives: 1 }

for (const storage of ['memory', 'sqlite'] as const) {
  test(`${storage}: probes displace no page's message, are forgotten soon, and are numbered separately`, async (context) => {
    const dataFolder = dirname(newFile(context))
    const limits = { logMessages: 10, logBytes: 1_000_000, logHours: 1, maxChannels: 1 }
    let time = 1000
    const random = createSeededRandom(7)
    const open = async () => {
      const { log } = await openLog(
        { broker: 'embedded', nats, sqs, storage, durability: 'process', limits },
        {
          dataFolder,
          random,
          now: () => time,
          onFailure: (error) => assert.fail(String(error)),
        },
      )
      return log
    }
    let log = await open()
    context.after(() => log.close())
    const told: string[] = []
    log.follow(({ channel, seq }) => told.push(`${channel} ${seq}`))
    await log.append(draft('w1-1'), time)
    const { head: pageCursor } = await log.snapshot(main)
    const { head: before } = await log.snapshot(probes)
    await Promise.all(countTo(100).map((n) => log.append(probe(n), time)))
    await log.append(draft('w1-2'), time)
    assert.deepEqual([told[0], told[1], told[100], told[101]], ['main 1', 'probes 1', 'probes 100', 'main 2'])
    const missed = await log.read(pageCursor, main)
    assert.deepEqual([missed.recovered, seqsOf(missed.messages)], [true, [2]])
    const measured = await log.read(before, probes)
    assert.deepEqual([measured.recovered, measured.messages.length], [true, 100])
    assert.ok(measured.messages.every((message) => isKind(message, 'probe')))
    assert.deepEqual([...log.heads()], [['main', 2]])

    time += 61_000
    assert.equal((await log.read(before, probes)).recovered, false)
    assert.equal((await log.read(pageCursor, main)).recovered, true)
    if (storage === 'memory') return
    await log.close()
    log = await open()
    assert.equal((await log.read({ ...before, seq: 100 }, probes)).recovered, true)
    assert.equal(await log.append(probe(101), time), 101)
  })
}
