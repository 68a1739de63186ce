// Contract tests for all logs: messages that are changed and erased later.

import assert from 'node:assert/strict'
import type { Draft, Message } from '../../protocol/messages.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { isChange } from './changes.ts'
import { erasureOf } from './expiries.ts'
import type { Log } from './log.ts'
import { countTo, cursorAt, draft, main, readAll, seqsOf, startMs, type TestLog } from './log-testing.ts'

const seed = Number(process.env.CROSSWIND_SEED ?? 1)

export const said = (id: string, data: unknown, channel = 'main'): Draft<'json'> => ({
  id,
  channel,
  kind: 'json',
  from: 'w1',
  at: 1000.5,
  body: { data, user: 'ann' },
})

/** Without `data`, it erases the message. */
export const changing = (id: string, seq: number, data?: unknown, channel = 'main'): Draft<'change'> => ({
  ...said(id, null, channel),
  kind: 'change',
  body: { seq, user: 'ann', ...(data !== undefined && { data }) },
})

/** The bodies of the kind `json`, by number, without what is undefined. */
export const bodiesOf = (messages: readonly Message[]) =>
  Object.fromEntries(
    messages
      .filter(({ kind }) => kind === 'json')
      .map(({ seq, body }) => [seq, JSON.parse(JSON.stringify(body))]),
  )

/** What each way of reading the channel has. */
export async function readings(log: Log) {
  const start = await cursorAt(log, 0)
  return {
    resumed: (await log.read(start, main)).messages,
    back: (await log.readBefore('main', 1000, 100)).messages,
    newest: (await log.snapshot(main)).messages,
  }
}

/** A channel's messages as a reader has them, by number; null if erased. */
type Copy = Map<number, unknown>

/** Puts later messages into a copy, each once, and applies changes to those that it has. */
function follow(copy: Copy, messages: readonly Message[]): void {
  for (const message of messages)
    if (isChange(message)) {
      const { seq, data = null } = message.body
      if (copy.has(seq)) copy.set(seq, data)
    } else add(copy, message)
}

function add(copy: Copy, { seq, body }: Message): void {
  assert.ok(!copy.has(seq), `message ${seq} was read twice`)
  copy.set(seq, JSON.parse(JSON.stringify(body)).data ?? null)
}

/** What a reader has that reads back in pages, while others write, and then follows from its first page. */
async function readBackAndFollow(log: Log, limit: number, write: () => Promise<void>): Promise<Copy> {
  const copy: Copy = new Map()
  const first = await log.readBefore('main', endless, limit)
  let page = first
  for (;;) {
    assert.ok(page.isOldest || page.messages.length === limit)
    for (const message of page.messages) add(copy, message)
    await write()
    if (page.isOldest) break
    page = await log.readBefore('main', page.messages[0]?.seq ?? 0, limit)
  }
  const { recovered, messages } = await readAll(log, first.head, main)
  assert.ok(recovered)
  follow(copy, messages)
  return copy
}

const endless = Number.MAX_SAFE_INTEGER
const byNumber = ([one]: [number, unknown], [other]: [number, unknown]) => one - other

