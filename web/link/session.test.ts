// A session is renewed while it runs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../server/wire/manual-time.ts'
import { keepSession, type Session } from './session.ts'
import { settled } from './testing.ts'

/** A session that ends 40 s from now, unless it is said otherwise. */
function keep(answer: (now: number) => Promise<Session | null>, endsInMs: number | null = 40_000) {
  const time = createManualTime()
  const startAt = time.now()
  const askedAt: number[] = []
  keepSession(time, endsInMs === null ? null : startAt + endsInMs, () => {
    askedAt.push((time.now() - startAt) / 1000)
    return answer(time.now())
  })
  const pass = async (seconds: number) => {
    time.advance(seconds * 1000)
    await settled()
  }
  return { time, askedAt, pass }
}

test('asks again when half of it is over', async () => {
  const { askedAt, pass } = keep(async (now) => ({ expiresAt: now + 3_600_000 }))
  for (let n = 0; n < 182; n += 1) await pass(20)
  assert.deepEqual(askedAt, [20, 1820, 3620])
})

test('where everybody may come in it never asks', () => {
  const { time } = keep(async () => null, null)
  assert.equal(time.pending(), 0)
})

test('where there is no session any more it asks once', async () => {
  for (const session of [{ expiresAt: null }, null]) {
    const { time, askedAt, pass } = keep(async () => session)
    await pass(20)
    assert.deepEqual([askedAt, time.pending()], [[20], 0])
  }
})

test('asks soon again when the server could not be reached', async () => {
  const { askedAt, pass } = keep(() => Promise.reject(new Error('no answer')))
  await pass(20)
  for (let n = 0; n < 2; n += 1) await pass(5)
  assert.deepEqual(askedAt, [20, 25, 30])
})
