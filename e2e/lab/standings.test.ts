// The live table of a run: the samples that count in each column, and when it has an interval.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Standings } from './standings.ts'

const compared = {
  caption: 'Time',
  subjects: ['sse/2', 'websocket/1.1'],
  baselineOf: () => 'websocket/1.1',
}

const turn = (subject: string, ...values: readonly number[]) => ({
  subject,
  values,
  received: values.length,
  expected: 2,
})

test('before the first turn every row is there, without figures', () => {
  const { caption, rows } = new Standings(compared).table
  assert.equal(caption, 'Time, so far')
  assert.deepEqual(rows, [
    ['SSE + XHR, HTTP/2', '–', '–', '–', '–', '–'],
    ['WebSocket (baseline)', '–', '–', '–', '–', '–'],
  ])
})

test('a turn counts at once; the ratio is of whole sessions once there is one, and two give an interval', () => {
  const standings = new Standings(compared)
  const cells = () => standings.table.rows[0]?.slice(1)
  standings.add(turn('sse/2', 4))
  assert.deepEqual(cells(), ['4.00', '–', '–', '1 of 2', '4.00'])
  standings.add(turn('websocket/1.1', 2, 2))
  assert.deepEqual(cells(), ['4.00', '2.00', '–', '1 of 2', '4.00'])
  standings.sessionDone()
  standings.add(turn('sse/2', 16, 16))
  assert.deepEqual(cells(), ['12.0', '2.00', '–', '3 of 4', '16.0'])
  standings.add(turn('websocket/1.1', 2, 2))
  standings.sessionDone()
  const [mean, ratio, interval] = cells() ?? []
  // The geometric mean of 2 and 8.
  assert.deepEqual([mean, ratio], ['12.0', '4.00'])
  assert.match(interval ?? '', /^0\.00 to [\d,]+$/)
  assert.deepEqual(standings.table.rows[1]?.slice(2, 4), ['1.00', '–'])
})

test('a session that is measured again leaves nothing behind', () => {
  const standings = new Standings(compared)
  standings.add(turn('sse/2', 4, 4))
  standings.forgetSession()
  standings.add(turn('sse/2', 6, 6))
  assert.deepEqual(standings.table.rows[0]?.slice(1), ['6.00', '–', '–', '2 of 2', '6.00'])
})

test('the group of the last turn is shown alone, with subjects that nobody announced', () => {
  const standings = new Standings(compared)
  standings.add({ ...turn('websocket/1.1', 1), group: '10 B' })
  standings.add({ ...turn('bare:sse/2', 3), group: '1 MB' })
  const { caption, rows } = standings.table
  assert.equal(caption, 'Time, 1 MB, so far')
  assert.deepEqual(
    rows.map(([name, mean]) => [name, mean]),
    [
      ['SSE + XHR, HTTP/2', '–'],
      ['WebSocket (baseline)', '–'],
      ['bare: SSE + XHR, HTTP/2', '3.00'],
    ],
  )
})
