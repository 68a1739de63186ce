// Lifecycle events that are passed on to the link.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type WakeUp, watchWakeUps } from './browser-services.ts'

function watch(visibilityState: DocumentVisibilityState = 'visible') {
  const window = new EventTarget()
  const document = Object.assign(new EventTarget(), { visibilityState })
  const said: string[] = []
  const ending = new AbortController()
  const link = {
    wake: (by: WakeUp) => void said.push(by),
    offline: () => void said.push('offline'),
    outbox: { flush: () => void said.push('save') },
    rest: () => void said.push('rest'),
    hide: () => void said.push('hide'),
  }
  watchWakeUps(document, window, link, ending.signal)
  return { window, document, said, ending }
}

test('reports network changes, page-cache restores and page hides', () => {
  const { window, said } = watch()
  for (const type of ['offline', 'online', 'pagehide']) window.dispatchEvent(new Event(type))
  window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
  assert.deepEqual(said, ['offline', 'online', 'hide', 'restored'])
})

test('does not report a newly opened page as restored', () => {
  const { window, said } = watch()
  window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: false }))
  assert.deepEqual(said, [])
})

test('wakes when visible and saves when hidden, also on resume and freeze', () => {
  const { document, said } = watch()
  document.dispatchEvent(new Event('visibilitychange'))
  document.visibilityState = 'hidden'
  document.dispatchEvent(new Event('visibilitychange'))
  for (const type of ['freeze', 'resume']) document.dispatchEvent(new Event(type))
  assert.deepEqual(said, ['visible', 'save', 'rest', 'save', 'resumed'])
})

test('a page opened in the background starts at rest', () => {
  assert.deepEqual(watch('hidden').said, ['rest'])
})

test('reports nothing once it is ended', () => {
  const { window, document, said, ending } = watch()
  ending.abort()
  for (const type of ['offline', 'online', 'pagehide']) window.dispatchEvent(new Event(type))
  for (const type of ['visibilitychange', 'freeze', 'resume']) document.dispatchEvent(new Event(type))
  assert.deepEqual(said, [])
})
