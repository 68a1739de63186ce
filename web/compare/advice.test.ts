// What is advised follows from the intervals, and never names a mode that lost messages.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modes } from '../../protocol/modes.ts'
import { createSeededRandom, drawNormal } from '../../protocol/time.ts'
import { advise, formatAdvice } from './advice.ts'
import type { Row } from './comparison.ts'

const rounds = [5, 6, 5, 6, 5, 6]
const times = (factor: number) => rounds.map((ms, round) => ms * factor * (1 + round / 100))
/** Up and down, and about the same in the mean. */
const alike = [6, 5.1, 5.9, 5, 6, 5.2]

type Change = Partial<Pick<Row, 'medians' | 'received' | 'failure'>>

/** Rows of these modes, in which a list is the medians of the rounds. */
function rowsOf(given: Readonly<Record<string, readonly (number | null)[] | Change>>): Row[] {
  return modes
    .filter(({ name }) => name in given)
    .map((mode) => {
      const row = { mode, serverHttp: mode.http, sent: 24, received: 24, medians: rounds, failure: null }
      const change = given[mode.name] ?? {}
      return Array.isArray(change) ? { ...row, medians: change } : { ...row, ...(change as Change) }
    })
}

const lossy = { received: 22, failure: 'missing' } as const
const unopened = { medians: [null], received: 0, failure: 'late' } as const

