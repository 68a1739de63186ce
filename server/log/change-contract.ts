// Contract tests for all logs: messages that are changed and erased later.

import assert from 'node:assert/strict'
import type { Draft, Message } from '../../protocol/messages.ts'
import type { Log } from './log.ts'
import { cursorAt, main, seqsOf, startMs, type TestLog } from './log-testing.ts'

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

export function testChanges(testLog: TestLog): void {
  testLog('whoever reads a changed message gets its newest content', async ({ log, seen }) => {
    await log.append(said('w1-1', 'old'), startMs)
    await log.append(said('w1-2', 'other'), startMs)
    await log.append(changing('w1-3', 1, 'new'), startMs + 1)
    await log.append(changing('w1-4', 1, 'newer'), startMs + 2)
    const changed = { data: 'newer', user: 'ann', changedAt: startMs + 2 }
    const { resumed, back, newest } = await readings(log)
    assert.deepEqual(bodiesOf(resumed), { 1: changed, 2: { data: 'other', user: 'ann' } })
    assert.deepEqual(back, resumed)
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
      assert.deepEqual([messages, back.length], [10, 10])
      assert.ok(bytes <= 1500, `${bytes} bytes`)
      assert.deepEqual(failures, [])
    },
    { messages: 10, bytes: 1500 },
  )
}
