// Tells addresses that only this machine reaches from others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLoopback } from './addresses.ts'

test('isLoopback recognizes the addresses that only this machine reaches', () => {
  for (const host of ['localhost', '127.0.0.1', '127.8.8.8', '::1', new URL('https://[::1]:8443').hostname])
    assert.equal(isLoopback(host), true, host)
  for (const host of [
    '0.0.0.0',
    '::',
    '192.168.7.20',
    '127.example.org',
    '127.0.0.1.example.org',
    'box',
    '',
  ]) {
    assert.equal(isLoopback(host), false, host)
  }
})
