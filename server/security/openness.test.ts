import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLoopback, isOpenTo } from './openness.ts'

test('what only this machine reaches', () => {
  for (const host of ['localhost', '127.0.0.1', '127.8.8.8', '::1'])
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

test('auto is open on loopback alone; a word of the config goes before', () => {
  const rows = [
    ['auto', 'localhost', true],
    ['auto', '0.0.0.0', false],
    ['open', '0.0.0.0', true],
    ['invited', 'localhost', false],
  ] as const
  for (const [access, host, isOpen] of rows) assert.equal(isOpenTo({ access, host }), isOpen, access + host)
})
