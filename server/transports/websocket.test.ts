// Checks the heads of WebSocket frames with the parser of `ws`.

import assert from 'node:assert/strict'
import type { Writable } from 'node:stream'
import { test } from 'node:test'
import * as ws from 'ws'
import { socketFraming } from './websocket.ts'

/** `ws` has it; its types do not. */
const { Receiver } = ws as unknown as { Receiver: new (options: object) => Writable }

function readByWs(bytes: Buffer): Promise<string> {
  const receiver = new Receiver({ isServer: false })
  return new Promise((resolve, reject) => {
    receiver.on('message', (data: Buffer) => resolve(String(data)))
    receiver.on('error', reject)
    receiver.write(bytes)
  })
}

test('a frame of any length reads as the text that it was', async () => {
  // Around each change of the head: 125 and 126, 65,535 and 65,536 bytes (RFC 6455, 5.2).
  const around = JSON.stringify({ type: 'refused', id: null, code: 'x', message: '' }).length
  for (const length of [125, 126, 127, 65_535, 65_536, 200_000]) {
    const frame = { type: 'refused', id: null, code: 'x', message: 'm'.repeat(length - around) } as const
    assert.deepEqual(JSON.parse(await readByWs(socketFraming.encode(frame, null))), frame)
  }
})

test('text that is no ASCII is measured in bytes', async () => {
  const frame = { type: 'refused', id: null, code: 'x', message: '💨'.repeat(40) } as const
  assert.deepEqual(JSON.parse(await readByWs(socketFraming.encode(frame, null))), frame)
})
