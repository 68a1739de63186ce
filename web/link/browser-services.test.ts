// Lifecycle events passed on to the link; one request for all that waits for a frame.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../server/wire/testing.ts'
import { createFrames, watchWakeUps } from './browser-services.ts'

function watch(visibilityState: DocumentVisibilityState = 'visible') {
  const window = new EventTarget()
  const document = Object.assign(new EventTarget(), { visibilityState })
  const said: string[] = []
  watchWakeUps(document, window, {
    wake: (by) => void said.push(by),
    offline: () => void said.push('offline'),
    save: () => void said.push('save'),
    rest: () => void said.push('rest'),
    hide: () => void said.push('hide'),
  })
  return { window, document, said }
}

test('network, page cache and pagehide', () => {
  const { window, said } = watch()
  for (const type of ['offline', 'online', 'pagehide']) window.dispatchEvent(new Event(type))
  window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
  assert.deepEqual(said, ['offline', 'online', 'save', 'hide', 'restored'])
})

test('a page that has just been opened was not restored', () => {
  const { window, said } = watch()
  window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: false }))
  assert.deepEqual(said, [])
})

test('visible it wakes, hidden it saves; frozen and resumed alike', () => {
  const { document, said } = watch()
  document.dispatchEvent(new Event('visibilitychange'))
  document.visibilityState = 'hidden'
  document.dispatchEvent(new Event('visibilitychange'))
  for (const type of ['freeze', 'resume']) document.dispatchEvent(new Event(type))
  assert.deepEqual(said, ['visible', 'save', 'rest', 'save', 'resumed'])
})

test('a page that was opened out of sight rests from the start', () => {
  assert.deepEqual(watch('hidden').said, ['rest'])
})

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

test('all that waits for a frame runs in it, in order, for one request', () => {
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

test('what is cancelled does not run, not even in the frame that has begun', () => {
  const { asked, ran, ask, inNextFrame } = openFrames()
  ask('one')()
  let cancel: () => void = () => undefined
  inNextFrame(() => cancel())
  cancel = ask('two')
  ask('three')
  asked[0]?.()
  assert.deepEqual(ran, ['three'])
})

test('what throws keeps nothing else from its frame', () => {
  const { asked, ran, ask, inNextFrame, failures } = openFrames()
  const error = new Error('no place')
  inNextFrame(() => {
    throw error
  })
  ask('one')
  asked[0]?.()
  assert.deepEqual([ran, failures], [['one'], [error]])
})

test('without a frame it runs after 100 ms, and never twice', () => {
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
