// The paged read of a channel in a log that keeps little.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cursor, Message } from '../../protocol/messages.ts'
import { ampleLimits, given, littleMemory, newFile, toyTypes } from '../log/log-testing.ts'
import { createMemoryLog } from '../log/memory-log.ts'
import { openLogFile } from '../log/sqlite-file.ts'
import { createSqliteLog } from '../log/sqlite-log.ts'
import { pageAfter, readPage } from './channel-pages.ts'

async function openLog(messages: number) {
  const limits = { ...ampleLimits, messages, bytes: 10_000_000 }
  let time = 0
  const log = createMemoryLog({
    epoch: 'life1',
    limits,
    typeOf: toyTypes(),
    now: () => time,
    onFailure: (error) => assert.fail(`${error}`),
  })
  async function publish(channel: string, from: number, to: number, characters = 0): Promise<void> {
    const text = 'x'.repeat(characters)
    for (let n = from; n <= to; n += 1)
      await log.append(
        { id: `w-${channel}${n}`, channel, kind: 'json', from: 'w', at: 0, body: { data: [n, text] } },
        0,
      )
  }
  const read = async (channel: string, from: Cursor | null) => {
    const { messages, cursor, recovered } = await readPage(log, channel, from)
    return [recovered, messages.map(({ seq }) => seq), cursor.seq]
  }
  const advance = (ms: number) => {
    time += ms
  }
  /** As a client reads, of a channel whose messages, by their count, belong to these series. */
  const readNewest = async (
    channel: string,
    after: string,
    seriesAt: (count: number) => number | null = () => null,
  ) => {
    const seriesOf = ({ body }: Message) => {
      const series = seriesAt((body as { data: [number] }).data[0])
      return series === null ? null : String(series)
    }
    const page = await pageAfter(log, channel, after, { isWhole: false, seriesOf })
    return [page.recovered, page.messages.map(({ seq }) => seq), page.cursor.seq] as const
  }
  return { publish, read, readNewest, advance }
}

const at = (seq: number, epoch = 'life1') => ({ epoch, seq })

test('a channel is read from a cursor, and from the beginning', async () => {
  const { publish, read } = await openLog(100)
  assert.deepEqual(await read('quiet', null), [true, [], 0])
  await publish('quiet', 1, 2)
  await publish('busy', 1, 3)
  assert.deepEqual(await read('quiet', null), [true, [1, 2], 5])
  assert.deepEqual(await read('quiet', at(1)), [true, [2], 5])
})

test('when the log has dropped messages, each channel says whether it missed one of its own', async () => {
  const { publish, read, advance } = await openLog(5)
  await publish('quiet', 1, 2)
  await publish('busy', 1, 20)
  assert.deepEqual(await read('quiet', at(1)), [true, [2], 22], 'nothing missed')
  assert.deepEqual(await read('quiet', null), [true, [1, 2], 22])
  assert.deepEqual(await read('busy', at(10)), [false, [20, 21, 22], 22])
  assert.deepEqual(await read('busy', null), [true, [20, 21, 22], 22])
  advance(ampleLimits.ageMs + 1)
  assert.deepEqual(await read('quiet', at(2)), [true, [], 22], 'nothing missed')
  assert.deepEqual(await read('quiet', at(1)), [false, [2], 22], 'the newest stays')
  assert.deepEqual(await read('quiet', null), [true, [2], 22])
})

test('a cursor of another log, or from after the end, is not recovered', async () => {
  const { publish, read } = await openLog(5)
  await publish('quiet', 1, 2)
  for (const cursor of [at(2, 'life2'), at(3)])
    assert.deepEqual(await read('quiet', cursor), [false, [1, 2], 2])
})

test('of messages that supersede others, a client reads the newest of each series alone, over all that is kept', async () => {
  const { publish, readNewest } = await openLog(10_000)
  await publish('busy', 1, 5700)
  assert.deepEqual(await readNewest('busy', 'start', (count) => count % 3), [true, [5698, 5699, 5700], 5700])
  assert.deepEqual(await readNewest('busy', 'life1:5698', (count) => count % 3), [true, [5699, 5700], 5700])
  const [, all, reached] = await readNewest('busy', 'start')
  assert.deepEqual([all.length, reached], [500, 500], 'without series')
})

test('what nothing supersedes comes in portions, also beside series', async () => {
  const { publish, readNewest } = await openLog(10_000)
  await publish('busy', 1, 400, 10_000)
  const everyTenth = (count: number) => (count % 10 === 0 ? 0 : null)
  const [, first, reached] = await readNewest('busy', 'start', everyTenth)
  assert.ok(first.length > 100 && first.length < 250, `${first.length}`)
  const [, rest, end] = await readNewest('busy', `life1:${reached}`, everyTenth)
  assert.ok(rest.length > 100)
  assert.equal(end > reached, true)
})

test('a reader of the newest is told once that it missed something', async () => {
  const { publish, readNewest } = await openLog(1000)
  await publish('busy', 1, 3000)
  assert.deepEqual(await readNewest('busy', 'life1:5', (count) => count % 2), [false, [2999, 3000], 3000])
  assert.deepEqual(await readNewest('busy', 'life1:3000', (count) => count % 2), [true, [], 3000])
})

test('a reader skips unreadable messages once, and is told that it missed something', async (context) => {
  const file = openLogFile(newFile(context))
  const { database } = file
  const losses: string[] = []
  const log = createSqliteLog(file, {
    ...given,
    limits: { ...ampleLimits, messages: 5000 },
    memory: littleMemory,
    onLoss: (sentence) => losses.push(sentence),
  })
  context.after(() => log.close())
  for (let n = 1; n <= 1200; n += 1)
    await log.append({ id: `w-${n}`, channel: 'room', kind: 'json', from: 'w', at: 0, body: { data: n } }, 0)
  const readOn = async (from: Cursor | null) => {
    const pages: (readonly [recovered: boolean, count: number, reached: number])[] = []
    for (let after = from; pages.length < 9; ) {
      const { messages, cursor, recovered } = await readPage(log, 'room', after)
      pages.push([recovered, messages.length, cursor.seq])
      if (cursor.seq === 1200) break
      after = cursor
    }
    return pages
  }
  database.exec(`UPDATE message SET body = '{"data":0}' WHERE seq = 700`)
  const first = [true, 500, 500]
  const passed = [false, 1, 1200]
  assert.deepEqual(await readOn(null), [first, passed])
  const { head } = await log.snapshot(new Set())
  assert.deepEqual(await readOn({ ...head, seq: 600 }), [passed])
  assert.deepEqual(await readOn({ ...head, seq: 700 }), [[true, 500, 1200]])
  database.exec(`UPDATE message SET body = '{"data":0}' WHERE seq = 3`)
  assert.deepEqual(await readOn(null), [passed])
  assert.match(losses[0] ?? '', /damaged after message 500 of room/)
})
