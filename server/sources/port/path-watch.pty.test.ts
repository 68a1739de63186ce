// Checks that a pseudo-terminal is told from the next one of the same number, and from nothing else.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { processTimers } from '../../timers.ts'
import { openPty } from '../device/terminal/pty.ts'
import { identifyDevice } from './path-watch.ts'

const skip = spawnSync('socat', ['-V']).error ? 'socat is not installed' : false

test('a terminal stays the same while it is used, and the next one is another', { skip }, async () => {
  const seen: Array<string | null> = []
  for (const _ of [1, 2]) {
    const pty = await openPty({ timers: processTimers, onInput: () => undefined, onEnd: () => undefined })
    const identity = identifyDevice(pty.device)
    pty.write(Buffer.from('x'))
    assert.equal(identifyDevice(pty.device), identity)
    await pty.stop()
    assert.equal(identifyDevice(pty.device), null)
    seen.push(identity)
  }
  assert.notEqual(seen[0], null)
  assert.notEqual(seen[0], seen[1])
})
