// Checks which commands are taken, and what settings are in words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inWords, isPolled, lineChange, nodeIn, readCommands, settingsIn } from './settings.ts'

test('commands are parted by blanks or commas, in any case, and keep their order', () => {
  assert.deepEqual(readCommands('P3 M2'), ['P3', 'M2'])
  assert.deepEqual(readCommands(' d3,k50,  nA '), ['D3', 'K50', 'NA'])
})

test('what no WindSonic understands is refused by name', () => {
  for (const word of [
    'M6',
    'M13',
    'B6',
    'X1',
    'M',
    '2',
    'P4',
    'K4',
    'K5001',
    'D4',
    'F4',
    'N1',
    'HELLO',
    '?',
  ]) {
    assert.throws(
      () => readCommands(`P3 ${word}`),
      (error: Error) => error.name === 'ConfigError' && error.message.startsWith(`"${word}" is no command`),
      word,
    )
  }
})

test('what is sent by itself is refused, and so is nothing', () => {
  for (const word of ['Q', '*', '*Q'])
    assert.throws(() => readCommands(`M2 ${word}`), { message: /is sent by itself, at the right moment/ })
  assert.throws(() => readCommands('  '), { message: /^--configure needs commands, such as "P3 M2"/ })
})

test('the answer to D3 is found among the lines, with blanks or without, the last one counts', () => {
  const lines = ['D3', 'M2,U1,O1,L1,P1,B3,H1,NQ,F1,E3,T1,S4,C2,G0,K50,']
  assert.equal(settingsIn(lines)?.length, 15)
  assert.deepEqual(settingsIn(['M2, U1, O1, L1, P1, B3, F1, H1, NQ'])?.slice(0, 3), ['M2', 'U1', 'O1'])
  assert.equal(settingsIn(['D3', 'Q,229,002.74,M,00,', '']), null)
})

test('settings in words', () => {
  assert.deepEqual(inWords('M16'), ['M16', 'message', 'NMEA $IIMWV, Gill status'])
  assert.deepEqual(inWords('K50'), ['K50', 'direction from', '0.05 m/s'])
  assert.deepEqual(inWords('NB'), ['NB', 'node letter', 'B'])
  assert.deepEqual(inWords('Z9'), ['Z9', '', ''])
  assert.deepEqual([isPolled(['M3']), isPolled(['M4']), isPolled(['M2'])], [true, true, false])
  assert.deepEqual([nodeIn(['M4', 'NB']), nodeIn([])], ['B', 'Q'])
})

test('B and F change the line, the others do not', () => {
  assert.deepEqual(lineChange('B5'), { baudRate: 38_400 })
  assert.deepEqual(lineChange('F2'), { parity: 'even' })
  assert.equal(lineChange('P3'), null)
})
