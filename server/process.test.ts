// The timers of this process, and what it prints of failures.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { endsWithin, Incidents, processTimers } from './process.ts'
import { createManualTime } from './wire/testing.ts'

test('what is overdue runs at once, and Node has nothing to warn of', async () => {
  const warnings: string[] = []
  const note = ({ name }: Error) => void warnings.push(name)
  process.on('warning', note)
  const { promise, resolve } = Promise.withResolvers<void>()
  processTimers.later(resolve, -250)
  await promise
  // Warnings are told in order: once this one has come, any other has.
  const told = once(process, 'warning')
  process.emitWarning('the last', 'LastWarning')
  await told
  process.off('warning', note)
  assert.deepEqual(warnings, ['LastWarning'])
})

test('what does not end is not waited for past its time', async () => {
  const time = createManualTime()
  const never = endsWithin(new Promise(() => undefined), 500, time)
  time.advance(500)
  assert.equal(await never, false)
  assert.equal(await endsWithin(Promise.resolve(), 500, time), true)
  await assert.rejects(endsWithin(Promise.reject(new Error('no')), 500, time), /no/)
})

function printing() {
  const time = createManualTime()
  const lines: string[] = []
  const incidents = new Incidents((text) => void lines.push(text), time.later)
  return { time, lines, incidents }
}

test('a thousand of one kind are one line now and their count after ten seconds', () => {
  const { time, lines, incidents } = printing()
  for (let index = 0; index < 1000; index += 1) incidents.report('A client broke HTTP/2')
  assert.deepEqual(lines, ['A client broke HTTP/2'])
  time.advance(10_000)
  assert.deepEqual(lines, ['A client broke HTTP/2', 'A client broke HTTP/2: 999 more within 10 s.'])
})

test('one alone is never mentioned again, and after ten seconds the next is printed', () => {
  const { time, lines, incidents } = printing()
  incidents.report('One')
  time.advance(10_000)
  incidents.report('One')
  assert.deepEqual(lines, ['One', 'One'])
})

test('errors from one place are one kind whatever they say, errors from two places are two', () => {
  const { lines, incidents } = printing()
  const fail = (text: string) => new Error(text)
  for (const text of ['a', 'b', 'c']) incidents.report('A request failed', fail(text))
  incidents.report('A request failed', new Error('elsewhere'))
  assert.equal(lines.length, 2)
  assert.match(lines[0] ?? '', /^A request failed: Error: a\n {4}at fail/)
})

test('kinds without number are a bounded number of lines', () => {
  const { time, lines, incidents } = printing()
  for (let index = 0; index < 10_000; index += 1) incidents.report(`Kind ${index}`)
  assert.equal(lines.length, 101)
  time.advance(10_000)
  assert.equal(lines.at(-1), 'Many different failures: 9899 more within 10 s.')
})
