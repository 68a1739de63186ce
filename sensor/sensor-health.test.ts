// How bad bytes are classified, and when a change of the sensor's state is reported.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { Evidence, SensorWatch } from './sensor-health.ts'
import type { Parity } from './serial-port.ts'
import { misread } from './simulator/faulty-line.ts'
import { wireOf } from './testing.ts'

const garbage = Uint8Array.from([0xfe, 0x82, 0x92, 0xff, 0x8a, 0xfe, 0x82, 0x92])
const text = Buffer.from('hello, this is a GPS\r\n')
const frame = Buffer.from(wireOf('Q,229,002.74,M,00,'), 'latin1')

function start({ isPolled = false, silentAfterMs = 3000 } = {}) {
  const time = createManualTime()
  const said: string[] = []
  const sentences: string[] = []
  const watch = new SensorWatch({
    path: '/dev/wind',
    baudRate: 9600,
    parity: 'none',
    polling: isPolled ? { node: 'Q', rateHz: 4 } : null,
    timers: time,
    silentAfterMs,
    onChange({ state, sentence }) {
      said.push(state)
      sentences.push(sentence)
    },
  })
  return { watch, time, said, sentences }
}

test('repeats no sentence, however long the state lasts', () => {
  const { watch, time, said } = start()
  watch.opened()
  time.advance(60_000)
  for (let i = 0; i < 100; i++) {
    watch.push(frame, 0)
    time.advance(250)
  }
  assert.deepEqual(said, ['silent', 'connected'])
})

test('reports a new reason', () => {
  const { watch, time, said, sentences } = start()
  watch.opened()
  for (const bytes of [garbage, text, text]) {
    for (let i = 0; i < 40; i++) watch.push(bytes, 0)
    time.advance(3000)
  }
  time.advance(3000)
  assert.deepEqual(said, ['garbled', 'garbled', 'silent'])
  assert.match(sentences[1] ?? '', /"hello, this is a GPS"/)
})

test('the silence needed for a report depends on the sensor’s own pace, not on outages', () => {
  const { watch, time, said } = start()
  watch.opened()
  watch.push(frame, 0)
  time.advance(2000)
  watch.push(frame, 0)
  time.advance(4999)
  assert.deepEqual(said, ['connected'], 'P21: two and a half times two seconds')
  time.advance(1)
  assert.deepEqual(said, ['connected', 'silent'])
  time.advance(60_000)
  watch.push(frame, 0)
  time.advance(5000)
  assert.deepEqual(said.slice(2), ['connected', 'silent'], 'a minute does not count as a pace')
  watch.push(frame, 0)
  time.advance(250)
  watch.push(frame, 0)
  time.advance(3000)
  assert.deepEqual(said.slice(4), ['connected', 'silent'], 'P3, which a second frame shows')
})

test('at one frame in four seconds, neither the first frame nor one after a lost frame is followed by a report of silence', () => {
  const { watch, time, said } = start()
  watch.opened()
  for (let i = 0; i < 12; i++) {
    if (i !== 7) watch.push(frame, 0)
    time.advance(4000)
  }
  assert.deepEqual(said, ['connected'])
  time.advance(6000)
  assert.deepEqual(said, ['connected', 'silent'])
})

for (const [what, banner, isReplugged] of [
  ['that is already running', '', false],
  ['that was just switched on', 'WINDSONIC (Gill Instruments Ltd)\r\n', false],
  ['that was plugged in again', '', true],
] as const)
  test(`a sensor ${what} may take four seconds to its first reading`, () => {
    const { watch, time, said, sentences } = start()
    watch.opened()
    if (isReplugged) {
      watch.closed('the port closed')
      watch.opened()
    }
    const before = said.length
    watch.push(Buffer.from(banner), 0)
    time.advance(4499)
    assert.equal(said.length, before)
    time.advance(1)
    assert.equal(said.at(-1), 'silent')
    assert.match(sentences.at(-1) ?? '', banner ? /has started but sends no readings/ : /nothing for 4\.5 s/)
    watch.push(frame, 0)
    assert.equal(said.at(-1), 'connected')
  })

test('the gap that a lost cable left does not count as the pace', () => {
  const { watch, time, said } = start()
  watch.opened()
  watch.push(frame, 0)
  time.advance(1000)
  watch.closed('the port closed')
  time.advance(3000)
  watch.opened()
  watch.push(frame, 0)
  time.advance(250)
  watch.push(frame, 0)
  time.advance(3000)
  assert.deepEqual(said, ['connected', 'unplugged', 'connected', 'silent'])
})

