// How the server's failures and its other lines are printed, as text and as JSON.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectTraces, createManualTime } from '../protocol/testing.ts'
import { trace } from '../protocol/trace.ts'
import { Output } from './output.ts'

function printing() {
  const time = createManualTime()
  const lines: string[] = []
  const write = (text: string) => void lines.push(text.trimEnd())
  const output = new Output({ out: { write }, err: { write }, later: time.later, now: time.now })
  return { time, lines, output }
}

test('a thousand of one kind are one line now, and a count after ten seconds', () => {
  const { time, lines, output } = printing()
  for (let index = 0; index < 1000; index += 1) output.incident('request-failed', 'A client broke HTTP/2')
  assert.deepEqual(lines, ['A client broke HTTP/2'])
  time.advance(10_000)
  assert.deepEqual(lines, ['A client broke HTTP/2', 'A client broke HTTP/2: 999 more within 10 s.'])
})

test('a single one is never mentioned again, and after ten seconds the next is printed', () => {
  const { time, lines, output } = printing()
  output.incident('request-failed', 'One')
  time.advance(10_000)
  output.incident('request-failed', 'One')
  assert.deepEqual(lines, ['One', 'One'])
})

test('errors from one place are one kind whatever they say, errors from two places are two', () => {
  const { lines, output } = printing()
  const fail = (text: string) => new Error(text)
  for (const text of ['a', 'b', 'c']) output.incident('request-failed', 'A request failed', fail(text))
  output.incident('request-failed', 'A request failed', new Error('elsewhere'))
  assert.equal(lines.length, 2)
  assert.match(lines[0] ?? '', /^A request failed: Error: a\n {4}at fail/)
})

test('any number of kinds prints a bounded number of lines', () => {
  const { time, lines, output } = printing()
  for (let index = 0; index < 10_000; index += 1) output.incident('request-failed', `Kind ${index}`)
  assert.equal(lines.length, 101)
  time.advance(10_000)
  assert.equal(lines.at(-1), 'Many different failures: 9899 more within 10 s.')
})

test('as JSON a line has time, level, code, message and fields, including a failure’s stack', () => {
  const { time, lines, output } = printing()
  const objects: Readonly<Record<string, unknown>>[] = []
  output.name('worker-2')
  output.use('json', { write: (line) => void objects.push(JSON.parse(line)) })
  output.say('worker-ended', 'A worker ended.', { worker: 'worker-1' })
  for (let index = 0; index < 3; index += 1)
    output.incident('request-failed', 'A request failed', new Error('a\nb'))
  time.advance(10_000)
  const [ended, failed, repeated] = objects
  const { time: at, ...rest } = ended ?? {}
  assert.equal(new Date(String(at)).toISOString(), at)
  assert.deepEqual(rest, {
    level: 'error',
    process: 'worker-2',
    pid: process.pid,
    code: 'worker-ended',
    worker: 'worker-1',
    message: 'A worker ended.',
  })
  assert.deepEqual([failed?.code, failed?.message], ['request-failed', 'A request failed'])
  assert.match(String(failed?.error), /^Error: a\nb\n {4}at /)
  assert.deepEqual([repeated?.code, repeated?.repeats, objects.length], ['request-failed', 2, 3])
  assert.deepEqual(lines, [])
  const { 'request-failed': failures, 'worker-ended': ends, crashed, 'log-up': up } = output.incidents()
  assert.deepEqual([failures, ends, crashed, up], [3, 1, 0, undefined])
})

test('a trace is a line with time and section, on standard error, and names one of several processes', () => {
  using _off = collectTraces('')
  const lines: string[] = []
  const fail = () => assert.fail('it was written to standard output')
  const time = createManualTime(Date.UTC(2026, 10, 26, 4, 40, 12, 345))
  const output = new Output({
    out: { write: fail },
    err: { write: (line) => lines.push(line) },
    now: time.now,
  })
  output.trace('hub,nothing')
  // The library asks again for what its application has turned on.
  output.trace('hub,nothing')
  trace.hub?.('w1-1 goes to main')
  output.name('worker-1')
  trace.hub?.('w1-2 goes to main')
  assert.match(lines.shift() ?? '', /^There is nothing named nothing to trace; there are uplink, .*\n$/)
  assert.deepEqual(lines, [
    '2026-11-26T04:40:12.345Z hub      w1-1 goes to main\n',
    '2026-11-26T04:40:12.345Z worker-1 hub w1-2 goes to main\n',
  ])
})

test('a trace as JSON is a line of level debug among the others', () => {
  using _off = collectTraces('')
  const { lines, output } = printing()
  const objects: Readonly<Record<string, unknown>>[] = []
  output.use('json', { write: (line) => void objects.push(JSON.parse(line)) })
  output.trace('log')
  trace.log?.('w1-1 stored as 1')
  trace.hub?.('is off')
  const [{ level, code, section, message } = {}, ...others] = objects
  assert.deepEqual([level, code, section, message], ['debug', 'trace', 'log', 'w1-1 stored as 1'])
  assert.deepEqual([others, lines], [[], []])
})

test('an application adds codes of its own, and cannot redefine the library’s', () => {
  const { lines, output } = printing()
  const own = output.with({ 'pump-started': 'info', 'pump-stuck': 'error' })
  own.say('pump-started', 'The pump runs.')
  own.incident('pump-stuck', 'The pump is stuck')
  own.say('log-up', 'The log is back.')
  assert.deepEqual(lines, ['  The pump runs.', 'The pump is stuck', '  The log is back.'])
  const { 'pump-stuck': stuck, 'pump-started': started } = output.incidents()
  assert.deepEqual([stuck, started], [1, undefined])
  assert.throws(
    () => output.with({ 'log-up': 'info' }),
    /^Error: output: the code "log-up" is taken; choose another\.$/,
  )
})
