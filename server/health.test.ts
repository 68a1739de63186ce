// When a server is not ready, what it reports about an outage, and when it disconnects windows.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { Health } from './health.ts'
import type { Outage } from './log/log.ts'

function createHealth() {
  const time = createManualTime()
  const said: string[] = []
  const changes: (Outage | null)[] = []
  const sentAway: string[] = []
  let outage: Outage | null = null
  const health = new Health({
    timers: time,
    outage: () => outage,
    print: (_, sentence) => said.push(sentence),
    onChanged: (now) => changes.push(now),
    onCutOff: (sentence) => sentAway.push(sentence),
  })
  return {
    time,
    health,
    said,
    changes,
    sentAway,
    fail(reason: string, isCutOff = false) {
      outage = { reason, isCutOff, since: outage?.since ?? time.now() }
    },
    recover() {
      outage = null
    },
  }
}

test('reports an outage once with its reason, and once when it is over', () => {
  const { time, health, said, changes, fail, recover } = createHealth()
  time.advance(10_000)
  assert.deepEqual([said, health.outages()], [[], 0])
  fail('maximum bytes exceeded')
  time.advance(60_000)
  recover()
  time.advance(1000)
  assert.deepEqual(said, [
    'The log accepts no messages: maximum bytes exceeded.',
    'The log accepts messages again, after 61 s.',
  ])
  assert.deepEqual([changes.length, changes.at(-1), health.outages()], [2, null, 1])
  health.stop()
  assert.equal(time.pending(), 0)
})

test('a server is unready after 5 s of outage, and disconnects its windows only if it is cut off', () => {
  const { time, health, sentAway, fail, recover } = createHealth()
  fail('maximum bytes exceeded')
  time.advance(4999)
  assert.equal(health.whyUnready(), null)
  time.advance(1)
  assert.equal(health.whyUnready(), 'maximum bytes exceeded')
  assert.deepEqual([sentAway, health.refusal()], [[], null])
  recover()
  assert.equal(health.whyUnready(), null)
  fail('NATS does not answer', true)
  time.advance(4900)
  assert.deepEqual([sentAway, health.refusal()], [[], null])
  time.advance(1000)
  assert.match(sentAway[0] ?? '', /cut off from its log \(NATS does not answer\)/)
  assert.deepEqual([health.refusal()?.status, health.refusal()?.code], [503, 'draining'])
  health.stop()
})

test('a stale log must not be read', () => {
  const { time, health, fail, recover } = createHealth()
  health.mustBeCurrent()
  fail('NATS does not answer', true)
  time.advance(5000)
  assert.throws(health.mustBeCurrent, { code: 'draining' })
  recover()
  health.mustBeCurrent()
  health.stop()
})
