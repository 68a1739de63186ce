// Lifecycle events passed on to the link.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watchWakeUps } from './browser-services.ts'

function watch(visibilityState: DocumentVisibilityState = 'visible') {
  const window = new EventTarget()
  const document = Object.assign(new EventTarget(), { visibilityState })
  const said: string[] = []
  watchWakeUps(document, window, {
    wake: (by) => void said.push(by),
    offline: () => void said.push('offline'),
    outbox: { flush: () => void said.push('save') },
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
