// Log files that were set back, damaged or lost: no client silently misses a message.

import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { isRefusal } from '../../protocol/refusal.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { mountSmallDisk } from '../../scripts/small-disk.ts'
import {
  copyLog,
  countTo,
  draft,
  fill,
  given,
  littleMemory,
  main,
  newFile,
  readAll,
  toyTypes,
} from './log-testing.ts'
import { openLog } from './open-log.ts'
import { LogFileError } from './sqlite-file.ts'
import { openSqliteLog } from './sqlite-log.ts'

/** SQLite without a broker. */
const embedded = {
  broker: 'embedded',
  nats: { servers: [], stream: 'crosswind', replicas: 0, credentialsFile: null },
  sqs: { queue: 'crosswind', region: 'eu-north-1', endpoint: null, visibilitySeconds: 30, maxReceives: 3 },
  storage: 'sqlite',
  durability: 'process',
  limits: {
    logMessages: 1000,
    logBytes: 1e7,
    logHours: 1,
    memoryMessages: 1000,
    memoryBytes: 1e7,
    maxChannels: 10,
  },
} as const

function open(file: string, memory?: typeof littleMemory) {
  const losses: string[] = []
  const onLoss = (sentence: string) => void losses.push(sentence)
  const log = openSqliteLog({ ...given, file, onLoss, ...(memory && { memory }) })
  return { log, losses }
}

/** Replaces a log's files with a copy's, some of which may be missing. */
function restore(copy: string, file: string): void {
  for (const end of ['', '-wal', '-recent']) {
    rmSync(`${file}${end}`, { force: true })
    if (existsSync(`${copy}${end}`)) copyFileSync(`${copy}${end}`, `${file}${end}`)
  }
}

for (const isRunning of [false, true])
  test(`a copy of ${isRunning ? 'the running' : 'a closed'} log is restored: later cursors get a snapshot, earlier ones what follows`, async (context) => {
    const file = newFile(context)
    const yesterday = open(file)
    await fill(yesterday.log, 5)
    const { head: early } = await yesterday.log.snapshot(main)
    if (!isRunning) await yesterday.log.close()
    const copy = copyLog(file)
    const today = isRunning ? yesterday : open(file)
    await fill(today.log, 5, 'w2')
    const { head: late } = await today.log.snapshot(main)
    await today.log.close()
    restore(copy, file)

    const restored = open(file)
    await fill(restored.log, 10, 'w3')
    const before = await readAll(restored.log, early, main)
    const after = await readAll(restored.log, late, main)
    await restored.log.close()
    assert.deepEqual([after.recovered, before.recovered, before.messages.length], [false, true, 10])
    assert.equal(restored.losses.length, 1)
    assert.match(restored.losses[0] ?? '', /restored from an older copy/)
  })

test('when the write-ahead log is missing, the start says so, and later cursors get a snapshot', async (context) => {
  const file = newFile(context)
  const first = open(file)
  await fill(first.log, 20)
  const { head } = await first.log.snapshot(main)
  const copy = copyLog(file)
  await first.log.close()
  rmSync(`${copy}-wal`)

  const second = open(copy)
  assert.match(second.losses.join(), /log\.db\.copy-wal is missing/)
  await fill(second.log, 30, 'w2')
  assert.equal((await second.log.read(head, main)).recovered, false)
  await second.log.close()
})

for (const end of ['-wal', '']) {
  test(`when bytes of log.db${end} are damaged anywhere, it is refused, or nobody misses a message or gets another one`, async (context) => {
    const file = newFile(context)
    const whole = open(file)
    await fill(whole.log, 40, 'w1', 'x'.repeat(300))
    const { head } = await whole.log.snapshot(main)
    const { messages: stored } = await readAll(whole.log, { ...head, seq: 0 }, main)
    if (end === '') await whole.log.close()
    const copy = copyLog(file)
    await whole.log.close()
    const bytes = readFileSync(`${copy}${end}`)
    const random = createSeededRandom(7)
    const counts = { refused: 0, cut: 0, whole: 0 }
    for (const _place of countTo(60)) {
      const damaged = `${file}.damaged`
      restore(copy, damaged)
      const index = Math.floor(random() * bytes.length)
      const damage = bytes.subarray(index, index + 7).map((byte) => byte ^ 0x55)
      writeFileSync(
        `${damaged}${end}`,
        Buffer.concat([bytes.subarray(0, index), damage, bytes.subarray(index + 7)]),
      )
      try {
        const { log, losses } = open(damaged, littleMemory)
        const atStart = losses.length
        await fill(log, 60, 'w2')
        const late = await readAll(log, head, main)
        const early = await readAll(log, { ...head, seq: 0 }, main)
        await log.close()
        const kept = early.messages.filter(({ id }) => id.startsWith('w1'))
        if (early.recovered) assert.deepEqual(kept, stored.slice(0, kept.length), `damaged at ${index}`)
        const isWhole = early.recovered && kept.length === stored.length
        if (!isWhole) assert.ok(losses.length > 0, `damaged at ${index}`)
        if (late.recovered) assert.equal(late.messages.length, 60, `damaged at ${index}`)
        if (end === '-wal' && kept.length < stored.length)
          assert.deepEqual([atStart, late.recovered], [1, false])
        counts[isWhole ? 'whole' : 'cut'] += 1
      } catch (error) {
        if (!(error instanceof LogFileError)) throw error
        counts.refused += 1
      }
    }
    context.diagnostic(JSON.stringify(counts))
    assert.ok(end === '' ? counts.refused > 0 : counts.cut > 0)
  })
}

