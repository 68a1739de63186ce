// What a run shows while it measures: on a terminal a live table, elsewhere sentences.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { table } from '../report/section.ts'
import { RunProgress, standingLines } from './run-progress.ts'

const compared = { caption: 'Time', subjects: ['sse/2'], baselineOf: () => undefined }
const turn = { subject: 'sse/2', values: [4], received: 1, expected: 1 }

function started(isTTY: boolean) {
  const written: string[] = []
  const output = { isTTY, columns: 80, rows: 24, write: (text: string) => written.push(text) }
  const stop = new AbortController()
  return { progress: new RunProgress(output, stop.signal), last: () => written.at(-1) ?? '', stop }
}

test('a terminal shows the table so far, the step, the session and the time left', () => {
  const { progress, last, stop } = started(true)
  progress.compare(compared)
  using _ = progress.startSessions(2, { sessionMs: 60_000 })
  progress.startSession(1)
  progress.step('typing')
  assert.match(last(), /typing\S*\n {2}Session 1 of 2, [12]:\d\d left/)
  progress.took(turn, 'a sentence')
  assert.match(last(), /SSE \+ XHR, HTTP\/2 +4\.00/)
  progress.forgetSession()
  progress.took({ ...turn, values: [6] })
  assert.match(last(), /SSE \+ XHR, HTTP\/2 +6\.00/)
  stop.abort()
  progress.step('too late')
  assert.equal(last(), '\n')
})

test('elsewhere a turn and a session are a sentence each, and steps are not said', () => {
  const { progress, last } = started(false)
  progress.compare(compared)
  using _ = progress.startSessions(2, { sessionMs: 60_000 })
  assert.equal(last(), '  This takes about 2 minutes.\n')
  progress.startSession(1)
  progress.took(turn, 'It took 4 ms.')
  progress.step('typing')
  assert.equal(last(), '  It took 4 ms.\n')
  progress.sessionDone()
  assert.match(last(), /^ {2}Session 1 of 2 is done; about \d+ seconds left\.\n$/)
  progress.announce('warming up')
  assert.equal(last(), '  warming up\n')
})

test('a live table fits into the terminal: neither wider nor higher', () => {
  const modes = ['sse/2', 'websocket/1.1', 'long-polling/1.1', 'polling/1.1']
  const whole = table(
    'Times',
    ['Mode', 'Mean', 'Median'],
    modes.map((mode) => [mode, 12, 11]),
  )
  assert.equal(standingLines(whole, 80, 6).length, 6)
  assert.deepEqual(standingLines(whole, 28, 5), [
    '  Times',
    '  Mode              Mean',
    '  sse/2             12.0',
    '  websocket/1.1     12.0',
    '  … and 2 more rows',
  ])
})
