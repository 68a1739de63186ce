// Cursors and names, as text that anybody may send.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fingerprintIn, formatCursor, isIdOf, nameBeside, nameUnder, parseCursor } from './messages.ts'

test('a cursor survives formatting and parsing', () => {
  for (const cursor of [
    { epoch: 'life1', seq: 0 },
    { epoch: 'A'.repeat(32), seq: 999_999_999_999_999 },
  ]) {
    assert.deepEqual(parseCursor(formatCursor(cursor)), cursor)
  }
})

test('an invalid cursor parses to null', () => {
  const misfits = [
    null,
    undefined,
    '',
    ':',
    'life1',
    'life1:',
    ':1',
    'life1:-1',
    'life1:1.5',
    'life1:1e3',
    'life1: 1',
    'life1:1\n',
    'li fe:1',
    'life-1:1',
    'life1:1:1',
    `${'a'.repeat(33)}:1`,
    'life1:1234567890123456',
  ]
  for (const text of misfits) assert.equal(parseCursor(text), null, JSON.stringify(text))
})

const fingerprint = 'ab-cd_efghijklmnopqrst'

test('a proven name begins with a fingerprint, alone or followed by a dot', () => {
  for (const name of [fingerprint, `${fingerprint}.`, `${fingerprint}.w1`, nameUnder(fingerprint, 'a.b')]) {
    assert.equal(fingerprintIn(name), fingerprint)
  }
  for (const name of [
    '',
    'w1',
    `${fingerprint}x`,
    `${fingerprint.slice(1)}.w1`,
    `x.${fingerprint}`,
    `.${fingerprint}`,
  ]) {
    assert.equal(fingerprintIn(name), null)
  }
})

test('a name beside another has the same key, and one beside a free name is free', () => {
  assert.equal(nameBeside(`${fingerprint}.w1`, 's1'), `${fingerprint}.s1`)
  assert.equal(nameBeside('w1', 's1'), 's1')
})

test('no sender can create an id of another, even one whose name begins with its own', () => {
  const victim = `${fingerprint}.w1`
  assert.ok(isIdOf(victim, `${victim}-12`))
  for (const sender of ['ab', fingerprint, `${fingerprint}.w`, '', `${victim}-12`]) {
    assert.equal(isIdOf(sender, `${victim}-12`), false, sender)
  }
})
