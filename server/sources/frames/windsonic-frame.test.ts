// Checks the polar frame against the fact sheet's vectors, in both directions.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checksum, type FrameReading, formatFrame, parseFrame } from './windsonic-frame.ts'

const vectors: ReadonlyArray<readonly [body: string, sum: string]> = [
  ['Q,229,002.74,M,00,', '16'],
  ['Q,156,000.05,M,00,', '19'],
  ['Q,,000.04,M,00,', '2A'],
  ['Q,160,000.04,M,00,', '1D'],
  ['Q,,000.03,M,00,', '2D'],
  ['Q,,,M,04,', '34'],
  ['Q,999,999.99,M,04,', '1A'],
  ['Q,+001.59,-002.74,M,00,', '3A'],
  ['Q,001.59,1,00,M,', '12'],
  ['Q,316,009.52,N,00,', '17'],
  ['Q,078,007.10,K,00,', '11'],
  ['Q,+000.01,-000.01,M,00,', '36'],
  ['A,356,006.94,M,60,', '03'],
  ['IIMWV,284,R,001.26,K,A', '1D'],
  ['IIMWV,120,R,002.10,M,A', '10'],
]

for (const [body, sum] of vectors) {
  test(`checksum of ${body} is ${sum}`, () => assert.equal(checksum(body), sum))
}

function read(body: string): FrameReading {
  const parsed = parseFrame(body, checksum(body))
  assert.ok(parsed.isGood, `${body} was refused`)
  return parsed.reading
}

function refusal(body: string, sum = checksum(body)): string {
  const parsed = parseFrame(body, sum)
  return parsed.isGood ? 'none' : parsed.code
}

test('a measured frame gives every field', () => {
  assert.deepEqual(read('Q,229,002.74,M,00,'), {
    format: 'polar',
    raw: 'Q,229,002.74,M,00,',
    axes: null,
    node: 'Q',
    state: 'measured',
    directionDegrees: 229,
    speed: 2.74,
    unit: 'M',
    speedMetresPerSecond: 2.74,
    status: '00',
  })
})

test('all five units are converted to metres per second', () => {
  const inMetresPerSecond = (unit: string) => read(`Q,010,010.00,${unit},00,`).speedMetresPerSecond
  assert.equal(inMetresPerSecond('M'), 10)
  assert.ok(Math.abs(Number(inMetresPerSecond('N')) - 5.144444444) < 1e-9)
  assert.equal(inMetresPerSecond('P'), 4.4704)
  assert.ok(Math.abs(Number(inMetresPerSecond('K')) - 2.777777778) < 1e-9)
  assert.ok(Math.abs(Number(inMetresPerSecond('F')) - 0.0508) < 1e-12)
})

test('an empty direction is calm, and never north', () => {
  const calm = read('Q,,000.04,M,00,')
  assert.equal(calm.state, 'calm')
  assert.equal(calm.directionDegrees, null)
  assert.equal(calm.speed, 0.04)
  assert.equal(read('Q,000,000.30,M,00,').directionDegrees, 0)
})

test('a held direction below the threshold is calm, in the unit of the frame', () => {
  const state = (body: string) => read(body).state
  assert.equal(read('Q,160,000.04,M,00,').directionDegrees, null)
  assert.equal(state('Q,160,000.04,M,00,'), 'calm')
  assert.equal(state('Q,156,000.05,M,00,'), 'measured')
  assert.equal(state('Q,160,000.09,N,00,'), 'calm')
  assert.equal(state('Q,160,000.10,N,00,'), 'measured')
  assert.equal(state('Q,160,000.11,P,00,'), 'calm')
  assert.equal(state('Q,160,000.12,P,00,'), 'measured')
  assert.equal(state('Q,160,000.17,K,00,'), 'calm')
  assert.equal(state('Q,160,000.18,K,00,'), 'measured')
  assert.equal(state('Q,160,009.84,F,00,'), 'calm')
  assert.equal(state('Q,160,009.85,F,00,'), 'measured')
})

test('a fault shows its status and never a number', () => {
  for (const body of [
    'Q,,,M,04,',
    'Q,999,999.99,M,04,',
    'Q,999,999.99,F,00,',
    'Q,229,002.74,M,01,',
    'Q,,,M,00,',
  ]) {
    const { state, directionDegrees, speed, speedMetresPerSecond } = read(body)
    assert.deepEqual(
      [state, directionDegrees, speed, speedMetresPerSecond],
      ['fault', null, null, null],
      body,
    )
  }
  assert.equal(read('Q,,,M,04,').status, '04')
})

