// Checks polled mode: enabling, asking, and how soon the answer comes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plugIn, readingsIn } from './windsonic-testing.ts'

const polled = (options = {}) => plugIn({ configuration: 'M4', ...options })

/** Longer than any reply takes with its frame, even at 2400 baud. */
const replied = 300

test('nothing comes unasked, nor before it is enabled', () => {
  const { hear, type } = polled()
  assert.equal(hear(60_000), '')
  type('Q')
  assert.equal(hear(1000), '')
})

test('enabled, its letter asks for one frame, other letters for none', () => {
  const { hear, type } = polled()
  type('?Q')
  assert.match(hear(replied), /^.Q,\d{3},\d{3}\.\d\d,M,00,.[\dA-F]{2}\r\n$/)
  for (const other of ['A', 'q', 'R', ' ', '\r']) type(other)
  assert.equal(hear(1000), '')
  type('Q')
  assert.equal(readingsIn(hear(replied)).length, 1)
})

test('! disables, ? enables again', () => {
  const { hear, type } = polled()
  type('?!Q')
  assert.equal(hear(1000), '')
  type('?Q')
  assert.equal(readingsIn(hear(replied)).length, 1)
})

test('?& asks for the letter', () => {
  const { hear, type } = polled({ configuration: 'M3 NX' })
  type('?&')
  assert.equal(hear(100), 'X\r\n')
  type('&')
  assert.equal(hear(100), '')
})

test('a reply begins within 130 ms, at every baud rate', () => {
  for (const baud of ['B1', 'B2', 'B3', 'B4', 'B5']) {
    const { hear, type, pieces } = polled({ configuration: `M4 ${baud}` })
    type('?')
    for (let i = 0; i < 50; i++) {
      type('Q')
      const asked = i * replied
      hear(replied)
      const first = pieces.find(({ at }) => at >= asked)
      assert.ok(Number(first?.at) - asked < 130, `${baud}: ${Number(first?.at) - asked} ms`)
    }
  }
})

test('questions that come faster than replies get one reply', () => {
  const { hear, type } = polled()
  type('?QQQ')
  assert.equal(readingsIn(hear(replied)).length, 1)
})

test('a reply is of the last sample, the same again until the next', () => {
  const { hear, type } = polled({ configuration: 'M4 P20' })
  type('?')
  const ask = () => {
    type('Q')
    return readingsIn(hear(replied))[0]?.raw
  }
  const first = ask()
  assert.ok(first)
  assert.equal(ask(), first)
  hear(4000)
  assert.notEqual(ask(), first)
})

test('after power-up it is deaf for five seconds', () => {
  const { hear, type } = polled({ isPoweredUp: true })
  hear(4999)
  type('?Q')
  assert.equal(hear(1000), '')
  type('?Q')
  assert.equal(readingsIn(hear(replied)).length, 1)
})

test('* and the letter configure, * alone does not; after Q it waits to be enabled', () => {
  const { hear, type } = polled({ configuration: 'M4 H2' })
  type('?*')
  assert.equal(hear(1000), '')
  type('*Q')
  assert.equal(hear(1000), 'CONFIGURATION MODE\r\n')
  type('Q\r')
  assert.equal(hear(1000), 'Q\r\n')
  type('Q')
  assert.equal(hear(1000), '')
  type('?Q')
  assert.equal(readingsIn(hear(replied)).length, 1)
})

test('set to M4 it falls silent until asked, set to M2 it sends again', () => {
  const { hear, type } = plugIn({ configuration: 'H2' })
  type('*M4\rQ\r')
  assert.equal(hear(60_000), 'CONFIGURATION MODE\r\nM4\r\nQ\r\n')
  type('*QM2\rQ\r')
  assert.equal(readingsIn(hear(10_100)).length, 10)
})

test('a reply that was asked for is not given in configuration mode', () => {
  const { hear, type } = polled()
  type('?Q*Q')
  assert.equal(hear(1000), 'CONFIGURATION MODE\r\n')
})
