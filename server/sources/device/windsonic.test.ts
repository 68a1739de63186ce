// Checks what a simulated WindSonic sends by itself: banner, rates, and the speed of its line.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plugIn, readingsIn } from './windsonic-testing.ts'

/** The facts sheet's. */
const banner = [
  'WINDSONIC (Gill Instruments Ltd)',
  '2368-103',
  'RS232 (CFG)',
  'CHECKSUM ROM:4651 4651 *PASS*',
  'CHECKSUM FAC:0A2B 0A2B *PASS*',
  'CHECKSUM ENG:12B5 12B5 *PASS*',
  'CHECKSUM CAL:CC55 CC55 *PASS*',
  '',
].join('\r\n')

test('at power-up comes the banner, then frames at the rate', () => {
  const { hear } = plugIn({ isPoweredUp: true })
  const bannerMs = (banner.length * 10_000) / 9600
  assert.equal(hear(bannerMs + 0.1), banner)
  assert.equal(hear(990), '')
  assert.equal(readingsIn(hear(9010)).length, 10)
})

test('with H2 there is no banner, and one that has been running says none', () => {
  for (const options of [{ isPoweredUp: true, configuration: 'H2' }, { isPoweredUp: false }])
    assert.match(plugIn(options).hear(1000), /^.Q,\d/)
})

test('every output rate of the manual', () => {
  for (const [rate, count] of [
    ['P1', 60],
    ['P2', 120],
    ['P3', 240],
    ['P20', 15],
    ['P21', 30],
  ] as const)
    assert.equal(readingsIn(plugIn({ configuration: rate }).hear(60_000)).length, count, rate)
})

test('a frame comes in pieces of the port’s buffer, each as late as the line is slow', () => {
  for (const [baud, bitsPerSecond, bitsPerByte] of [
    ['B1', 2400, 10],
    ['B3', 9600, 10],
    ['B5', 38_400, 10],
    ['B3 F2', 9600, 11],
  ] as const) {
    const { hear, pieces } = plugIn({ configuration: baud })
    hear(1000)
    const [first, second] = pieces
    const byteMs = (bitsPerByte * 1000) / bitsPerSecond
    assert.equal(pieces.length, 2, baud)
    assert.equal(first?.text.length, 16)
    assert.equal(second?.text.length, 8)
    assert.ok(Math.abs(Number(first?.at) - (1000 - 8 * byteMs)) < 0.01, `${baud}: ${first?.at}`)
    assert.equal(second?.at, 1000)
  }
})

test('the last byte has come at start + n / rate, however long the frame is', () => {
  const { hear, pieces } = plugIn({ configuration: 'P3', strength: 'calm' })
  hear(60_000)
  const lengths = new Set(pieces.map(({ text }) => text.length))
  assert.ok(lengths.has(8) && lengths.has(5), 'some frames are of calms, and shorter')
  const ends = pieces.filter(({ text }) => text.endsWith('\n')).map(({ at }) => Math.round(at * 100) / 100)
  assert.deepEqual(
    ends,
    Array.from({ length: 240 }, (_, index) => 250 * (index + 1)),
  )
})

test('a rate that no sensor has is carried by a line as fast as it needs', () => {
  const { hear } = plugIn({ rateHz: 500, configuration: 'M1' })
  assert.ok(Math.abs(readingsIn(hear(2000)).length - 1000) <= 1)
})

test('a stopped one is quiet in the middle of a frame, and leaves no timer', () => {
  const { hear, device, time } = plugIn({ isPoweredUp: true })
  hear(50)
  device.stop()
  assert.equal(hear(10_000), '')
  assert.equal(time.pending(), 0)
})

test('options that no sensor has are refused by name', () => {
  assert.throws(() => plugIn({ configuration: 'M2 X9' }), /"X9" is no setting/)
  assert.throws(() => plugIn({ rateHz: -1 }), /RangeError: .*-1/)
  assert.throws(() => plugIn({ noise: { cut: 2 } }), /RangeError: .*cut is 2/)
  assert.throws(
    () => plugIn({ troubles: [{ kind: 'stall', atSeconds: 0, forSeconds: 10 }] }),
    /RangeError: stall@0\+10 is too long/,
  )
})
