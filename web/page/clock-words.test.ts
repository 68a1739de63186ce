import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockWords } from './clock-words.ts'

test('a clock ahead of the server’s is on, and one behind it back', () => {
  assert.equal(clockWords({ offsetMs: -0.44, boundMs: 0.83 }), 'Clock: +0.4 ms ± 0.9 ms against the server')
  assert.equal(
    clockWords({ offsetMs: 5000.06, boundMs: 12 }),
    'Clock: −5000.1 ms ± 12.0 ms against the server',
  )
  assert.equal(clockWords({ offsetMs: 0, boundMs: 0.01 }), 'Clock: +0.0 ms ± 0.1 ms against the server')
})

test('until it is known that is said', () => {
  assert.equal(clockWords(null), 'Clock: not compared with the server')
})
