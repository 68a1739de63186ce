import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireMode } from './mode-names.ts'
import { Lab } from './run-sessions.ts'
import { countModes, formatCounting, layersOf, type WireBytes, wireSections } from './wire-bytes.ts'

const none = { records: 0, bytes: 0, overheadBytes: 0 }

test('divides what passed among the messages, and names each layer', () => {
  const before = { records: 10, bytes: 5000, overheadBytes: 220 }
  const after = { records: 14, bytes: 5800, overheadBytes: 308 }
  const messages = [
    { bytes: 150, bodyBytes: 40 },
    { bytes: 160, bodyBytes: 42 },
  ]
  assert.deepEqual(layersOf(before, after, messages, 2), {
    payload: 41,
    envelope: 114,
    framing: 400 - 44 - 155,
    tls: 44,
    total: 400,
    records: 2,
  })
})

test('bytes that bring no message count as frames and TLS', () => {
  const { payload, envelope, framing, tls, total } = layersOf(
    none,
    { records: 1, bytes: 39, overheadBytes: 22 },
    [],
    1,
  )
  assert.deepEqual([payload, envelope, framing, tls, total], [0, 0, 17, 22, 39])
})

const silent = layersOf(none, none, [], 1)
const some = layersOf(none, { records: 1, bytes: 300, overheadBytes: 22 }, [{ bytes: 200, bodyBytes: 45 }], 1)
const pushed: WireBytes = { mode: 'sse/2', up: some, down: some, back: some, asked: silent }
const polled: WireBytes = { mode: 'polling/2', up: null, down: some, back: null, asked: some }

test('a table for each direction, without the modes that sent nothing there', () => {
  const [section] = wireSections([pushed, polled], formatCounting('keys'))
  assert.deepEqual(
    section?.tables?.map(({ rows }) => rows.map(([mode]) => mode)),
    [
      ['SSE + XHR, HTTP/2'],
      ['SSE + XHR, HTTP/2', 'Polling, HTTP/2'],
      ['SSE + XHR, HTTP/2'],
      ['Polling, HTTP/2'],
    ],
  )
  assert.deepEqual(section?.tables?.[0]?.rows[0]?.slice(1), ['45.0', '155', '78.0', '22.0', '300', '1.00'])
})

test('an unmeasured direction has no table, and a report without figures no section', () => {
  const [section] = wireSections([polled], formatCounting('readings'), [['Site', () => 'Lund']])
  assert.deepEqual(
    section?.tables?.map(({ columns }) => columns[1]?.title),
    ['Site', 'Site'],
  )
  assert.deepEqual(wireSections(undefined, ''), [])
  assert.deepEqual(wireSections([], ''), [])
})

test('a system that cannot be counted is left out, and the run says why', async (t) => {
  const lab = new Lab('', new AbortController().signal, null, {})
  const say = t.mock.method(lab.progress, 'say', () => undefined)
  const system = { name: 'sse/2', mode: requireMode('sse/2'), forgets: false }
  assert.deepEqual(await countModes([], [system], () => ({ address: '', sends: [] }), lab), [])
  assert.match(String(say.mock.calls[0]?.arguments[0]), /^Bytes were not counted\. .*two windows\.$/)
})