test('a message damaged since the start costs only those who read it a snapshot', async (context) => {
  const file = newFile(context)
  const { log, losses } = open(file, littleMemory)
  await fill(log, 20)
  const other = new DatabaseSync(file)
  other.exec("UPDATE message SET body = replace(body, 'x', 'y') WHERE seq = 10")
  other.close()
  const { head } = await log.snapshot(main)
  const over = await log.read({ ...head, seq: 5 }, main)
  const after = await log.read({ ...head, seq: 10 }, main)
  await log.close()
  assert.deepEqual([over.recovered, after.recovered, after.messages.length], [false, true, 10])
  assert.match(losses.join(), /damaged after message 5 of main/)
})

test('a full disk refuses messages by name until there is room, and a start says what is missing', async (context) => {
  const file = newFile(context)
  using disk = mountSmallDisk(dirname(file), 1_048_576)
  if (!disk) return context.skip('this user may not mount a small disk')
  const filler = join(dirname(file), 'filler')
  const fillUp = () => writeFileSync(filler, Buffer.alloc(2_000_000))
  const failures: unknown[] = []
  const log = openSqliteLog({ ...given, file, onFailure: (error) => failures.push(error) })
  const append = async (n: number) => log.append(draft(`w1-${n}`, 'x'.repeat(20_000)), 1)
  assert.equal(await append(1), 1)
  assert.throws(fillUp, { code: 'ENOSPC' })
  for (const n of [2, 3]) await assert.rejects(append(n), { code: 'log-full' })
  rmSync(filler)
  assert.deepEqual([await append(3), await append(2)], [2, 3])
  await log.close()
  assert.ok(failures.length === 2 && failures.every((error) => isRefusal(error, 'log-full')))

  const again = openSqliteLog({ ...given, file })
  await again.append(draft('w2-1'), 1)
  assert.throws(fillUp, { code: 'ENOSPC' })
  await again.close()
  rmSync(filler)
  // Nothing was reported: `onFailure` would throw.
  await openSqliteLog({ ...given, file }).close()
  assert.throws(fillUp, { code: 'ENOSPC' })
  assert.throws(() => openSqliteLog({ ...given, file }), {
    name: 'LogFileError',
    message: `There is no room on the disk for the log's file ${file}: make some, or name another folder.`,
  })
})

test('a full disk is an outage of the log until there is room again', async (context) => {
  const dataFolder = dirname(newFile(context))
  using disk = mountSmallDisk(dataFolder, 1_048_576)
  if (!disk) return context.skip('this user may not mount a small disk')
  const filler = join(dataFolder, 'filler')
  let time = 0
  const { log, outage } = await openLog(embedded, {
    dataFolder,
    typeOf: toyTypes(),
    now: () => time,
    random: createSeededRandom(1),
    onFailure: assert.ifError,
  })
  const append = async (n: number) => log.append(draft(`w1-${n}`, 'x'.repeat(20_000)), 1)
  await append(1)
  assert.equal(outage?.(), null)
  assert.throws(() => writeFileSync(filler, Buffer.alloc(2_000_000)), { code: 'ENOSPC' })
  await assert.rejects(append(2), { code: 'log-full' })
  time += 60_000
  assert.deepEqual(outage?.(), {
    reason: 'there is no room on the disk for its file',
    since: 0,
    isCutOff: false,
  })
  rmSync(filler)
  assert.equal(outage?.(), null)
  await log.close()
})
