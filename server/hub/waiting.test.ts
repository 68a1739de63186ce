import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../wire/manual-time.ts'
import { settled } from './testing.ts'
import { createWaitingPolls } from './waiting.ts'

function openWaiting() {
  const time = createManualTime()
  const waiting = createWaitingPolls(time)
  let done: string[] = []
  return {
    time,
    waiting,
    wait(
      name: string,
      channels: readonly string[],
      { holdMs = 1000, signal = new AbortController().signal } = {},
    ) {
      void waiting.wait(new Set(channels), holdMs, signal).then(() => done.push(name))
    },
    /** Who was woken since it was asked last. */
    async woken(): Promise<string[]> {
      await settled()
      const names = done
      done = []
      return names
    },
  }
}

test('wakes who waits on that channel, all of them, once', async () => {
  const { time, waiting, wait, woken } = openWaiting()
  wait('one', ['main', 'wind'])
  wait('two', ['wind'])
  wait('three', ['other'])
  waiting.wake('nowhere')
  assert.deepEqual(await woken(), [])
  waiting.wake('wind')
  assert.deepEqual(await woken(), ['one', 'two'])
  waiting.wake('wind')
  waiting.wake('main')
  assert.deepEqual(await woken(), [])
  assert.equal(time.pending(), 1, 'the timers of those who were woken are taken back')
})

test('who waited long enough is woken, at its own time', async () => {
  const { time, wait, woken } = openWaiting()
  wait('long', ['main'], { holdMs: 300 })
  wait('short', ['main'], { holdMs: 100 })
  time.advance(99)
  assert.deepEqual(await woken(), [])
  time.advance(1)
  assert.deepEqual(await woken(), ['short'])
  time.advance(200)
  assert.deepEqual(await woken(), ['long'])
})

test('a question that is taken back leaves nothing behind', async () => {
  const { time, wait, woken } = openWaiting()
  const taken = new AbortController()
  wait('one', ['main', 'wind'], { signal: taken.signal })
  taken.abort()
  assert.deepEqual([await woken(), time.pending()], [['one'], 0])
  wait('two', ['main'], { signal: taken.signal })
  assert.deepEqual([await woken(), time.pending()], [['two'], 0])
})

test('of a channel that nobody waits on any more nothing is kept', async (t) => {
  // That a map has been emptied shows nowhere else.
  const [kept, forgotten] = [t.mock.method(Map.prototype, 'set'), t.mock.method(Map.prototype, 'delete')]
  const callsFor = ({ mock }: typeof kept | typeof forgotten) =>
    mock.calls.filter(({ arguments: [key] }) => key === 'only here').length
  const { time, waiting, wait, woken } = openWaiting()
  wait('one', ['only here'])
  wait('two', ['only here'])
  waiting.wake('only here')
  wait('three', ['only here'], { holdMs: 10 })
  time.advance(10)
  wait('four', ['only here'], { signal: AbortSignal.abort() })
  await woken()
  assert.deepEqual([callsFor(kept), callsFor(forgotten)], [3, 3])
})

test('wakes everybody at once, also who waits on several channels', async () => {
  const { time, waiting, wait, woken } = openWaiting()
  wait('one', ['main', 'wind'])
  wait('two', ['other'])
  waiting.wakeAll()
  assert.deepEqual([await woken(), time.pending()], [['one', 'two'], 0])
})

test('who begins to wait while others are woken waits for the next', async () => {
  const { waiting, wait, woken } = openWaiting()
  wait('one', ['main'])
  waiting.wake('main')
  wait('two', ['main'])
  assert.deepEqual(await woken(), ['one'])
  waiting.wake('main')
  assert.deepEqual(await woken(), ['two'])
})
