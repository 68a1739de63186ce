// The meaning of a made-up run: to people, to programs, to the server, and beside other systems.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keystrokes } from './keystrokes.ts'
import { type Making, madeRun, threeModes } from './testing.ts'

const summaryOf = (making: Making = {}) => keystrokes.analyse(madeRun(making))

test('every mode and every peer is named in the verdict or the remarks', () => {
  const systems = [
    { mode: 'bare:websocket/1.1', medianMs: 1.5 },
    { mode: 'mercure:sse/3', medianMs: 5 },
  ]
  const { finding, remarks } = summaryOf({ behaviours: [...threeModes, ...systems] })
  for (const name of ['WebSocket was the fastest of 3 modes', 'HTTP/2 ', 'HTTP/1.1 '])
    assert.ok(finding.includes(name), finding)
  const others = remarks.find((words) => words.startsWith('Other systems: '))
  assert.match(others ?? '', /WebSocket took \d\.\d+ times as long as bare \(.*; mercure took \d\.\d\d ms\.$/)
})

test('the difference between modes is explained by what people notice and programs can send', () => {
  const meaningOf = (slowMs: number) => {
    const behaviours = [
      { mode: 'websocket/1.1', medianMs: 2 },
      { mode: 'sse/2', medianMs: slowMs },
    ]
    return summaryOf({ behaviours }).remarks
  }
  const [people, programs] = meaningOf(5)
  assert.match(
    people ?? '',
    /^Between WebSocket and SSE .* lie \d\.\d\d ms, which is less than a person .*34 ms/,
  )
  assert.match(programs ?? '', /sends [45]\d\d a second with WebSocket and [12]\d\d with SSE .*µs with SSE/)
  assert.match(meaningOf(43)[0] ?? '', / enough for some people to notice: /)
  assert.match(meaningOf(100)[0] ?? '', / enough for most people to notice: /)
})
