// Checks the shapes of lines that loggers write.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readStamped } from './stamped-line.ts'

const frame = '\x02Q,229,002.74,M,00,\x0316'
const at = Date.UTC(2026, 4, 2, 8, 0, 0, 250)

test('a time, a separator, a frame', () => {
  for (const stamp of [
    '2026-05-02T08:00:00.250Z',
    '2026-05-02T08:00:00.25',
    '2026-05-02T08:00:00.250123Z',
    '2026-05-02 08:00:00.250',
    '2026-05-02T10:00:00.250+02:00',
    '2026-05-02T10:00:00.250+0200',
    '1777708800250',
    '1777708800.25',
  ])
    for (const separator of ['\t', ' ', ',', '; ', '  '])
      assert.deepEqual(readStamped(stamp + separator + frame), { at, raw: frame }, stamp + separator)
})

test('times without fractions, and with more in front than needed', () => {
  assert.deepEqual(readStamped(`1777708800 ${frame}`), { at: at - 250, raw: frame })
  const line = `2026-05-02 08:00:00,UTC,2026-05-02T08:00:00.250 ${frame}`
  assert.deepEqual(readStamped(line), { at, raw: frame })
  assert.deepEqual(readStamped(`port3,1777708800.25,${frame}`), { at, raw: frame })
})

test('times and frames that a logger quotes, brackets or sets a colon behind', () => {
  const iso = '2026-05-02 08:00:00.250'
  for (const line of [
    `"${iso}","${frame}"`,
    `'${iso}';'${frame}'\r`,
    `${iso},"${frame}"`,
    `"1777708800.25","port3","${frame}" `,
    `[${iso}] ${frame}`,
    `[1777708800250] ${frame}`,
    `${iso}: ${frame}`,
    `1777708800.25:${frame}`,
  ])
    assert.deepEqual(readStamped(line), { at, raw: frame }, line)
  for (const line of [`"${iso}","CONFIGURATION MODE"`, `[${iso}] CONFIGURATION MODE`])
    assert.deepEqual(readStamped(line), { at, raw: 'CONFIGURATION MODE' }, line)
})

test('NMEA, and what is no frame at all', () => {
  const nmea = '$IIMWV,284,R,001.26,K,A*1D'
  assert.deepEqual(readStamped(`2026-05-02T08:00:00.25Z ${nmea}`), { at, raw: nmea })
  assert.deepEqual(readStamped('1777708800.25\tCONFIGURATION MODE'), { at, raw: 'CONFIGURATION MODE' })
  assert.deepEqual(readStamped('1777708800.25,Q,229,002.74,M,00,16'), { at, raw: 'Q,229,002.74,M,00,16' })
})

test('no time, or none that exists', () => {
  for (const line of [
    frame,
    '',
    'time,raw',
    '002.74,M,00,\x0316',
    `2026-13-02T08:00:00 ${frame}`,
    `2026-05-02 ${frame}`,
    `12345 ${frame}`,
    `x1777708800.25y ${frame}`,
    '2026-05-02T08:00:00Z',
  ])
    assert.equal(readStamped(line), null, line)
})