test('a polled sensor’s silence counts the polls since its last answer', () => {
  const { watch, time, sentences } = start({ isPolled: true })
  watch.opened()
  watch.missed()
  watch.push(frame, 0)
  for (let i = 0; i < 12; i++) watch.missed()
  time.advance(3000)
  assert.match(sentences.at(-1) ?? '', /has not answered 12 questions in a row/)
})

test('judges nothing while unplugged or after stop', () => {
  const { watch, time, said, sentences } = start()
  watch.opened()
  watch.closed('the port closed')
  time.advance(60_000)
  assert.deepEqual(said, ['unplugged'])
  assert.equal(sentences[0], 'No sensor at /dev/wind: the port closed; trying again at least every 10 s.')
  watch.opened()
  watch.stop()
  time.advance(60_000)
  assert.deepEqual([said.length, time.pending()], [1, 0])
})

interface Uart {
  readonly baudRate: number
  readonly parity: Parity
}

/**
 * The bytes that `receiver` reads when `sender` sends them. Characters consist of a start bit, 8
 * data bits from the lowest, parity if any, and one stop bit. Characters with a wrong stop bit or
 * parity are dropped, as serialport asks the driver (IGNPAR); some drivers keep them.
 */
function hearAs(sent: Uint8Array, sender: Uart, receiver: Uart): Uint8Array {
  const levels = [1, ...Array.from(sent, (byte) => character(byte, sender.parity)).flat()]
  const levelAt = (seconds: number) => levels[Math.floor(seconds * sender.baudRate)] ?? 1
  const bit = 1 / receiver.baudRate
  const endAt = levels.length / sender.baudRate
  const heard: number[] = []
  for (let at = nextStart(0); at < endAt; ) {
    const bits = Array.from({ length: bitsOf(receiver) }, (_, index) => levelAt(at + (index + 1.5) * bit))
    const byte = byteFrom(bits, receiver.parity)
    if (byte !== null) heard.push(byte)
    at = nextStart(at + (bits.length + 0.5) * bit)
  }
  return Uint8Array.from(heard)

  /**
   * The next falling edge, to an eighth of a bit, as seen by a receiver that samples eight times a
   * bit.
   */
  function nextStart(from: number): number {
    let at = from
    while (at < endAt && levelAt(at) === 0) at += bit / 8
    while (at < endAt && levelAt(at) === 1) at += bit / 8
    return at
  }
}

/** Data, parity if any, stop. */
function bitsOf({ parity }: Uart): number {
  return parity === 'none' ? 9 : 10
}

function character(byte: number, parity: Parity): number[] {
  const data = Array.from({ length: 8 }, (_, index) => (byte >> index) & 1)
  return parity === 'none' ? [0, ...data, 1] : [0, ...data, parityBit(data, parity), 1]
}

function byteFrom(bits: readonly number[], parity: Parity): number | null {
  const data = bits.slice(0, 8)
  if (bits.at(-1) !== 1) return null
  if (parity !== 'none' && bits[8] !== parityBit(data, parity)) return null
  return data.reduce((byte, one, index) => byte | (one << index), 0)
}

function parityBit(data: readonly number[], parity: Parity): number {
  const ones = data.reduce((sum, one) => sum + one, 0)
  return parity === 'even' ? ones % 2 : (ones + 1) % 2
}

const bytes = (text: string) => Buffer.from(text, 'latin1')
const readings = Array.from({ length: 12 }, (_, i) =>
  bytes(wireOf(`Q,${200 + 7 * i},00${(2.74 + i / 7).toFixed(2)},M,00,`)),
)

/** Three seconds of a sensor at 4 Hz, with each reading passed through `hear`. */
function judgeAs(hear: (reading: Uint8Array) => Uint8Array): string {
  const evidence = new Evidence()
  for (const reading of readings)
    if (evidence.push(hear(reading), 0).some(({ kind }) => kind === 'frame')) return 'good'
  return evidence.judge().kind
}

const judge = (sender: Uart, receiver: Uart) => judgeAs((reading) => hearAs(reading, sender, receiver))

const rates = [2400, 4800, 9600, 19200, 38400]
const wrongRates = rates
  .flatMap((sent) => rates.map((heard) => [sent, heard] as const))
  .filter(([sent, heard]) => sent !== heard)

