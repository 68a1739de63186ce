// Listeners that add, remove and fail while they are told something.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nothingPlanned } from '../protocol/time.ts'
import { Listeners } from './listeners.ts'

function open() {
  const listeners = new Listeners<{ readonly said: (text: string) => void }>()
  const heard: string[] = []
  const hear = (name: string) => (text: string) => void heard.push(`${name} ${text}`)
  return { listeners, heard, hear }
}

test('a listener that removes and adds itself hears each event once', () => {
  const { listeners, heard } = open()
  let off = nothingPlanned
  const again = (text: string) => {
    heard.push(text)
    off()
    off = listeners.on('said', again)
  }
  off = listeners.on('said', again)
  for (const text of ['one', 'two']) listeners.tell('said', text)
  assert.deepEqual(heard, ['one', 'two'])
})

test('a listener that is added by another begins with the next event', () => {
  const { listeners, heard, hear } = open()
  const off = listeners.on('said', () => {
    off()
    listeners.on('said', hear('late'))
  })
  for (const text of ['one', 'two']) listeners.tell('said', text)
  assert.deepEqual(heard, ['late two'])
})

test('a listener that another removes hears nothing more', () => {
  const { listeners, heard, hear } = open()
  listeners.on('said', () => off())
  const off = listeners.on('said', hear('removed'))
  listeners.tell('said', 'one')
  assert.deepEqual(heard, [])
})

test('a function that was added twice is called twice, and each is removed for itself', () => {
  const { listeners, heard, hear } = open()
  const same = hear('same')
  const offs = [listeners.on('said', same), listeners.on('said', same)]
  for (const [place, off] of offs.entries()) {
    listeners.tell('said', String(place))
    off()
    off()
  }
  assert.deepEqual([heard, listeners.has('said')], [['same 0', 'same 0', 'same 1'], false])
})

test('an error in one is reported, and the others are called', async () => {
  const { listeners, heard, hear } = open()
  const reported = new Promise((resolve) => process.setUncaughtExceptionCaptureCallback(resolve))
  listeners.on('said', () => assert.fail('no'))
  listeners.on('said', hear('other'))
  listeners.tell('said', 'one')
  assert.match(String(await reported), /AssertionError.*no/)
  process.setUncaughtExceptionCaptureCallback(null)
  assert.deepEqual(heard, ['other one'])
})
