// Checks configuration mode: how it is entered and left, and every command's answer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plugIn, readingsIn } from './windsonic-testing.ts'

/** A sensor that said `CONFIGURATION MODE`, and a way to ask it something. */
function configure(configuration = '') {
  const sensor = plugIn({ configuration })
  sensor.type('*')
  assert.equal(sensor.hear(1000), 'CONFIGURATION MODE\r\n')
  return {
    ...sensor,
    ask(command: string) {
      sensor.type(`${command}\r`)
      return sensor.hear(1000)
    },
  }
}

test('a stray * stops the stream, for good', () => {
  const { hear, type } = plugIn({ configuration: 'P3' })
  assert.equal(readingsIn(hear(10_000)).length, 40)
  type('*')
  assert.equal(hear(60_000), 'CONFIGURATION MODE\r\n')
})

test('a frame that is on its way is finished first', () => {
  const { hear, type } = plugIn()
  hear(985)
  type('*')
  assert.match(hear(1000), /^.Q,\d{3},\d{3}\.\d\d,M,00,.[\dA-F]{2}\r\nCONFIGURATION MODE\r\n$/)
})

test('D3 lists the factory’s settings exactly', () => {
  assert.equal(configure().ask('D3'), 'D3\r\nM2,U1,O1,L1,P1,B3,H1,NQ,F1,E3,T1,S4,C2,G0,K50,\r\n')
})

test('D1, D2, D5 and D6 answer after their echo', () => {
  const { ask } = configure()
  assert.equal(ask('D1'), 'D1\r\nY16120001\r\n')
  assert.equal(ask('D2'), 'D2\r\n2368-103\r\n')
  assert.equal(ask('D5'), 'D5\r\n+11.7v\r\n')
  assert.match(ask('D6'), /^D6\r\nALIGNMENT LIMITS:0D59,0CF5\r\n(.* \*PASS\*\r\n){6}$/)
})

const accepted: Readonly<Record<string, readonly string[]>> = {
  M: ['1', '2', '3', '4', '5', '12', '14', '15', '16'],
  U: ['1', '2', '3', '4', '5'],
  O: ['1', '2'],
  L: ['1', '2'],
  P: ['1', '2', '3', '20', '21'],
  B: ['1', '2', '3', '4', '5'],
  H: ['1', '2'],
  N: ['A', 'Q', 'Z'],
  F: ['1', '2', '3'],
  E: ['2', '3'],
  T: ['1', '3', '5'],
  S: ['1', '4', '7', '9'],
  C: ['1', '2'],
  G: ['0'],
  K: ['50', '99', '100', '4999', '5000'],
}

for (const [letter, values] of Object.entries(accepted)) {
  test(`${letter} is set, echoed and listed`, () => {
    const { ask } = configure()
    for (const value of values) {
      assert.equal(ask(`${letter}${value}`), `${letter}${value}\r\n`)
      assert.ok(ask('D3').includes(`\n${letter}${value},`) || ask('D3').includes(`,${letter}${value},`))
    }
  })
}

test('what is not allowed is said to be so, and changes nothing', () => {
  const { ask } = configure()
  const before = ask('D3')
  const wrong =
    'M0 M6 M10 M17 U0 U6 O3 L0 P4 P10 P22 B0 B6 H3 N1 NQQ F4 E4 T2 S8 S0 C3 G1 K49 K5001 K050 X1 D4 D7 q m2'
  for (const command of [...wrong.split(' '), 'M 2', '*', '?', 'toString', 'x'.repeat(100)])
    assert.equal(ask(command), `${command.slice(0, 80)}\r\nILLEGAL COMMAND LINE\r\n`)
  assert.equal(ask('D3'), before)
})

test('a bare letter shows its setting', () => {
  const { ask } = configure('B5 NX')
  assert.equal(ask('B'), 'B\r\nB5\r\n')
  assert.equal(ask('N'), 'N\r\nNX\r\n')
})

test('Enter is CR, LF or both, and alone it is nothing', () => {
  const { type, hear } = configure()
  type('\r\n\r\n\n')
  assert.equal(hear(1000), '')
  type('U2\r\nU3\nU4\r')
  assert.equal(hear(1000), 'U2\r\nU3\r\nU4\r\n')
})

test('Q leaves: banner, then data as they were set', () => {
  const { ask, hear } = configure()
  for (const command of ['M1', 'U2', 'P3', 'NX']) ask(command)
  assert.match(ask('Q'), /^Q\r\nWINDSONIC [\s\S]*CHECKSUM CAL:\w+ \w+ \*PASS\*\r\n(.X,[+-]|$)/)
  const readings = readingsIn(hear(60_000))
  assert.ok(Math.abs(readings.length - 240) <= 1)
  assert.ok(readings.every(({ format, unit, node }) => format === 'uv' && unit === 'N' && node === 'X'))
})

test('with H2 only the echo comes before the data', () => {
  const { ask, hear } = configure('H2')
  assert.match(ask('Q') + hear(1000), /^Q\r\n.Q,\d/)
})

test('a baud rate holds from the next word on; its echo still goes at the old one', () => {
  const { ask, pieces } = configure()
  const tookMs = (command: string) => {
    const begunAt = 1000 * Math.ceil(Number(pieces.at(-1)?.at) / 1000)
    ask(command)
    return Math.round((Number(pieces.at(-1)?.at) - begunAt) * 100) / 100
  }
  assert.equal(tookMs('B1'), 4.17)
  assert.equal(tookMs('B5'), 16.67)
  assert.equal(tookMs('U1'), 1.04)
})

test('a rate typed in takes the place of one that no sensor has', () => {
  const { hear, type } = plugIn({ rateHz: 10 })
  assert.equal(readingsIn(hear(10_000)).length, 100)
  type('*U1\rQ\r')
  assert.ok(Math.abs(readingsIn(hear(10_000)).length - 98) <= 1, 'another setting leaves it')
  type('*P1\rQ\r')
  assert.ok(Math.abs(readingsIn(hear(60_000)).length - 60) <= 1)
})
