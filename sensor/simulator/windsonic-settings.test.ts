// The settings, and the commands that change the line.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeSetting, lineChange, WindSonicSettings } from './windsonic-settings.ts'

test('explains settings', () => {
  assert.deepEqual(describeSetting('M16'), ['message', 'NMEA $IIMWV, Gill status'])
  assert.deepEqual(describeSetting('B5'), ['baud rate', '38400 baud'])
  assert.deepEqual(describeSetting('K50'), ['direction from', '0.05 m/s'])
  assert.deepEqual(describeSetting('NB'), ['node letter', 'B'])
  assert.deepEqual(describeSetting('T1'), ['analogue type', ''])
  assert.deepEqual(describeSetting('M99'), ['message', ''])
  for (const unknown of ['Z9', '']) assert.deepEqual(describeSetting(unknown), ['', ''])
})

test('only B and F change the line', () => {
  assert.deepEqual(lineChange('B5'), { baudRate: 38_400 })
  assert.deepEqual(lineChange('F2'), { parity: 'even' })
  for (const other of ['P3', 'B', 'B6', 'D3']) assert.equal(lineChange(other), null)
})

test('reads settings as they are typed, one after the other', () => {
  assert.equal(WindSonicSettings.parse('').list(), WindSonicSettings.factory.list())
  assert.equal(
    WindSonicSettings.parse(' M5,U2  M16 ').list(),
    'M16,U2,O1,L1,P1,B3,H1,NQ,F1,E3,T1,S4,C2,G0,K50,',
  )
  assert.throws(() => WindSonicSettings.parse('M2 m5'), /^Error: "m5" is not a WindSonic setting/)
})