export function testChanges(testLog: TestLog): void {
  testLog('reading back leaves out changes and erasures, which the limit does not count', async ({ log }) => {
    await log.append(said('w1-1', 'gone'), startMs)
    await log.append(erasureOf('main', 1, startMs), startMs)
    const { messages, isOldest } = await log.readBefore('main', endless, 1)
    assert.deepEqual([messages, isOldest], [[], true])
    for (const n of countTo(3)) await log.append(said(`w2-${n}`, n), startMs)
    for (const n of countTo(120)) await log.append(changing(`w3-${n}`, 3, n), startMs)
    await log.append(draft('w4-1'), startMs)
    const newest = await log.readBefore('main', endless, 3)
    assert.deepEqual([seqsOf(newest.messages), newest.isOldest], [[4, 5, 126], false])
    const oldest = await log.readBefore('main', 4, 3)
    assert.deepEqual(
      [bodiesOf(oldest.messages), oldest.isOldest],
      [{ 3: { data: 120, user: 'ann', changedAt: startMs } }, true],
    )
    const ofKind = await log.readBefore('main', endless, 2, 'json')
    assert.deepEqual([seqsOf(ofKind.messages), ofKind.isOldest], [[4, 5], false])
    assert.deepEqual(seqsOf((await log.readBefore('main', endless, 2, 'edit')).messages), [126])
  })

  testLog(
    'who reads back in pages and then follows from the first page misses nothing, and gets nothing twice',
    async ({ log }) => {
      const random = createSeededRandom(seed)
      const draw = (count: number) => Math.floor(random() * count)
      const model: Copy = new Map()
      let ids = 0
      const write = async () => {
        for (const _one of countTo(draw(6))) {
          ids += 1
          const id = `w1-${ids}`
          const known = [...model.keys()]
          const seq = known[draw(known.length)]
          const isErasing = draw(3) === 0
          if (seq === undefined || draw(2) === 0) model.set(await log.append(said(id, ids), startMs), ids)
          else {
            await log.append(changing(id, seq, isErasing ? undefined : ids), startMs)
            model.set(seq, isErasing ? null : ids)
          }
        }
      }
      for (const _round of countTo(8)) {
        const copy = await readBackAndFollow(log, 1 + draw(8), write)
        assert.deepEqual([...copy].sort(byNumber), [...model].sort(byNumber), `CROSSWIND_SEED=${seed}`)
      }
    },
    { messages: 10_000 },
  )

  testLog('whoever reads a changed message gets its newest content', async ({ log, seen }) => {
    await log.append(said('w1-1', 'old'), startMs)
    await log.append(said('w1-2', 'other'), startMs)
    await log.append(changing('w1-3', 1, 'new'), startMs + 1)
    await log.append(changing('w1-4', 1, 'newer'), startMs + 2)
    const changed = { data: 'newer', user: 'ann', changedAt: startMs + 2 }
    const { resumed, back, newest } = await readings(log)
    assert.deepEqual(bodiesOf(resumed), { 1: changed, 2: { data: 'other', user: 'ann' } })
    assert.deepEqual(back, resumed.slice(0, 2))
    assert.deepEqual(seqsOf(newest), [2, 4])
    assert.deepEqual(seqsOf(seen), [1, 2, 3, 4])
    assert.deepEqual(seen[3]?.body, { seq: 1, user: 'ann', data: 'newer' })
    assert.equal(await log.append(said('w1-1', 'old'), startMs), 1, 'a repeat of what was sent at first')
  })

  testLog('nothing is left of an erased message, nor of what it was changed to', async ({ log }) => {
    await log.append(said('w1-1', 'secret'), startMs)
    await log.append(changing('w1-2', 1, 'another secret'), startMs)
    await log.append(changing('w1-3', 1), startMs + 1)
    const { resumed, back, newest } = await readings(log)
    for (const messages of [resumed, back, newest]) assert.doesNotMatch(JSON.stringify(messages), /secret/)
    assert.deepEqual(bodiesOf(resumed), { 1: { user: 'ann', changedAt: startMs + 1 } })
    assert.deepEqual(bodiesOf(newest), bodiesOf(resumed))
    assert.doesNotMatch(JSON.stringify(await log.find(said('w1-1', ''))), /secret/)
  })

  testLog('a change has no effect on another channel, or on a kind of the application', async ({ log }) => {
    await log.append(said('w1-1', 'here'), startMs)
    await log.append({ ...said('w1-2', ''), kind: 'edit', body: { html: 'x' } } as Draft<'edit'>, startMs)
    await log.append(changing('w1-3', 1, 'there', 'other'), startMs)
    await log.append(changing('w1-4', 2), startMs)
    await log.append(changing('w1-5', 99, 'nowhere'), startMs)
    const { resumed } = await readings(log)
    assert.deepEqual(bodiesOf(resumed), { 1: { data: 'here', user: 'ann' } })
    assert.deepEqual(resumed.find(({ seq }) => seq === 2)?.body, { html: 'x' })
  })

  testLog(
    'what the log counts stays true when messages are changed, erased and dropped',
    async ({ log, failures }) => {
      const text = 'x'.repeat(100)
      for (let n = 1; n <= 60; n += 1) {
        await log.append(said(`w1-${n}`, text), startMs)
        await log.append(
          n % 2 === 0 ? changing(`w2-${n}`, 2 * n - 1) : changing(`w2-${n}`, 2 * n - 1, text),
          startMs,
        )
      }
      const [{ messages = 0, bytes = 0 } = {}] = await log.channels('', 1000, 10)
      const { back } = await readings(log)
      assert.deepEqual([messages, back.length], [10, 5])
      assert.ok(bytes <= 1500, `${bytes} bytes`)
      assert.deepEqual(failures, [])
    },
    { messages: 10, bytes: 1500 },
  )
}
