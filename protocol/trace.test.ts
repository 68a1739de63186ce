import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectTraces } from './testing.ts'
import { trace, traceSections, turnOnTraces } from './trace.ts'

const sectionsOn = () => traceSections.filter((section) => trace[section] !== null)

test('no section is on by default, and none by an empty list', () => {
  using traced = collectTraces('')
  assert.deepEqual([sectionsOn(), traced.lines], [[], []])
})

test('a list turns on the sections that it names, and tells each sentence with its section', () => {
  using traced = collectTraces('hub, link')
  assert.deepEqual(sectionsOn(), ['hub', 'link'])
  trace.hub?.('a')
  trace.link?.('b')
  assert.deepEqual(traced.lines, ['hub a', 'link b'])
})

test('a star turns on all', () => {
  using _traced = collectTraces('*')
  assert.deepEqual(sectionsOn(), traceSections)
})

test('an unknown section gets one sentence that names the known ones; the others are on', () => {
  using _traced = collectTraces('')
  const known = 'uplink, log, hub, stream, link, outbox, fallback, and * for all'
  const nothing = () => undefined
  assert.equal(turnOnTraces('hubb,log', nothing), `There is nothing named hubb to trace; there are ${known}.`)
  assert.deepEqual([sectionsOn(), turnOnTraces('*', nothing)], [['log'], null])
})
