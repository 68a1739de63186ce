// CSV files of reports: what is written is read back.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countCsvRows, csvTime, formatCsv, formatRows, parseCsv } from './csv.ts'

test('quotes, commas and line ends stay inside their cell; null is empty; no rows are a header', () => {
  const columns = [
    ['n', (_row: string | null, index: number) => index],
    ['text', (row: string | null) => row],
  ] as const
  const text = formatCsv(columns, ['a,b', 'x"y\nz', null])
  assert.equal(text, 'n,text\n0,"a,b"\n1,"x""y\nz"\n2,\n')
  assert.equal(countCsvRows(text), 3)
  assert.equal(formatCsv(columns, []), 'n,text\n')
})

test('times have three decimals', () => {
  assert.equal(formatRows([{ sentAt: 1016.12345, bytes: 1.5 }]), 'sent_at,bytes\n1016.123,1.5\n')
  assert.deepEqual([csvTime(1016.12345), csvTime(null)], ['1016.123', null])
})

test('each cell is read back by its key, with the quotes, commas and line ends that it contains', () => {
  const rows = [
    { sentAt: '1', whyNot: 'a,b' },
    { sentAt: '', whyNot: 'x"y\nz' },
    { sentAt: '"', whyNot: '' },
    { sentAt: '2', whyNot: ',' },
  ]
  assert.deepEqual(parseCsv(formatRows(rows)), rows)
  assert.deepEqual(parseCsv('sent_at,why_not\n1,\n2\n'), [{ sentAt: '1', whyNot: '' }, { sentAt: '2' }])
  assert.deepEqual([parseCsv('sent_at\n'), parseCsv('')], [[], []])
})
