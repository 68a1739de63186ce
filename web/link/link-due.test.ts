// What a stream catches up with is told with the age that it has, and with when it came.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../server/wire/envelope.ts'
import { openLink } from './testing-link.ts'

const hourMs = 3_600_000

function openTold() {
  const told: { readonly seq: number; readonly receivedAt: number; readonly dueAt: number }[] = []
  const opened = openLink({
    onMessage: ({ seq }, receivedAt, dueAt) => void told.push({ seq, receivedAt, dueAt }),
  })
  const { time, newest } = opened

  /** It comes now; the log took it at `acceptedAt`. */
  function take(seq: number, acceptedAt: number): void {
    const sent = { id: `sensor-${seq}`, channel: 'wind', from: 'sensor', at: acceptedAt }
    const message: Message = { ...sent, kind: 'edit', body: { html: '' }, seq, acceptedAt }
    newest().frame({ type: 'message', message }, time.now())
  }

  /** One exchange with a server whose clock is that far ahead of this window's. */
  function compareClocks(aheadMs: number): void {
    time.advance(250)
    const [sent, at] = [time.now(), time.now() + aheadMs]
    newest().frame({ type: 'clock', sent, received: at, at }, sent)
  }

  function comeBack(cursor: string): void {
    newest().end()
    time.advance(1000)
    newest().welcome({ cursor })
  }

  /** How long before it came each was due, by its number; and that all came when they came. */
  function late(): [number, number][] {
    return told.map(({ seq, receivedAt, dueAt }) => [seq, receivedAt - dueAt])
  }

  return { ...opened, take, compareClocks, comeBack, late, told }
}

test('up to the welcome’s cursor a message is as old as the log says, after it as new as it comes', () => {
  const { time, newest, take, late, told } = openTold()
  newest().welcome({ cursor: 'life1:7' })
  take(6, time.now() - 6 * hourMs)
  take(7, time.now() - 20)
  take(8, time.now() - 300)
  assert.deepEqual(late(), [
    [6, 6 * hourMs],
    [7, 20],
    [8, 0],
  ])
  assert.deepEqual(new Set(told.map(({ receivedAt }) => receivedAt)), new Set([time.now()]))
})

test('so does each stream that resumes, and one of a new log', () => {
  const { time, newest, take, comeBack, late } = openTold()
  newest().welcome({ cursor: 'life1:0' })
  take(1, time.now() - 40)
  comeBack('life1:3')
  take(3, time.now() - hourMs)
  comeBack('life2:1')
  take(1, time.now() - 2 * hourMs)
  take(2, time.now() - 30)
  assert.deepEqual(late(), [
    [1, 0],
    [3, hourMs],
    [1, 2 * hourMs],
    [2, 0],
  ])
})

for (const aheadMs of [hourMs, -hourMs]) {
  test(`the comparison of the stream before says it by this window’s clock, the server ${aheadMs} ms ahead`, () => {
    const { time, newest, take, compareClocks, comeBack, late } = openTold()
    newest().welcome()
    compareClocks(aheadMs)
    comeBack('life1:3')
    take(3, time.now() + aheadMs - 20_000)
    const [[, lateMs] = assert.fail('nothing was told')] = late()
    // A stamp is a float, and what is told holds for a drifting clock.
    assert.equal(Math.round(lateMs), 20_000)
  })
}
