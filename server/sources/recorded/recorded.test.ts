// Checks that a log is replayed at its own pace or faster, again or once, and says why it ends.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createManualTime } from '../../wire/manual-time.ts'
import { openRecorded, type RecordedOpening } from './recorded.ts'

const stamped = (seconds: number, text: string) => `${1_777_708_800 + seconds} ${text}\n`
const log = stamped(0, 'a') + stamped(0.25, 'b') + stamped(2, 'c')

/** All that is ready happens within one turn of the event loop, since this log is no file. */
function replay(text: string, options: Partial<RecordedOpening> = {}) {
  const time = createManualTime()
  const startAt = time.now()
  const heard: string[] = []
  const source = openRecorded({
    path: '/logs/wind.txt',
    timers: time,
    repeats: false,
    async *read() {
      yield Buffer.from(text, 'latin1')
    },
    onOpen: () => void heard.push('open'),
    onBytes: (bytes, at) =>
      void heard.push(`${Buffer.from(bytes).toString('latin1').trim()}@${at - startAt}`),
    onClose: ({ reason, retryInMs }) => void heard.push(`${reason}, ${retryInMs}`),
    ...options,
  })
  return {
    source,
    heard,
    time,
    async pass(ms: number) {
      await turn()
      for (let passed = 0; passed < ms; passed += 25) {
        time.advance(25)
        await turn()
      }
    },
  }
}

const ended = '/logs/wind.txt: the log has ended, Infinity'

test('at its own distances, with the stamps of now', async () => {
  const { heard, pass } = replay(log)
  assert.deepEqual(heard, [], 'nothing is heard before the opening call returned')
  await pass(0)
  assert.deepEqual(heard, ['open', 'a@0'])
  await pass(1950)
  assert.deepEqual(heard, ['open', 'a@0', 'b@250'])
  await pass(50)
  assert.deepEqual(heard, ['open', 'a@0', 'b@250', 'c@2000', ended])
})

test('ten times as fast, and half as fast', async () => {
  const fast = replay(log, { pace: 10 })
  await fast.pass(200)
  assert.deepEqual(fast.heard, ['open', 'a@0', 'b@25', 'c@200', ended])
  const slow = replay(log, { pace: 0.5 })
  await slow.pass(4000)
  assert.deepEqual(slow.heard, ['open', 'a@0', 'b@500', 'c@4000', ended])
})

test('over and over, with a pause between', async () => {
  const { heard, pass, source } = replay(log, { repeats: true })
  await pass(3000)
  assert.deepEqual(heard, ['open', 'a@0', 'b@250', 'c@2000', 'a@2250', 'b@2500'])
  await source.stop()
})

test('bare bytes come at the rate', async () => {
  const { heard, pass } = replay('a\r\nb\r\nc\r\n', { rateHz: 2, pace: 2 })
  await pass(500)
  assert.deepEqual(heard, ['open', 'a@0', 'b@250', 'c@500', ended])
})

test('late timers make nothing drift; a short stall is caught up with, a long one is not', async () => {
  const bare = 'x\r\n'.repeat(1000)
  const { heard, pass, time } = replay(bare)
  await pass(1000)
  time.stall(5000)
  await pass(1000)
  assert.equal(heard.filter((text) => text.startsWith('x')).length, 1 + 4 + 20 + 4)
  time.stall(3_600_000)
  await pass(1000)
  assert.ok(heard.length < 40, `${heard.length}`)
})

test('bad lines are passed over, counted and named', async () => {
  const named: string[] = []
  const { heard, pass, source } = replay(`when what\n${log}no time\n`, {
    onBadLine: (number, text) => void named.push(`${number} ${text}`),
  })
  await pass(2000)
  assert.deepEqual(named, ['1 when what', '5 no time'])
  assert.equal(source.badLines, 2)
  assert.equal(
    heard.at(-1),
    '/logs/wind.txt: the log has ended; lines without a time: 2, the first is line 1, Infinity',
  )
})

test('bad lines are counted once, however often the log is repeated', async () => {
  const { pass, source } = replay(`${log}no time\n`, { repeats: true })
  await pass(10_000)
  assert.equal(source.badLines, 1)
  await source.stop()
})

test('a log that says nothing closes even where it repeats', async () => {
  const { heard, pass } = replay('\n\n', { repeats: true })
  await pass(0)
  assert.deepEqual(heard, ['/logs/wind.txt: nothing in the log can be replayed, Infinity'])
})

test('stopped, nothing more is heard and no timer waits', async () => {
  const { heard, pass, source, time } = replay(log)
  await pass(300)
  await source.stop()
  await pass(10_000)
  assert.deepEqual(heard, ['open', 'a@0', 'b@250'])
  assert.equal(time.pending(), 0)
})

test('stopped before it began, nothing is heard', async () => {
  const { heard, pass, source } = replay(log)
  await source.stop()
  await pass(1000)
  assert.deepEqual(heard, [])
})

test('a pace or rate that is none is refused', () => {
  for (const options of [
    { pace: 0 },
    { pace: Number.NaN },
    { rateHz: -1 },
    { rateHz: Number.POSITIVE_INFINITY },
  ])
    assert.throws(() => replay(log, options), RangeError)
})

async function closing(path: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  openRecorded({
    path,
    timers: createManualTime(),
    onOpen: () => assert.fail('it opened'),
    onBytes: () => assert.fail('bytes came'),
    onClose: ({ reason }) => resolve(reason),
  })
  return promise
}

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-recorded-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

test('a file that is missing, empty or none says so', async (t) => {
  const folder = await folderFor(t)
  const [missing, empty] = [join(folder, 'missing'), join(folder, 'empty')]
  await writeFile(empty, '')
  assert.equal(await closing(missing), `${missing}: the log cannot be read, there is no such file`)
  assert.equal(await closing(empty), `${empty}: the log is empty`)
  assert.equal(await closing(folder), `${folder}: this is no file: name a raw log of a WindSonic`)
})

test('a file is read', async (t) => {
  const path = join(await folderFor(t), 'wind.txt')
  await writeFile(path, stamped(0, 'a') + stamped(0, 'b'))
  const heard: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  openRecorded({
    path,
    repeats: false,
    timers: createManualTime(),
    onOpen: () => void heard.push('open'),
    onBytes: (bytes) => void heard.push(Buffer.from(bytes).toString('latin1')),
    onClose: () => resolve(),
  })
  await promise
  assert.deepEqual(heard, ['open', 'a\r\n', 'b\r\n'])
})
