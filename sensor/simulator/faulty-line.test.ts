// Fault notation and schedule, the line's speed, and how a port misreads bytes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../protocol/testing.ts'
import { FaultyLine, lasting, misread, readFault, statusAt } from './faulty-line.ts'

test('a fault is read as kind, second and duration', () => {
  assert.deepEqual(readFault('stall@30+9'), { kind: 'stall', atSeconds: 30, forSeconds: 9 })
  assert.deepEqual(readFault('blocked-u@0+0.5'), { kind: 'blocked-u', atSeconds: 0, forSeconds: 0.5 })
  const kinds = 'blocked-u blocked-v blocked cut shifted flipped stall silence wrong-baud'
  for (const kind of kinds.split(' ')) assert.equal(readFault(`${kind}@1+1`).kind, kind)
})

test('refuses unknown faults and impossible times by name', () => {
  assert.throws(() => readFault('fire@1+1'), /RangeError: "fire@1\+1" is not a fault: .*stall@30\+9.*silence/)
  for (const text of ['', 'stall', 'stall@1', 'stall@-1+2', 'stall@1+2 ', 'cut@x+1'])
    assert.throws(() => readFault(text), /is not a fault/)
  assert.throws(() => readFault('stall@1+9.5'), /stall@1\+9\.5 is too long: a stall lasts up to 9 s/)
  assert.throws(() => readFault('cut@1+0'), /cut@1\+0 is not a valid time/)
})

test('a fault lasts from its start to its end', () => {
  const plan = [readFault('cut@10+5'), readFault('silence@12+1'), readFault('cut@20+1')]
  assert.equal(lasting(plan, 'cut', 9.99), undefined)
  assert.equal(lasting(plan, 'cut', 10), plan[0])
  assert.equal(lasting(plan, 'cut', 14.99), plan[0])
  assert.equal(lasting(plan, 'cut', 15), undefined)
  assert.equal(lasting(plan, 'cut', 20.5), plan[2])
  assert.equal(lasting(plan, 'silence', 12.5), plan[1])
})

test('blocked axes have the manual’s status codes', () => {
  const plan = ['blocked-u@1+1', 'blocked-v@2+1', 'blocked@3+1'].map(readFault)
  assert.deepEqual(
    [0.5, 1.5, 2.5, 3.5, 4.5].map((seconds) => statusAt(plan, seconds)),
    ['00', '01', '02', '04', '00'],
  )
})

const faultless = { random: () => 0, faults: [], noise: 0 }

function open(pieceBytes = 16) {
  const time = createManualTime()
  const startAt = time.now()
  const heard: string[] = []
  const line = new FaultyLine({
    ...faultless,
    timers: time,
    pieceBytes,
    onBytes: (bytes) => void heard.push(`${Buffer.from(bytes).toString('latin1')}@${time.now() - startAt}`),
  })
  const send = (text: string, endAtMs: number, durationMs: number) =>
    line.send(Buffer.from(text, 'latin1'), startAt + endAtMs, durationMs / text.length)
  return { time, heard, line, send, startAt }
}

test('delivers a chunk when its last byte has left the line', () => {
  const { send, time, heard } = open(4)
  send('abcdefghij', 100, 50)
  time.advance(99)
  assert.deepEqual(heard, ['abcd@70', 'efgh@90'])
  time.advance(1)
  assert.deepEqual(heard.slice(2), ['ij@100'])
})

test('the line carries one message after the other', () => {
  const { send, time, heard, line, startAt } = open()
  send('first', 10, 10)
  send('second', 12, 10)
  assert.equal(line.freeAt(), startAt + 20)
  time.advance(100)
  assert.deepEqual(heard, ['first@10', 'second@20'])
  assert.equal(line.freeAt(), startAt + 100)
})

test('delivers overdue bytes at once', () => {
  const { send, time, heard } = open(2)
  time.advance(1000)
  send('abc', 500, 10)
  time.advance(0)
  assert.deepEqual(heard, ['ab@1000', 'c@1000'])
})

test('after a stall of the process, delivers everything that fell due', () => {
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

test('drops a whole message beyond the send buffer', () => {
  const { send, time, heard } = open(8192)
  for (let i = 0; i < 6; i++) send(String(i).repeat(1000), 0, 1)
  time.advance(100)
  assert.deepEqual(
    heard.map((text) => text.slice(0, 1)),
    ['0', '1', '2', '3'],
  )
})

test('a host may write while it receives', () => {
  const time = createManualTime()
  const heard: string[] = []
  const line = new FaultyLine({
    ...faultless,
    timers: time,
    pieceBytes: 16,
    onBytes(bytes) {
      heard.push(Buffer.from(bytes).toString('latin1'))
      if (heard.length < 3) line.send(Buffer.from('again'), time.now() + 10, 2)
    },
  })
  line.send(Buffer.from('first'), time.now() + 10, 2)
  time.advance(29)
  assert.deepEqual(heard, ['first', 'again'])
  time.advance(1)
  assert.deepEqual(heard, ['first', 'again', 'again'])
})

test('delivers nothing after stop', () => {
  const { send, time, heard, line } = open()
  send('abc', 10, 3)
  line.stop()
  time.advance(100)
  assert.deepEqual(heard, [])
  assert.equal(time.pending(), 0)
})

const frame = Buffer.from('\x02Q,229,002.74,M,00,\x0316\r\n', 'latin1')
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

test('bytes read in step at the sender’s rate are unchanged', () => {
  assert.equal(hex(misread(frame, { startBits: 0, ratio: 1 })), hex(frame))
  assert.equal(hex(misread(frame, { startBits: 30, ratio: 1 })), hex(frame.subarray(3)))
})

test('misreads single bytes as worked out by hand', () => {
  const misheard = (byte: number, startBits: number, ratio: number) =>
    hex(misread(Uint8Array.of(byte), { startBits, ratio }))
  // 0 10000010 1 on the line; from the third bit on: start 0, then 0000 1 0, the stop bit and idle:
  // 1 1.
  assert.equal(misheard(0x41, 2, 1), 'd0')
  // Four times as fast the start bit is a start bit and three zeros.
  assert.equal(misheard(0xff, 0, 4), 'f8')
  // Half as fast, the nine low bits are a start bit, three zeros, and a half that is not sampled.
  assert.equal(misheard(0x00, 0, 0.5), 'f8')
  // Half as fast, a start bit alone is over before it is sampled again.
  assert.equal(misheard(0xff, 0, 0.5), '')
})

test('reading from mid-character yields bytes that no frame has, as in the field', () => {
  const seen = new Set<number>()
  for (let startBits = 1; startBits < 40; startBits++)
    for (const byte of misread(frame, { startBits, ratio: 1 })) seen.add(byte)
  for (const known of [0x82, 0x92, 0x8a]) assert.ok(seen.has(known), known.toString(16))
  assert.ok([...seen].filter((byte) => byte >= 0x80).length > 10)
})

test('a pause restores alignment', () => {
  const idle = Uint8Array.of(0xff, 0xff)
  const bytes = Uint8Array.from([...frame, ...idle, ...frame])
  const heard = hex(misread(bytes, { startBits: 5, ratio: 1 }))
  assert.ok(heard.endsWith(hex(frame)), heard)
})

test('a wrong baud rate gives steady garbage, fast or slow', () => {
  for (const ratio of [8, 4, 2, 0.5, 0.25]) {
    const heard = misread(frame, { startBits: 0, ratio })
    assert.ok(heard.length > 0)
    assert.ok(!heard.includes(0x51), `a Q at ${ratio}`)
  }
})
