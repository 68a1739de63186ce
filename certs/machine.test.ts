// Checks which names and addresses a machine is given, and how they are written into constraints.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { constraintsAmong, nameConstraints, permits } from './constraints.ts'
import { der, ipBytes, maskBytes } from './der.ts'
import { machineAddresses, machineNames } from './machine.ts'

test('a machine has its name, and that name in multicast DNS', () => {
  assert.deepEqual(machineNames('Box'), ['localhost', 'box', 'box.local'])
  assert.deepEqual(machineNames('box.local'), ['localhost', 'box.local'])
  assert.deepEqual(machineNames('box.example.org'), ['localhost', 'box.example.org', 'box.local'])
  assert.deepEqual(machineNames('localhost'), ['localhost', 'localhost.local'])
  assert.deepEqual(machineNames("Ann's box"), ['localhost'])
})

test('a machine has the addresses of its interfaces but link-local IPv6', () => {
  const entry = (address: string) => ({
    address,
    netmask: '',
    mac: '',
    internal: false,
    cidr: null,
    ...(address.includes(':') ? { family: 'IPv6' as const, scopeid: 0 } : { family: 'IPv4' as const }),
  })
  const interfaces = {
    eth0: [entry('10.0.0.7'), entry('fe80::7'), entry('fd00::7')],
    lo: [entry('127.0.0.1')],
  }
  assert.deepEqual(machineAddresses(interfaces), ['127.0.0.1', '::1', '10.0.0.7', 'fd00::7'])
})

test('constraints permit the hosts they were made for and local networks', () => {
  const constraints = nameConstraints(['localhost', 'box', '203.0.113.9'])
  assert.equal(constraintsAmong([constraints]), constraints)
  assert.equal(constraints.critical, true)
  for (const host of ['box', '203.0.113.9', '192.168.1.1', '172.31.0.1', '::1', 'fd12::1', '2001:db8::1']) {
    assert.equal(permits(constraints, host), true, host)
  }
  for (const host of ['bo', 'ox', 'example.com', '203.0.113.8', '172.32.0.1', '8.8.8.8', '::2']) {
    assert.equal(permits(constraints, host), false, host)
  }
  assert.equal(permits(null, 'box'), false)
})

test('addresses and masks are written as bytes', () => {
  assert.equal(ipBytes('192.168.7.20').toString('hex'), 'c0a80714')
  assert.equal(ipBytes('::1').toString('hex'), '00000000000000000000000000000001')
  assert.equal(ipBytes('2001:db8::').toString('hex'), '20010db8000000000000000000000000')
  assert.equal(ipBytes('fe80::1:2:3').toString('hex'), 'fe800000000000000000000100020003')
  assert.equal(ipBytes('::ffff:127.0.0.1').toString('hex'), '00000000000000000000ffff7f000001')
  assert.equal(ipBytes('1:2:3:4:5:6:7:8').toString('hex'), '00010002000300040005000600070008')
  assert.equal(maskBytes(12, 4).toString('hex'), 'fff00000')
  assert.equal(maskBytes(32, 4).toString('hex'), 'ffffffff')
  assert.equal(maskBytes(3, 16).toString('hex'), `e0${'00'.repeat(15)}`)
})

test('DER lengths are as short as can be', () => {
  assert.equal(der(4, Buffer.alloc(127)).subarray(0, 2).toString('hex'), '047f')
  assert.equal(der(4, Buffer.alloc(128)).subarray(0, 3).toString('hex'), '048180')
  assert.equal(der(4, Buffer.alloc(256)).subarray(0, 4).toString('hex'), '04820100')
  assert.throws(() => der(4, Buffer.alloc(65536)), RangeError)
})
