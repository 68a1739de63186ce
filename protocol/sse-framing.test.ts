import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSseReader, formatEvent, type SseEvent } from './sse-framing.ts'

function read(chunks: string[]): Required<SseEvent>[] {
  const events: Required<SseEvent>[] = []
  const reader = createSseReader((event) => events.push(event))
  for (const chunk of chunks) reader.push(chunk)
  return events
}

const texts = [
  '',
  'a',
  '\n',
  'a\nb',
  '\n\na',
  'a\n\n',
  'data: x\n\nevent: bye',
  ': x',
  ' leading',
  '\uFEFFbom',
  '💨',
]

test('any text survives, whole or byte by byte', () => {
  for (const data of texts) {
    const framed = formatEvent({ event: 'message', id: 'e:1', data })
    const expected = [{ event: 'message', id: 'e:1', data }]
    assert.deepEqual(read([framed]), expected, JSON.stringify(data))
    assert.deepEqual(read([...framed]), expected, `in pieces: ${JSON.stringify(data)}`)
  }
})

test('CR and CRLF in data cannot end the event', () => {
  assert.deepEqual(read([formatEvent({ data: 'a\rb\r\nc\r\r\nevent: bye' })]), [
    { event: 'message', id: '', data: 'a\nb\nc\n\nevent: bye' },
  ])
})

test('a line end in the name or id is refused', () => {
  assert.throws(() => formatEvent({ event: 'a\nb', data: '' }), /SSE event must be one line/)
  assert.throws(() => formatEvent({ id: 'a\rb', data: '' }), /SSE id must be one line/)
})

test('the reader accepts any line end, comments, a BOM, a missing space, and keeps the id', () => {
  assert.deepEqual(read(['\uFEFF: hello\r\rid:7\r\ndata:a\r', '\n\r\n', 'data: b\n\n', 'event: x\n\n']), [
    { event: 'message', id: '7', data: 'a' },
    { event: 'message', id: '7', data: 'b' },
  ])
})
