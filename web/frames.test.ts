// One request serves all work that waits for a frame.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { createFrames } from './frames.ts'

function openFrames() {
  const time = createManualTime()
  const asked: (() => void)[] = []
  const failures: unknown[] = []
  const cancelled: number[] = []
  const inNextFrame = createFrames({
    timers: time,
    request: (run) => asked.push(run),
    cancel: (frame) => void cancelled.push(frame),
    onFailure: (error) => void failures.push(error),
  })
  const ran: string[] = []
  const ask = (name: string) => inNextFrame(() => void ran.push(name))
  return { time, asked, failures, cancelled, inNextFrame, ran, ask }
}

test('all waiting work runs in the next frame, in order, for one request', () => {
  const { asked, ran, ask, inNextFrame } = openFrames()
  ask('one')
  inNextFrame(() => ask('next'))
  ask('two')
  assert.equal(asked.length, 1)
  asked[0]?.()
  assert.deepEqual(ran, ['one', 'two'])
  assert.equal(asked.length, 2)
  asked[1]?.()
  assert.deepEqual(ran, ['one', 'two', 'next'])
})

test('cancelled work does not run, even in a frame that has begun', () => {
  const { asked, ran, ask, inNextFrame } = openFrames()
  ask('one')()
  let cancel: () => void = () => undefined
  inNextFrame(() => cancel())
  cancel = ask('two')
  ask('three')
  asked[0]?.()
  assert.deepEqual(ran, ['three'])
})

test('work that throws does not keep the rest from running in its frame', () => {
  const { asked, ran, ask, inNextFrame, failures } = openFrames()
  const error = new Error('no place')
  inNextFrame(() => {
    throw error
  })
  ask('one')
  asked[0]?.()
  assert.deepEqual([ran, failures], [['one'], [error]])
})

test('without a frame it runs after 100 ms, and only once', () => {
  const { time, asked, cancelled, ran, ask } = openFrames()
  ask('one')
  time.advance(60)
  asked[0]?.()
  ask('two')
  time.advance(99)
  assert.deepEqual(ran, ['one'])
  time.advance(1)
  assert.deepEqual([ran, cancelled], [['one', 'two'], [2]])
  time.advance(1000)
  assert.equal(time.pending(), 0)
})
