// Checks that a log is replayed at its own pace or faster, again or once, and says why it ends.

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createManualTime } from '../../wire/manual-time.ts'
import { checksum } from '../frames/windsonic-frame.ts'
import { openRecorded, type RecordedOpening } from './recorded.ts'

const stamped = (seconds: number, text: string) => `${1_777_708_800 + seconds} ${text}\n`

/** Told from others by the node letter, which is what the tests hear of it. */
function frame(node: string): string {
  const body = `${node},229,002.74,M,00,`
  return `\x02${body}\x03${checksum(body)}`
}

const log = stamped(0, frame('A')) + stamped(0.25, frame('B')) + stamped(2, frame('C'))

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
      void heard.push(`${Buffer.from(bytes).toString('latin1').slice(1, 2)}@${at - startAt}`),
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
  assert.deepEqual(heard, ['open', 'A@0'])
  await pass(1950)
  assert.deepEqual(heard, ['open', 'A@0', 'B@250'])
  await pass(50)
  assert.deepEqual(heard, ['open', 'A@0', 'B@250', 'C@2000', ended])
})

test('ten times as fast, and half as fast', async () => {
  const fast = replay(log, { pace: 10 })
  await fast.pass(200)
  assert.deepEqual(fast.heard, ['open', 'A@0', 'B@25', 'C@200', ended])
  const slow = replay(log, { pace: 0.5 })
  await slow.pass(4000)
  assert.deepEqual(slow.heard, ['open', 'A@0', 'B@500', 'C@4000', ended])
})

test('over and over, with a pause between', async () => {
  const { heard, pass, source } = replay(log, { repeats: true })
  await pass(3000)
  assert.deepEqual(heard, ['open', 'A@0', 'B@250', 'C@2000', 'A@2250', 'B@2500'])
  await source.stop()
})

test('bare bytes come at the rate', async () => {
  const { heard, pass } = replay(['A', 'B', 'C'].map((node) => `${frame(node)}\r\n`).join(''), {
    rateHz: 2,
    pace: 2,
  })
  await pass(500)
  assert.deepEqual(heard, ['open', 'A@0', 'B@250', 'C@500', ended])
})

test('late timers make nothing drift; a short stall is caught up with, a long one is not', async () => {
  const bare = `${frame('X')}\r\n`.repeat(1000)
  const { heard, pass, time } = replay(bare)
  await pass(1000)
  time.stall(5000)
  await pass(1000)
  assert.equal(heard.filter((text) => text.startsWith('X')).length, 1 + 4 + 20 + 4)
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

test('a log without a frame closes at once, however long it is, and never opens', async () => {
  for (const text of ['\n\n', 'no wind here\n', stamped(0, 'no wind here'), stamped(0, '\x02Q,229,002.74,M')])
    for (const times of [1, 10_000]) {
      const { heard, pass } = replay(text.repeat(times), { repeats: true })
      await pass(0)
      assert.deepEqual(heard, [
        '/logs/wind.txt: nothing in the log can be replayed, it holds no whole frame of a WindSonic in its first 20000 lines, Infinity',
      ])
    }
})

test('a log is not looked through for ever', async () => {
  const { heard, pass } = replay('no wind here\n'.repeat(20_000) + log)
  await pass(0)
  assert.equal(heard.length, 1)
  assert.match(heard[0] ?? '', /nothing in the log can be replayed/)
})

test('stopped, nothing more is heard and no timer waits', async () => {
  const { heard, pass, source, time } = replay(log)
  await pass(300)
  await source.stop()
  await pass(10_000)
  assert.deepEqual(heard, ['open', 'A@0', 'B@250'])
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
  await writeFile(path, stamped(0, frame('A')) + stamped(0, frame('B')), 'latin1')
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
  assert.deepEqual(heard, ['open', `${frame('A')}\r\n`, `${frame('B')}\r\n`])
})
