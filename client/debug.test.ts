// The trace of a link: its messages, its streams and its fallbacks, and what it leaves out.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { collectTraces } from '../protocol/testing.ts'
import { debug } from './debug.ts'
import { messageOf, mode, openLink, settled } from './testing.ts'
import { BusyError, RefusedError } from './transports/transport.ts'

/** Its lines are those of these sections, without times. */
function openTraced(list: string, change: Parameters<typeof openLink>[0] = {}) {
  const traced = collectTraces('')
  const LinkClass = debug(
    list,
    (line) => void traced.lines.push(line.replace(/^\S+ +/, '').replace(/ +/, ' ')),
  )
  return { ...openLink({ LinkClass, ...change }), ...traced }
}

test('a message’s life in the window that sends it: drafted, sent, stored, received, applied', async () => {
  using opened = openTraced('link,outbox')
  const { newest, publish, lines } = opened
  newest().welcome()
  lines.length = 0
  publish()
  await newest().store('w1-1', 1)
  newest().frame({ type: 'message', message: { ...messageOf(1), id: 'w1-1' } })
  assert.deepEqual(lines, [
    'outbox w1-1 drafted: update on main',
    'outbox w1-1 sent over sse/2, attempt 1',
    'outbox w1-1 answered: stored as 1',
    'link w1-1 received by w1 over sse/2: stored as 1',
    'link w1-1 applied by w1',
  ])
})

test('a message is sent again after a loss, and when the server was busy; a refused one is not', async () => {
  using opened = openTraced('outbox')
  const { time, newest, publish, lines } = opened
  newest().welcome()
  publish()
  newest().end()
  time.advance(1000)
  newest().welcome()
  await newest().fail('w1-1', new BusyError('Wait.', 500))
  time.advance(500)
  await newest().fail('w1-1', new RefusedError('too-large', 'No.'))
  assert.deepEqual(lines, [
    'outbox w1-1 drafted: update on main',
    'outbox w1-1 sent over sse/2, attempt 1',
    'outbox w1-1 sent over sse/2, attempt 2',
    'outbox w1-1 to be sent again in 500 ms: the server is busy',
    'outbox w1-1 sent over sse/2, attempt 3',
    'outbox w1-1 refused: too-large',
  ])
})

test('a draft may be renamed, or find no room', async () => {
  using opened = openTraced('outbox', { bounds: { messages: 1, bytes: 1000 } })
  const { link, newest, publish, lines } = opened
  publish()
  link.publish('main', 'title', { title: 'no room' })
  newest().welcome()
  await newest().fail('w1-1', new RefusedError('id-taken', 'No.'))
  assert.deepEqual(lines, [
    'outbox w1-1 drafted: update on main',
    'outbox w1 has no room for another draft on main',
    'outbox w1-1 sent over sse/2, attempt 1',
    'outbox w1-1 renamed w1-3r100000000: the log has another message of its id',
    'outbox w1-3r100000000 drafted: update on main',
    'outbox w1-3r100000000 sent over sse/2, attempt 1',
  ])
})

test('a stream’s life: opened from a cursor, recovered or not, and why it ended', () => {
  using opened = openTraced('link')
  const { link, time, newest, lines } = opened
  newest().welcome({ cursor: 'life1:3' })
  newest().end({ code: 'draining', retryAfterMs: 300 })
  time.advance(300)
  newest().welcome({ recovered: false, cursor: 'life1:9' })
  newest().frame({ type: 'omitted', count: 2 })
  newest().heartbeat(12)
  newest().welcome({ cursor: 'life2:0', recovered: false })
  link.wake('restored')
  assert.deepEqual(lines, [
    'link w1 opens sse/2 without a cursor, opening 1: main,wind',
    'link w1 is welcomed over sse/2 at life1:3: not recovered',
    'link w1 lost sse/2: draining, to reopen in 300 ms',
    'link w1 opens sse/2 from life1:0, opening 2: main,wind',
    'link w1 is welcomed over sse/2 at life1:9: not recovered',
    'link w1 missed messages from life1:0 to life1:9; the newest follow',
    'link w1 was not sent 2 messages that may be missed: it was too slow',
    'link w1 closes sse/2',
    'link w1 opens sse/2 from life1:0, opening 3: main,wind',
    'link w1 reopens: a message before the heartbeat is missing',
    'link w1 is welcomed over sse/2 at life2:0: not recovered',
    'link w1 is in a new log: its numbers begin anew',
    'link w1 missed messages from life1:0 to life2:0; the newest follow',
    'link w1 wakes up: restored',
    'link w1 closes sse/2',
    'link w1 opens sse/2 from life2:0, opening 4: main,wind',
  ])
})

