// Tells addresses that only this machine reaches from others.

import assert from 'node:assert/strict'
import type { NetworkInterfaceInfo } from 'node:os'
import { test } from 'node:test'
import { isLoopback, networkOrigin } from './addresses.ts'

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

test('networkOrigin is where other devices reach a server, if they do', () => {
  const entry = (address: string, internal: boolean, family = 'IPv4') =>
    ({ address, internal, family }) as NetworkInterfaceInfo
  const interfaces = {
    lo: [entry('127.0.0.1', true)],
    eth0: [entry('fd00::7', false, 'IPv6'), entry('192.168.7.20', false)],
  }
  assert.equal(networkOrigin('localhost', 8443, interfaces), null)
  assert.equal(networkOrigin('0.0.0.0', 8443, interfaces), 'https://192.168.7.20:8443')
  assert.equal(networkOrigin('::', 8443, { lo: interfaces.lo }), null)
  assert.equal(networkOrigin('wind.example.org', 443, interfaces), 'https://wind.example.org:443')
})
