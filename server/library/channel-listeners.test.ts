// Listeners of an application are called in order, and none of them stops another.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settled } from '../log/log-testing.ts'
import { ChannelListeners } from './channel-listeners.ts'

function openListeners() {
  const failures: unknown[] = []
  const listeners = new ChannelListeners<{ text: string }>((error) => failures.push(error))
  const tell = (channel: string, text: string) => listeners.tell(channel, () => ({ text }))
  return { listeners, tell, failures }
}

test('a listener is called for its channel, or for those with its prefix, in order', async () => {
  const { listeners, tell } = openListeners()
  const one: string[] = []
  const all: string[] = []
  listeners.add('room.1', ({ text }) => one.push(text))
  listeners.add('room.*', ({ text }) => all.push(text))
  for (const [channel, text] of [
    ['room.1', 'a'],
    ['room.2', 'b'],
    ['hall', 'c'],
    ['room.1', 'd'],
  ] as const)
    tell(channel, text)
  await settled()
  assert.deepEqual(
    [one, all],
    [
      ['a', 'd'],
      ['a', 'b', 'd'],
    ],
  )
})

test('it is not called within the work that tells it', async () => {
  const { listeners, tell } = openListeners()
  const heard: string[] = []
  listeners.add('*', ({ text }) => heard.push(text))
  tell('room.1', 'a')
  assert.deepEqual(heard, [])
  await settled()
  assert.deepEqual(heard, ['a'])
})

test('one that throws, and one that rejects, are reported, and stop neither themselves nor others', async () => {
  const { listeners, tell, failures } = openListeners()
  const heard: string[] = []
  listeners.add('*', ({ text }) => {
    throw new Error(`threw on ${text}`)
  })
  listeners.add('*', async ({ text }) => {
    throw new Error(`rejected ${text}`)
  })
  listeners.add('*', ({ text }) => heard.push(text))
  tell('room.1', 'a')
  tell('room.1', 'b')
  await settled()
  assert.deepEqual(heard, ['a', 'b'])
  assert.deepEqual(failures.map(String).sort(), [
    'Error: rejected a',
    'Error: rejected b',
    'Error: threw on a',
    'Error: threw on b',
  ])
})

test('what one listener changes, another does not see', async () => {
  const { listeners, tell } = openListeners()
  const heard: string[] = []
  listeners.add('*', (told) => {
    told.text = 'changed'
  })
  listeners.add('*', ({ text }) => heard.push(text))
  tell('room.1', 'a')
  await settled()
  assert.deepEqual(heard, ['a'])
})

test('once removed it is not called, even for what was told before; the same function may be added twice', async () => {
  const { listeners, tell } = openListeners()
  const heard: string[] = []
  const listener = ({ text }: { text: string }) => heard.push(text)
  const off = listeners.add('*', listener)
  listeners.add('*', listener)
  tell('room.1', 'a')
  off()
  await settled()
  assert.deepEqual(heard, ['a'])
})
