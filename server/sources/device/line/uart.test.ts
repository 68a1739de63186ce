// Checks that bytes leave as fast as the line carries them, in order, and that little waits.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../../wire/manual-time.ts'
import { createUart, longestAheadMs } from './uart.ts'

function open(pieceBytes = 16) {
  const time = createManualTime()
  const startAt = time.now()
  const heard: string[] = []
  const uart = createUart({
    timers: time,
    pieceBytes,
    onBytes: (bytes) => void heard.push(`${Buffer.from(bytes).toString('latin1')}@${time.now() - startAt}`),
  })
  const send = (text: string, endAtMs: number, durationMs: number) =>
    uart.send(Buffer.from(text, 'latin1'), startAt + endAtMs, durationMs)
  return { time, heard, uart, send, startAt }
}

test('a piece comes when its last byte has left, the last one at the end', () => {
  const { send, time, heard } = open(4)
  send('abcdefghij', 100, 50)
  time.advance(99)
  assert.deepEqual(heard, ['abcd@70', 'efgh@90'])
  time.advance(1)
  assert.deepEqual(heard.slice(2), ['ij@100'])
})

test('the line carries one message after the other', () => {
  const { send, time, heard, uart, startAt } = open()
  send('first', 10, 10)
  send('second', 12, 10)
  assert.equal(uart.freeAt(), startAt + 20)
  time.advance(100)
  assert.deepEqual(heard, ['first@10', 'second@20'])
  assert.equal(uart.freeAt(), startAt + 100)
})

test('what is late already comes at once', () => {
  const { send, time, heard } = open(2)
  time.advance(1000)
  send('abc', 500, 10)
  time.advance(0)
  assert.deepEqual(heard, ['ab@1000', 'c@1000'])
})

test('a stalled process gets all that fell due', () => {
  const { send, time, heard } = open()
  send('a', 10, 1)
  send('b', 20, 1)
  send('c', 30, 1)
  time.stall(25)
  time.advance(0)
  assert.deepEqual(heard, ['a@25', 'b@25'])
  time.advance(5)
  assert.deepEqual(heard.slice(2), ['c@30'])
})

test('beyond its memory a message is lost whole', () => {
  const { send, time, heard } = open(8192)
  for (let i = 0; i < 6; i++) send(String(i).repeat(1000), 0, 1)
  time.advance(100)
  assert.deepEqual(
    heard.map((text) => text.slice(0, 1)),
    ['0', '1', '2', '3'],
  )
})

test('a clock that is set back delays nothing for long', () => {
  const { send, time, heard } = open()
  send('a', 10, 10)
  time.setClock(-3_600_000)
  send('b', -3_600_000 + 20, 10)
  time.advance(3 * longestAheadMs + 50)
  assert.equal(heard.length, 2)
})

test('a host that answers from within is heard in turn', () => {
  const time = createManualTime()
  const heard: string[] = []
  const uart = createUart({
    timers: time,
    pieceBytes: 16,
    onBytes(bytes) {
      heard.push(Buffer.from(bytes).toString('latin1'))
      if (heard.length < 3) uart.send(Buffer.from('again'), time.now() + 10, 10)
    },
  })
  uart.send(Buffer.from('first'), time.now() + 10, 10)
  time.advance(29)
  assert.deepEqual(heard, ['first', 'again'])
  time.advance(1)
  assert.deepEqual(heard, ['first', 'again', 'again'])
})

test('stopped, it is quiet', () => {
  const { send, time, heard, uart } = open()
  send('abc', 10, 3)
  uart.stop()
  time.advance(100)
  assert.deepEqual(heard, [])
  assert.equal(time.pending(), 0)
})
