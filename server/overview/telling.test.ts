// When something is told: not while nobody reads it, once a second at most, to newcomers at once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settled } from '../hub/testing.ts'
import { createManualTime } from '../wire/manual-time.ts'
import { createTelling, type TellingParts } from './telling.ts'

function open(change: Partial<TellingParts<number>> = {}) {
  const time = createManualTime(0)
  const state = { isRead: true, body: 1 as number | null, looks: 0, unread: 0 }
  const told: string[] = []
  const failures: unknown[] = []
  const telling = createTelling<number>({
    timers: time,
    steadyNow: time.now,
    isRead: () => state.isRead,
    async look() {
      state.looks += 1
      return state.body
    },
    tell: async (body) => void told.push(`${body} at ${time.now()}`),
    onUnread() {
      state.unread += 1
    },
    onFailure: (error) => void failures.push(error),
    ...change,
  })
  return {
    time,
    state,
    told,
    failures,
    telling,
    async pass(ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += 50) {
        time.advance(50)
        await settled()
      }
    },
  }
}

test('nothing is planned and nothing looked up while nobody reads', async () => {
  const { time, state, pass } = open()
  await pass(10_000)
  assert.deepEqual([time.pending(), state.looks], [0, 0])
})

test('the first reader is told at once, then each change, once a second at most', async () => {
  const { state, told, telling, pass } = open()
  telling.joined()
  for (let body = 2; body < 42; body += 1) {
    await pass(50)
    state.body = body
  }
  await pass(1000)
  assert.deepEqual(told, ['1 at 50', '21 at 1050', '41 at 2050'])
})

test('what stays as it is is told every five seconds', async () => {
  const { told, telling, pass } = open()
  telling.joined()
  await pass(11_000)
  assert.deepEqual(told, ['1 at 50', '1 at 5050', '1 at 10050'])
})

test('a newcomer is told what stays as it is, at once or a second after it was last told', async () => {
  const { told, telling, pass } = open()
  telling.joined()
  await pass(300)
  telling.joined()
  await pass(2200)
  telling.joined()
  await pass(50)
  assert.deepEqual(told, ['1 at 50', '1 at 1050', '1 at 2550'])
})

test('who comes while it is being looked up is told it, and no one twice', async () => {
  const waiting: (() => void)[] = []
  const slow = () => new Promise<number>((resolve) => void waiting.push(() => resolve(7)))
  const { told, telling, pass } = open({ look: slow })
  telling.joined()
  await pass(3000)
  telling.joined()
  assert.deepEqual(told, [])
  waiting.shift()?.()
  await pass(1050)
  waiting.shift()?.()
  await pass(50)
  assert.deepEqual(told, ['7 at 3050', '7 at 4100'])
})

test('it ends with the last reader, and says so; the next one is told at once', async () => {
  const { state, told, time, telling, pass } = open()
  telling.joined()
  await pass(1500)
  state.isRead = false
  state.body = 2
  await pass(5000)
  assert.deepEqual([told, state.unread, time.pending()], [['1 at 50'], 1, 0])
  state.isRead = true
  telling.joined()
  await pass(50)
  assert.deepEqual(told, ['1 at 50', '2 at 6550'])
})

test('nothing is nothing to tell', async () => {
  const { state, told, telling, pass } = open()
  state.body = null
  telling.joined()
  await pass(7000)
  assert.deepEqual(told, [])
  state.body = 3
  await pass(1000)
  assert.equal(told.length, 1)
})

test('a failure is said once, and it goes on', async () => {
  let tries = 0
  const { failures, told, telling, pass } = open({
    tell(body) {
      tries += 1
      if (tries < 4) return Promise.reject(new Error('no disk'))
      told.push(`${body}`)
      return Promise.resolve()
    },
  })
  telling.joined()
  await pass(4000)
  assert.deepEqual([failures.map(String), told], [['Error: no disk'], ['1']])
})

test('after the stop nothing is told', async () => {
  const { time, told, telling, pass } = open()
  telling.joined()
  telling.stop()
  telling.joined()
  await pass(5000)
  assert.deepEqual([told, time.pending()], [[], 0])
})
