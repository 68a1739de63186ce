// Counts slots with real Web Locks, over in-memory transports.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFakeTransports, mode, settled } from '../testing.ts'
import { limitToSlots } from './slots.ts'
import type { Closing, Opening } from './transport.ts'

let hosts = 0

/** Locks are granted and released in turns of the event loop. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await settled()
}

/** Windows of one browser at a host of their own. */
function browser() {
  hosts += 1
  const base = `https://localhost:${hosts}`
  const { streams, transports } = createFakeTransports()
  const heeding = limitToSlots(transports, navigator.locks)
  function start(name: string) {
    const closings: Closing[] = []
    const opening: Opening = {
      base,
      mode: mode(name),
      query: new URLSearchParams(),
      polling: { intervalMs: 1000, holdMs: 1000 },
      onFrame: () => undefined,
      onClose: (closing) => closings.push(closing),
    }
    const transport = heeding[opening.mode.transport].open(opening)
    return { transport, closings }
  }
  async function open(name: string) {
    const opening = start(name)
    await turns()
    return opening
  }
  return { streams, start, open }
}

test('five windows hold HTTP/1.1 connections in any mode; the sixth fails at once because all are taken', async () => {
  const { streams, open } = browser()
  for (const name of ['sse/1.1', 'long-polling/1.1', 'sse/1.1', 'sse/1.1', 'long-polling/1.1'])
    await open(name)
  const { transport, closings } = await open('sse/1.1')
  assert.equal(streams.length, 5)
  assert.deepEqual(
    closings.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
    [['full', null]],
  )
  assert.match(closings[0]?.sentence ?? '', /^Other windows of this browser hold all the connections/)
  await assert.rejects(
    transport.send({ id: 'w1-1', channel: 'c', kind: 'edit', from: 'w1', at: 0, body: { html: '' } }),
  )
})

test('a slot is free again when its window leaves, or its connection ends', async () => {
  const { streams, open } = browser()
  const windows = []
  for (let n = 0; n < 5; n += 1) windows.push(await open('sse/1.1'))
  windows[0]?.transport.close()
  assert.equal(streams[0]?.isClosed(), true)
  await open('sse/1.1')
  streams[1]?.end()
  await open('sse/1.1')
  assert.deepEqual([streams.length, windows[1]?.closings.length], [7, 1])
  assert.deepEqual((await open('sse/1.1')).closings.length, 1)
})

test('a connection closed before it got its slot opens nothing and keeps no slot', async () => {
  const { streams, start, open } = browser()
  const opening = start('sse/1.1')
  opening.transport.close()
  await turns()
  for (let n = 0; n < 5; n += 1) await open('sse/1.1')
  assert.equal(streams.length, 5)
  assert.deepEqual(opening.closings, [])
})

test('a connection that is reopened in the same turn keeps its slot', async () => {
  const { streams, start, open } = browser()
  for (let n = 0; n < 4; n += 1) await open('sse/1.1')
  const { transport } = await open('sse/1.1')
  transport.close()
  const { closings } = start('long-polling/1.1')
  await turns()
  assert.deepEqual([streams.length, closings], [6, []])
})

test('modes without a limit use no slot; without Web Locks there is no limit', async () => {
  const { streams, open } = browser()
  for (let n = 0; n < 7; n += 1) await open('sse/2')
  for (let n = 0; n < 7; n += 1) await open('websocket/1.1')
  assert.equal(streams.length, 14)
  const { transports } = createFakeTransports()
  assert.equal(limitToSlots(transports, null), transports)
})
