// How figures are formatted for readers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  count,
  figure,
  fitted,
  interval,
  megabytes,
  moment,
  packetsSection,
  probability,
  seconds,
  signed,
  sizeOf,
  spread,
  table,
  tableText,
} from './section.ts'

test('figures have few digits, a true minus, and a dash if missing', () => {
  assert.deepEqual([1.234, 12.34, 123.4, -0.5, null, Number.NaN].map(figure), [
    '1.23',
    '12.3',
    '123',
    '−0.50',
    '–',
    '–',
  ])
  assert.equal(signed(0.3), '+0.30')
  assert.equal(interval([-1.2, 0.4]), '−1.20 to 0.40')
  assert.deepEqual([spread(2, 0.5), spread(2, null), spread(null, null)], ['2.00 ± 0.50', '2.00', '–'])
  assert.deepEqual([count(1200), megabytes(94_300_000), megabytes(null)], ['1,200', '94 MB', '–'])
  assert.deepEqual([999, 1000, 84_585, 5_126_036].map(sizeOf), ['999 B', '1 kB', '84.6 kB', '5.13 MB'])
})

test('a small p keeps its power of ten', () => {
  assert.deepEqual([0.0414, 2.21e-7, 3.7e-24, 0].map(probability), [
    '0.041',
    '2.2 × 10⁻⁷',
    '3.7 × 10⁻²⁴',
    '< 10⁻³⁰⁰',
  ])
})

test('moments and durations are short', () => {
  assert.equal(moment('2026-05-12T09:30:59.123Z'), '2026-05-12 09:30 UTC')
  assert.deepEqual([seconds(1440), seconds(null)], ['1.4 s', '–'])
})

test('measured losses of a network stand beside the planted ones, and a miss is named', () => {
  const up = {
    sent: 2000,
    lost: 22,
    overflowed: 0,
    lostShare: 0.011,
    lostShareCi95: [0.0073, 0.0166],
  } as const
  const down = { ...up, lost: 300, lostShare: 0.15, lostShareCi95: [0.135, 0.1664] } as const
  const packets = { name: 'wan+1%', congestion: 'cubic', plantedShare: 0.01, burst: 1.01, up, down }
  const { tables, paragraphs } = packetsSection([packets])
  assert.deepEqual(tables?.[0]?.rows, [
    ['wan+1%, to the server', '2,000', '22', '1.10', '0.73 to 1.66', '1.00', '1.01', '0'],
    ['wan+1%, to the windows', '2,000', '300', '15.0', '13.5 to 16.6', '1.00', '1.01', '0'],
  ])
  assert.match(paragraphs?.[0] ?? '', /^The planted loss is outside the interval of wan\+1%, to the windows;/)
  const found = packetsSection([{ ...packets, down: up }])
  assert.match(found.paragraphs?.[0] ?? '', /^The planted loss is within every interval\./)
})

test('a table gives up its last columns, then shortens its names, to fit', () => {
  const whole = table('Times', ['Mode', 'Mean', 'Median'], [['SSE + XHR, HTTP/2', 8.16, 7.49]])
  const inside = (characters: number) => {
    const { columns, rows } = fitted(whole, characters)
    return [columns.map(({ title }) => title).join(), ...(rows[0] ?? [])]
  }
  assert.deepEqual(inside(31), ['Mode,Mean,Median', 'SSE + XHR, HTTP/2', '8.16', '7.49'])
  assert.deepEqual(inside(30), ['Mode,Mean', 'SSE + XHR, HTTP/2', '8.16'])
  assert.deepEqual(inside(20), ['Mode,Mean', 'SSE + XHR, HT…', '8.16'])
  for (const line of tableText(fitted(whole, 20)).split('\n')) assert.ok(line.length <= 22, line)
})