test('each kind of advice, with its modes and sentences', () => {
  for (const [given, inUse, kind, sentence, reason] of [
    [
      { 'sse/2': times(2), 'websocket/1.1': rounds, 'polling/2': times(9) },
      'sse/2',
      'faster',
      'Use WebSocket here.',
      /^It is 2\.0 to 2\.1 times as fast as SSE \+ XHR over HTTP\/2, which this window uses: 5\.5 ms against 11 ms\.$/,
    ],
    [
      { 'sse/2': rounds, 'websocket/1.1': times(1.5), 'polling/2': times(9) },
      'sse/2',
      'fastest',
      'Keep SSE + XHR over HTTP/2.',
      /^It is the fastest here: 5\.5 ms\. WebSocket, the next, takes 1\.5 to 1\.6 times as long\.$/,
    ],
    [
      { 'sse/2': alike, 'websocket/1.1': rounds, 'polling/2': times(9) },
      'sse/2',
      'undecided',
      'Keep SSE + XHR over HTTP/2.',
      /^WebSocket may be faster here: not certain \(5\.5 ms against 5\.5 ms\)\.$/,
    ],
    [
      { 'sse/2': rounds, 'websocket/1.1': alike },
      'sse/2',
      'undecided',
      'Keep SSE + XHR over HTTP/2.',
      /^WebSocket may be just as fast here \(5\.5 ms against 5\.5 ms\)\.$/,
    ],
    // Two rounds decide nothing.
    [
      { 'sse/2': [100, 100], 'websocket/1.1': [1, 1] },
      'sse/2',
      'undecided',
      'Keep SSE + XHR over HTTP/2.',
      /not certain \(1\.0 ms against 100 ms\)\.$/,
    ],
    [
      { 'sse/2': times(2), 'websocket/1.1': { ...lossy, medians: rounds }, 'polling/2': times(9) },
      'sse/2',
      'lossyNext',
      'Keep SSE + XHR over HTTP/2.',
      /^WebSocket may be faster here \(5\.5 ms against 11 ms\), but lost 2 of 24 messages\.$/,
    ],
    [
      { 'sse/2': { ...lossy, medians: rounds }, 'websocket/1.1': times(2) },
      'sse/2',
      'lossyInUse',
      'SSE + XHR over HTTP/2 is not reliable here.',
      /^It lost 2 of 24 messages\. WebSocket lost nothing: 11 ms against 5\.5 ms\.$/,
    ],
    [
      { 'sse/2': { ...lossy, medians: times(2) }, 'websocket/1.1': rounds },
      'sse/2',
      'faster',
      'Use WebSocket here.',
      /^It is 2\.0 to 2\.1 times as fast/,
    ],
    [{ 'sse/2': lossy, 'websocket/1.1': lossy }, 'sse/2', 'allLossy', 'No mode is reliable.', /again\.$/],
    [{ 'sse/2': { failure: 'lost' } }, 'sse/2', 'allLossy', 'No mode is reliable.', /connection/],
    [
      { 'sse/2': rounds, 'websocket/1.1': unopened },
      'sse/2',
      'only',
      'Keep SSE + XHR over HTTP/2.',
      /No other/,
    ],
    [
      { 'sse/2': unopened, 'websocket/1.1': rounds },
      'sse/2',
      'only',
      'Only WebSocket works here.',
      /^No other mode could be measured, not even SSE \+ XHR over HTTP\/2, which this window uses\.$/,
    ],
    [
      { 'sse/2': rounds },
      null,
      'only',
      'Only SSE + XHR over HTTP/2 works.',
      /^No other mode could be measured\.$/,
    ],
    [
      { 'sse/1.1': unopened, 'websocket/1.1': rounds, 'polling/2': times(9) },
      'sse/1.1',
      'best',
      'Of those measured, WebSocket is the fastest.',
      /^SSE \+ XHR over HTTP\/1\.1, which this window uses, could not be measured\. It takes 5\.5 ms\. Polling/,
    ],
    [
      { 'sse/2': times(2), 'websocket/1.1': rounds },
      null,
      'best',
      'WebSocket is the fastest there.',
      /^It takes 5\.5 ms\. SSE \+ XHR over HTTP\/2, the next, takes 2\.0 to 2\.1 times as long\.$/,
    ],
    [
      { 'sse/2': alike, 'websocket/1.1': rounds },
      null,
      'best',
      'WebSocket may be the fastest there.',
      /^It takes 5\.5 ms\. SSE \+ XHR over HTTP\/2 may be just as fast \(5\.5 ms\)\.$/,
    ],
    [
      { 'sse/2': { ...lossy, medians: rounds }, 'websocket/1.1': times(2) },
      null,
      'best',
      'WebSocket may be the fastest there.',
      /over HTTP\/2 may be faster \(5\.5 ms\), but lost 2 of 24 messages\.$/,
    ],
    [{ 'sse/2': unopened, 'websocket/1.1': unopened }, 'sse/2', 'none', 'No mode gets through.', /why/],
    [{}, null, 'none', 'No mode gets through.', /why/],
  ] as const) {
    const advice = advise(rowsOf(given), inUse)
    const words = formatAdvice(advice)
    assert.deepEqual([advice.kind, words.sentence], [kind, sentence], JSON.stringify(given))
    assert.match(words.reason, reason)
  }
})

test('of several that are certainly faster, the fastest that lost nothing is advised', () => {
  const rows = rowsOf({
    'sse/2': times(4),
    'websocket/1.1': { ...lossy, medians: times(0.5) },
    'streaming/2': times(2),
    'long-polling/2': { failure: 'lost' },
    'polling/2': rounds,
  })
  const advice = advise(rows, 'sse/2')
  assert.equal(advice.kind === 'faster' && advice.best.mode.name, 'polling/2')
  // The order of the rows says nothing.
  assert.deepEqual(advise(rows.toReversed(), 'sse/2'), advice)
})

test('of seven equal modes, another one is advised in at most 5 % of comparisons', () => {
  const random = createSeededRandom(8)
  let wrong = 0
  for (let run = 0; run < 1000; run += 1) {
    // The rounds differ for all modes alike.
    const levels = Array.from({ length: 8 }, () => Math.exp(drawNormal(random)))
    const draw = () => levels.map((level) => level * Math.exp(0.3 * drawNormal(random)))
    const given = Object.fromEntries(modes.slice(0, 7).map(({ name }) => [name, draw()]))
    if (advise(rowsOf(given), modes[0]?.name ?? '').kind === 'faster') wrong += 1
  }
  assert.ok(wrong < 50, `${wrong} of 1000`)
})