test('heating and full gain are no faults, any node letter is one, a status may be padded', () => {
  assert.equal(read('A,356,006.94,M,60,').state, 'measured')
  assert.equal(read('Z,356,006.94,M,10,').node, 'Z')
  for (const status of [' 0', ' 00', '00 ']) {
    const { state, status: read00 } = read(`Q,229,002.74,M,${status},`)
    assert.deepEqual([state, read00], ['measured', '00'], `status "${status}"`)
  }
})

test('ranges end at 359 degrees and 75 metres per second', () => {
  assert.equal(read('Q,359,075.00,M,00,').speed, 75)
  assert.equal(read('Q,359,270.00,K,00,').speed, 270)
  assert.equal(refusal('Q,360,002.74,M,00,'), 'range')
  assert.equal(refusal('Q,999,002.74,M,00,'), 'range')
  assert.equal(refusal('Q,229,075.01,M,00,'), 'range')
  assert.equal(refusal('Q,229,270.01,K,00,'), 'range')
  assert.equal(refusal('Q,229,999.99,M,00,'), 'range')
  assert.equal(refusal('Q,,005.01,M,00,'), 'range', 'no threshold is that high')
})

test('a wrong sum is refused first, lower case and missing zeros too', () => {
  assert.equal(refusal('Q,229,002.74,M,00,', '17'), 'checksum')
  assert.equal(refusal('Q,,000.04,M,00,', '2a'), 'checksum')
  assert.equal(refusal('A,356,006.94,M,60,', '3'), 'checksum')
})

test('other formats and other widths are refused though their sum is right', () => {
  const intact = [
    'Q,+001.59,-002.74,M,00,',
    'Q,001.59,1,00,M,',
    'IIMWV,284,R,001.26,K,A',
    'Q,29,002.74,M,00,',
    'Q,0229,002.74,M,00,',
    'Q,229,02.74,M,00,',
    'Q,229,002.7,M,00,',
    'Q,229,,M,00,',
    'Q,229,-02.74,M,00,',
    'Q,229,002.74,M,00',
    'Q,229,002.74,X,00,',
    'q,229,002.74,M,00,',
    'Q, 29,002.74,M,00,',
    'Q,229,002.74,M,0A,',
    '',
  ]
  for (const body of intact) assert.equal(refusal(body), 'layout', body)
})

test('two digits that changed places pass, unless a range catches them: XOR is blind to order', () => {
  const sum = checksum('Q,359,002.74,M,00,')
  assert.equal(refusal('Q,539,002.74,M,00,', sum), 'range')
  assert.equal(refusal('Q,359,002.47,M,00,', sum), 'none')
})

test('formatting is the inverse of parsing, byte for byte', () => {
  const wire = (body: string, ending = '\r\n') => `\x02${body}\x03${checksum(body)}${ending}`
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1')
  for (const body of [
    'Q,229,002.74,M,00,',
    'Q,,000.04,M,00,',
    'Q,,,M,04,',
    'A,356,006.94,M,60,',
    'Q,078,007.10,K,00,',
  ]) {
    assert.equal(text(formatFrame(read(body))), wire(body))
    assert.equal(text(formatFrame(read(body), '\r')), wire(body, '\r'))
  }
  const held = { node: 'Q', directionDegrees: 160, speed: 0.04, unit: 'M', status: '00' } as const
  assert.equal(text(formatFrame(held)), wire('Q,160,000.04,M,00,'))
  const nines = { ...held, directionDegrees: 999, speed: 999.99, status: '04' }
  assert.equal(text(formatFrame(nines)), wire('Q,999,999.99,M,04,'))
  assert.equal(formatFrame(held).length, 24)
})

test('formatting a value that does not fit throws and names it', () => {
  const fields = { node: 'Q', directionDegrees: 1, speed: 2, unit: 'M', status: '00' } as const
  assert.throws(() => formatFrame({ ...fields, directionDegrees: 12.5 }), /RangeError.*12\.5/)
  assert.throws(() => formatFrame({ ...fields, speed: -1 }), RangeError)
  assert.throws(() => formatFrame({ ...fields, speed: 1000 }), RangeError)
  assert.throws(() => formatFrame({ ...fields, speed: Number.NaN }), RangeError)
  assert.throws(() => formatFrame({ ...fields, node: 'QQ' }), RangeError)
})
