// Checks what bad bytes are taken for, the wrong rates and parities bit by bit.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { misread } from '../device/misread.ts'
import { createFrameSplitter } from '../frames/frame-splitter.ts'
import { checksum } from '../frames/windsonic-frame.ts'
import { hearAs, type Uart } from './fake-uart.ts'
import type { Parity } from './serial-line.ts'
import { collectEvidence } from './verdict.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')
const wire = (body: string) => bytes(`\x02${body}\x03${checksum(body)}\r\n`)
const readings = Array.from({ length: 12 }, (_, i) =>
  wire(`Q,${200 + 7 * i},00${(2.74 + i / 7).toFixed(2)},M,00,`),
)

/** Three seconds of a sensor at 4 Hz, as `hear` passes each reading on. */
function judgeAs(hear: (reading: Uint8Array) => Uint8Array): string {
  const evidence = collectEvidence()
  const splitter = createFrameSplitter()
  for (const reading of readings) {
    const heard = hear(reading)
    evidence.bytes(heard)
    for (const split of splitter.push(heard, 0)) {
      if (split.kind === 'frame') return 'good'
      evidence.refused(split.code === 'layout')
    }
  }
  return evidence.judge().kind
}

const judge = (sender: Uart, receiver: Uart) => judgeAs((reading) => hearAs(reading, sender, receiver))

const rates = [2400, 4800, 9600, 19200, 38400]
const wrongRates = rates
  .flatMap((sent) => rates.map((heard) => [sent, heard] as const))
  .filter(([sent, heard]) => sent !== heard)

test('the model of the receiver hears what is sent to it', () => {
  for (const parity of ['none', 'even', 'odd'] as const) {
    const uart: Uart = { baudRate: 9600, parity }
    assert.deepEqual(Buffer.from(hearAs(readings[0] ?? bytes(''), uart, uart)), readings[0])
  }
})

test('another rate is known as such from a driver that keeps every character', () => {
  for (const [sent, heard] of wrongRates) {
    const verdict = judgeAs((reading) => misread(reading, { startBits: 0, ratio: heard / sent }))
    assert.equal(verdict, 'baud-rate', `${sent} heard at ${heard}`)
  }
})

test('from a driver that drops those without a stop bit it is that or nothing, never text or damage', () => {
  const verdicts = wrongRates.map(([sent, heard]) =>
    judge({ baudRate: sent, parity: 'none' }, { baudRate: heard, parity: 'none' }),
  )
  assert.deepEqual(new Set(verdicts), new Set(['baud-rate', 'nothing']))
  assert.ok(verdicts.filter((verdict) => verdict === 'baud-rate').length >= 15, `${verdicts}`)
})

test('so a sensor at four times the rate is mute', () => {
  assert.equal(judge({ baudRate: 38400, parity: 'none' }, { baudRate: 9600, parity: 'none' }), 'nothing')
})

test('another parity leaves pieces, garbage or nothing', () => {
  const rows: readonly (readonly [Parity, Parity, string])[] = [
    ['none', 'none', 'good'],
    ['even', 'none', 'damaged'],
    ['odd', 'none', 'damaged'],
    ['none', 'even', 'baud-rate'],
    ['none', 'odd', 'baud-rate'],
    ['odd', 'even', 'nothing'],
  ]
  for (const [sent, heard, verdict] of rows) {
    const uarts = [sent, heard].map((parity): Uart => ({ baudRate: 9600, parity }))
    const [sender, receiver] = uarts
    assert.equal(sender && receiver && judge(sender, receiver), verdict, `${sent} heard as ${heard}`)
  }
})

function judgeText(...pieces: readonly string[]) {
  const evidence = collectEvidence()
  for (const piece of pieces) evidence.bytes(bytes(piece))
  return evidence.judge()
}

test('line ends alone are nothing, and so is what is old', () => {
  assert.deepEqual(judgeText('\r', '\n'), { kind: 'nothing' })
  const evidence = collectEvidence()
  evidence.bytes(bytes('\xfe\x82\x92\xff\x8a\xfe\x82\x92'))
  evidence.age()
  assert.deepEqual(evidence.judge(), { kind: 'nothing' })
  evidence.bytes(bytes('\xfe'))
  assert.deepEqual(evidence.judge(), { kind: 'baud-rate' }, 'the old ones count again beside new ones')
})

test('a few bytes are a few bytes', () => {
  assert.deepEqual(judgeText('\xfe\x82'), { kind: 'few' })
})

test('another instrument is quoted', () => {
  assert.deepEqual(judgeText('7,A*2C\r\n$GPGGA,123519,4807.038,N', ',01131.000,E\r\n$GP'), {
    kind: 'text',
    excerpt: '$GPGGA,123519,4807.038,N',
  })
})

test('what the sensor says of itself is understood in pieces, kept, and overtaken by what it says later', () => {
  const banner = '\r\nWINDSONIC (Gill Instruments Ltd)\r\n2368-103\r\nCHECKSUM ROM:4651 4651 *PASS*\r\n'
  assert.deepEqual(judgeText('Q,229,0CONFIGUR', 'ATION MO', 'DE\r\n'), { kind: 'configuration' })
  assert.deepEqual(judgeText(banner), { kind: 'started' })
  assert.deepEqual(judgeText('CONFIGURATION MODE\r\nQ\r\n', banner), { kind: 'started' })
  assert.deepEqual(judgeText(banner, 'CONFIGURATION MODE\r\n'), { kind: 'configuration' })
  const evidence = collectEvidence()
  evidence.bytes(bytes('CONFIGURATION MODE\r\n'))
  evidence.age()
  assert.deepEqual(evidence.judge(), { kind: 'configuration' })
  evidence.clear()
  assert.deepEqual(evidence.judge(), { kind: 'nothing' })
})

test('an intact frame that is not read here is another format, whatever else came', () => {
  const evidence = collectEvidence()
  evidence.bytes(bytes('\xfe\x82\x92\xff\x8a\xfe\x82\x92'))
  evidence.refused(true)
  assert.deepEqual(evidence.judge(), { kind: 'format' })
})

test('a single intact frame weighs nothing after a long spell of garbage', () => {
  const evidence = collectEvidence()
  evidence.refused(true)
  for (let i = 0; i < 200; i++) evidence.bytes(bytes('\xfe\x82\x92\xff\x8a'))
  assert.deepEqual(evidence.judge(), { kind: 'baud-rate' })
})

test('newer bytes weigh more: text after a long spell of garbage is text', () => {
  const evidence = collectEvidence()
  for (let i = 0; i < 1000; i++) evidence.bytes(bytes('\xfe\x82\x92\xff\x8a'))
  for (let i = 0; i < 200; i++) evidence.bytes(bytes('hello, this is a GPS\r\n'))
  assert.equal(evidence.judge().kind, 'text')
})