test('the model of the receiver reads what is sent at its own settings', () => {
  for (const parity of ['none', 'even', 'odd'] as const) {
    const uart: Uart = { baudRate: 9600, parity }
    assert.deepEqual(Buffer.from(hearAs(readings[0] ?? bytes(''), uart, uart)), readings[0])
  }
})

test('another rate is recognised with a driver that keeps every character', () => {
  for (const [sent, heard] of wrongRates) {
    const verdict = judgeAs((reading) => misread(reading, { startBits: 0, ratio: heard / sent }))
    assert.equal(verdict, 'baud-rate', `${sent} heard at ${heard}`)
  }
})

test('with a driver that drops characters without a stop bit, another rate looks like itself or like silence, never like text or damage', () => {
  const verdicts = wrongRates.map(([sent, heard]) =>
    judge({ baudRate: sent, parity: 'none' }, { baudRate: heard, parity: 'none' }),
  )
  assert.deepEqual(new Set(verdicts), new Set(['baud-rate', 'nothing']))
  assert.ok(verdicts.filter((verdict) => verdict === 'baud-rate').length >= 15, `${verdicts}`)
})

test('a sensor at four times the rate is silent', () => {
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
  const evidence = new Evidence()
  for (const piece of pieces) evidence.push(bytes(piece), 0)
  return evidence.judge()
}

test('line ends alone count as nothing, and so do old bytes', () => {
  assert.deepEqual(judgeText('\r', '\n'), { kind: 'nothing' })
  const evidence = new Evidence()
  evidence.push(bytes('\xfe\x82\x92\xff\x8a\xfe\x82\x92'), 0)
  evidence.age()
  assert.deepEqual(evidence.judge(), { kind: 'nothing' })
  evidence.push(bytes('\xfe'), 0)
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

test('the sensor’s announcements are understood in chunks, remembered, and replaced by later ones', () => {
  const banner = '\r\nWINDSONIC (Gill Instruments Ltd)\r\n2368-103\r\nCHECKSUM ROM:4651 4651 *PASS*\r\n'
  assert.deepEqual(judgeText('Q,229,0CONFIGUR', 'ATION MO', 'DE\r\n'), { kind: 'configuration' })
  assert.deepEqual(judgeText(banner), { kind: 'started' })
  assert.deepEqual(judgeText('CONFIGURATION MODE\r\nQ\r\n', banner), { kind: 'started' })
  assert.deepEqual(judgeText(banner, 'CONFIGURATION MODE\r\n'), { kind: 'configuration' })
  const evidence = new Evidence()
  evidence.push(bytes('CONFIGURATION MODE\r\n'), 0)
  evidence.age()
  assert.deepEqual(evidence.judge(), { kind: 'configuration' })
  evidence.clear()
  assert.deepEqual(evidence.judge(), { kind: 'nothing' })
})

test('intact frames of an unsupported format are recognised and quoted', () => {
  const evidence = new Evidence()
  const other = wireOf('A,121,000.08,M,+344.66,+021.76,00,')
  evidence.push(bytes(`21,000.08,M,00,\x0316\r\n${other}\x02A,12`), 0)
  assert.deepEqual(evidence.judge(), {
    kind: 'format',
    excerpt: `A,121,000.08,M,+344.66,+021.76,00,${other.slice(-4, -2)}`,
  })
})

test('a damaged frame whose checksum happens to be right, one in 256, is not taken for another format', () => {
  const evidence = new Evidence()
  for (let i = 0; i < 12; i++) {
    evidence.push(bytes(i === 5 ? wireOf('Q,22,002.74,M,00,') : '\x02Q,22,002.74,M,00,\x0399\r\n'), 0)
  }
  assert.deepEqual(evidence.judge(), { kind: 'damaged' })
})

test('a single intact frame does not outweigh a long spell of garbage', () => {
  const evidence = new Evidence()
  evidence.push(bytes(wireOf('Q,22,002.74,M,00,')), 0)
  for (let i = 0; i < 200; i++) evidence.push(bytes('\xfe\x82\x92\xff\x8a'), 0)
  assert.deepEqual(evidence.judge(), { kind: 'baud-rate' })
})

test('newer bytes weigh more: text after a long spell of garbage is text', () => {
  const evidence = new Evidence()
  for (let i = 0; i < 1000; i++) evidence.push(bytes('\xfe\x82\x92\xff\x8a'), 0)
  for (let i = 0; i < 200; i++) evidence.push(bytes('hello, this is a GPS\r\n'), 0)
  assert.equal(evidence.judge().kind, 'text')
})
