// Polls over a sender in memory.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LinkMode } from '../../protocol/modes.ts'
import { settled } from '../testing.ts'
import { polling } from './polling.ts'
import type { Opening, Platform } from './transport.ts'

test('a poll that is closed asks no more, even of a sender that answers after the end', async () => {
  let asked = 0
  const platform = {
    async send() {
      asked += 1
      await settled()
      return { status: 200, text: JSON.stringify({ frames: [], cursor: 'life:0' }), receivedAt: 0 }
    },
    fetch: async () => new Response(),
  } as unknown as Platform
  const opening: Opening = {
    base: 'https://localhost',
    mode: polling.modes[0] as LinkMode,
    query: new URLSearchParams(),
    polling: { intervalMs: 0, holdMs: 0 },
    onFrame: () => undefined,
    onClose: () => assert.fail('it was lost'),
  }
  const open = polling.open(opening, platform)
  while (asked < 3) await settled()
  open.close()
  const before = asked
  for (let turn = 0; turn < 20; turn += 1) await settled()
  assert.equal(asked, before)
})

test('a volatile message that two servers send is taken once', async () => {
  const volatile = (n: number, at: number) => ({ type: 'volatile', message: { id: `w9-v${n}`, at } })
  const answers = [[volatile(1, 5)], [volatile(1, 5), volatile(2, 6)], [volatile(1, 7)]]
  const taken: unknown[] = []
  const platform = {
    async send() {
      await settled()
      return {
        status: 200,
        text: JSON.stringify({ frames: answers.shift() ?? [], cursor: 'life:0' }),
        receivedAt: 0,
      }
    },
    fetch: async () => new Response(),
  } as unknown as Platform
  const open = polling.open(
    {
      base: 'https://localhost',
      mode: polling.modes[0] as LinkMode,
      query: new URLSearchParams(),
      polling: { intervalMs: 0, holdMs: 0 },
      onFrame: (frame) => taken.push(frame),
      onClose: () => assert.fail('it was lost'),
    },
    platform,
  )
  while (taken.length < 3) await settled()
  open.close()
  assert.deepEqual(taken, [volatile(1, 5), volatile(2, 6), volatile(1, 7)])
})