test('a fallback’s decisions: what failed and why, what is next, when the preferred mode is tried again', () => {
  using opened = openTraced('fallback', { mode: mode('websocket/2') })
  const { link, time, newest, lines } = opened
  const welcome = () => newest().welcome({ heartbeatMs: 1_000_000 })
  newest().end()
  time.advance(250)
  newest().end({ sentence: 'Blocked.' })
  time.advance(500)
  welcome()
  time.advance(37_500)
  newest().end()
  time.advance(75_000)
  welcome()
  link.switchMode(mode('polling/1.1'))
  assert.deepEqual(lines, [
    'fallback w1 tries websocket/2 in 250 ms, after websocket/2: Lost.',
    'fallback w1 tries websocket/1.1 in 500 ms, after websocket/2: Blocked.',
    'fallback w1 uses websocket/1.1, instead of websocket/2: blocked',
    'fallback w1 tries websocket/2 again in 37500 ms',
    'fallback w1 tries websocket/2 beside websocket/1.1',
    'fallback w1 tries websocket/2 again in 75000 ms',
    'fallback w1 tries websocket/2 beside websocket/1.1',
    'fallback w1 uses websocket/2, as wished',
    'fallback w1 switches to polling/1.1, as it was told',
  ])
})

test('a window whose session is refused asks whether it is let in', () => {
  using opened = openTraced('fallback')
  const { newest, lines } = opened
  newest().end({ code: 'refused', sentence: 'Not you.' })
  assert.deepEqual(lines, ['fallback w1 asks whether it is let in, after sse/2: Not you.'])
})

test('the trace of a silent stream names the reason', () => {
  using opened = openTraced('fallback')
  const { time, newest, lines } = opened
  newest().welcome({ heartbeatMs: 1000 })
  time.advance(2500)
  const reason = 'The server has fallen silent.'
  assert.deepEqual(lines, [
    'fallback w1 uses sse/2, as wished',
    `fallback w1 tries sse/2 in 250 ms, after sse/2: ${reason}`,
  ])
})

test('the trace contains no key, content or state of a window', async () => {
  using opened = openTraced('*', {
    proof: [
      ['key', 'private'],
      ['ticket', 'private'],
    ],
  })
  const { link, time, newest, publish, lines } = opened
  newest().welcome()
  publish('private')
  link.setAwareness({ state: { name: 'private' } })
  await newest().fail('w1-1', new Error('There is no response to POST /messages?key=private.'))
  time.advance(1000)
  newest().welcome()
  newest().frame({ type: 'message', message: { ...messageOf(1), body: { html: 'private' } } })
  await newest().fail('w1-1', new RefusedError('bad-shape', 'It is "private".'))
  assert.ok(lines.some((line) => line.endsWith('refused: bad-shape')))
  assert.deepEqual(
    lines.filter((line) => line.includes('private')),
    [],
  )
})

test('all that a connection is told reaches it with traces, too', () => {
  using opened = openTraced('link')
  const { link, newest, heard } = opened
  newest().welcome()
  link.setAwareness({ state: 'x'.repeat(5000), channel: 'main' })
  newest().frame({ type: 'presence', windows: 2, browserHttp1Streams: 0 })
  assert.deepEqual([heard.statesRefused, heard.windows], [['main too-large 5002'], [2]])
})

test('only the sections that were asked for tell anything', async () => {
  using opened = openTraced('outbox')
  const { newest, lines } = opened
  newest().welcome()
  newest().message(1)
  newest().end()
  await settled()
  assert.deepEqual(lines, [])
})

test('in Node the variable CROSSWIND_DEBUG turns it on, on standard error', () => {
  const door = JSON.stringify(join(import.meta.dirname, 'node.ts'))
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', `import(${door})`], {
    env: { ...process.env, CROSSWIND_DEBUG: 'linc' },
    encoding: 'utf8',
  })
  assert.deepEqual([stdout, stderr.split(';')[0]], ['', 'There is nothing named linc to trace'])
})
