// Bodies of each format are read or refused, and frames are written byte for byte.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameSplitter } from './frame-splitter.ts'
import type { FrameReading } from './readings.ts'
import { vectors, wireOf } from './testing.ts'
import {
  axesOf,
  checksum,
  type FrameStyle,
  type FrameValues,
  readBody,
  writeFrame,
} from './windsonic-frame.ts'

function verdictOn(body: string) {
  return readBody(body, /^(II|WI)MWV/.test(body))
}

/** Fails the test if the body is refused. */
function read(body: string): FrameReading {
  const verdict = verdictOn(body)
  return typeof verdict === 'string' ? assert.fail(`${body} was refused: ${verdict}`) : verdict
}

/** `none` if the body is read. */
function refusal(body: string): string {
  const verdict = verdictOn(body)
  return typeof verdict === 'string' ? verdict : 'none'
}

const rounded = (value: number | null) => (value === null ? null : Math.round(value * 1000) / 1000)
const split = (wire: string) => createFrameSplitter().push(Buffer.from(wire, 'latin1'), 0)

for (const { body, sum, format, state, directionDegrees, speed } of vectors) {
  test(`${body} with ${sum} is ${state}, ${format}`, () => {
    assert.equal(checksum(body), sum)
    const [first, ...more] = split(wireOf(body, '\r\n', sum))
    assert.deepEqual(more, [])
    assert.ok(first?.kind === 'frame')
    const { reading } = first
    assert.deepEqual([reading.raw, reading.format, reading.state], [body, format, state])
    assert.deepEqual([rounded(reading.directionDegrees), rounded(reading.speed)], [directionDegrees, speed])
    assert.equal(reading.node, format === 'nmea' ? null : body.charAt(0))
  })
}

test('one of the 256 checksums is right, in either case', () => {
  for (const { body, sum } of vectors) {
    const sums = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0'))
    const taken = sums.filter((other) => split(wireOf(body, '\r', other.toUpperCase()))[0]?.kind === 'frame')
    assert.deepEqual(taken, [sum.toLowerCase()])
    assert.equal(split(wireOf(body, '\r', sum.toLowerCase()))[0]?.kind, 'frame')
  }
})

test('checksums that the manual prints against its own rule are refused', () => {
  const misprints = [
    ['Q,,000.03,M,00,', '1C'],
    ['Q,,,M,04,', '24'],
    ['Q,999,999.99,M,04,', '0A'],
    ['Q,+001.59,-002.74,M,00,', '2D'],
    ['Q,001.59,1,00,M,', '2D'],
    ['IIMWV,120,R,002.10,M,A', '5D'],
  ] as const
  for (const [body, sum] of misprints) {
    const [first] = split(wireOf(body, '\r\n', sum))
    assert.deepEqual(first, { kind: 'refused', code: 'checksum', at: 0 })
  }
})

test('a measured polar frame gives every field', () => {
  assert.deepEqual(read('Q,229,002.74,M,00,'), {
    format: 'polar',
    raw: 'Q,229,002.74,M,00,',
    node: 'Q',
    state: 'measured',
    directionDegrees: 229,
    speed: 2.74,
    unit: 'M',
    speedMetresPerSecond: 2.74,
    axes: null,
    status: '00',
  })
})

test('every direction and every hundredth is read as its number', () => {
  for (let direction = 0; direction < 360; direction++)
    assert.equal(read(`Q,${String(direction).padStart(3, '0')},002.74,M,00,`).directionDegrees, direction)
  for (let hundredths = 0; hundredths <= 7500; hundredths++) {
    const text = (hundredths / 100).toFixed(2).padStart(6, '0')
    assert.equal(read(`Q,229,${text},M,00,`).speed, Number(text))
  }
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
  assert.deepEqual([calm.state, calm.directionDegrees, calm.speed], ['calm', null, 0.04])
  assert.equal(read('Q,000,000.30,M,00,').directionDegrees, 0)
  assert.equal(read('Q,,004.99,M,00,').state, 'calm', 'the threshold can be set as high')
})

test('a held direction below the threshold is calm, in the unit of the frame', () => {
  const thresholds: ReadonlyArray<readonly [below: string, unit: string, above: string]> = [
    ['000.04', 'M', '000.05'],
    ['000.09', 'N', '000.10'],
    ['000.11', 'P', '000.12'],
    ['000.17', 'K', '000.18'],
    ['009.84', 'F', '009.85'],
  ]
  for (const [below, unit, above] of thresholds) {
    const calm = read(`Q,160,${below},${unit},00,`)
    assert.deepEqual([calm.state, calm.directionDegrees], ['calm', null], unit)
    const measured = read(`Q,160,${above},${unit},00,`)
    assert.deepEqual([measured.state, measured.directionDegrees], ['measured', 160], unit)
  }
})

test('a fault shows its status and never a number', () => {
  const faults = ['Q,,,M,04,', 'Q,999,999.99,M,04,', 'Q,999,999.99,F,00,', 'Q,229,002.74,M,01,', 'Q,,,M,00,']
  for (const body of faults) {
    const { state, directionDegrees, speed, speedMetresPerSecond, axes } = read(body)
    assert.equal(state, 'fault', body)
    assert.deepEqual([directionDegrees, speed, speedMetresPerSecond, axes], [null, null, null, null], body)
  }
})

test('values are valid only with the statuses good, good with heating and gain at maximum', () => {
  const statuses = Array.from({ length: 100 }, (_, code) => String(code).padStart(2, '0'))
  const sound = statuses.filter((status) => {
    const reading = read(`Q,229,002.74,M,${status},`)
    assert.equal(reading.status, status)
    return reading.state === 'measured'
  })
  assert.deepEqual(sound, ['00', '10', '60'])
})

test('a status may be padded with a space', () => {
  for (const status of [' 0', ' 00', '00 ']) {
    const { state, status: read00 } = read(`Q,229,002.74,M,${status},`)
    assert.deepEqual([state, read00], ['measured', '00'], `status "${status}"`)
  }
  assert.equal(read('Q,,,M, 4,').status, '04')
  for (const status of ['0', '0 ', ' ', '', '  0', ' 00 ', '000', '-1'])
    assert.equal(refusal(`Q,229,002.74,M,${status},`), 'layout', `status "${status}"`)
})

test('any letter is a valid node', () => {
  for (const node of 'ABCDEFGHIJKLMNOPQRSTUVWXYZ') assert.equal(read(`${node},229,002.74,M,00,`).node, node)
  for (const node of ['q', '@', '[', '1', ''])
    assert.equal(refusal(`${node},229,002.74,M,00,`), 'layout', `node "${node}"`)
})

test('ranges end at 359 degrees and 75 metres per second', () => {
  assert.equal(read('Q,359,075.00,M,00,').speed, 75)
  assert.equal(read('Q,359,270.00,K,00,').speed, 270)
  const beyond = [
    'Q,360,002.74,M,00,',
    'Q,999,002.74,M,00,',
    'Q,229,075.01,M,00,',
    'Q,229,270.01,K,00,',
    'Q,229,999.99,M,00,',
    'Q,360,000.01,M,00,',
    'Q,,005.01,M,00,',
  ]
  for (const body of beyond) assert.equal(refusal(body), 'range', body)
})

test('only feet per minute need more than three digits', () => {
  assert.ok(Math.abs(Number(read('Q,229,14763.00,F,00,').speedMetresPerSecond) - 74.996) < 0.001)
  assert.equal(read('Q,229,1000.00,F,00,').speed, 1000)
  assert.equal(refusal('Q,229,14764.00,F,00,'), 'range')
  assert.equal(refusal('Q,229,1000.00,M,00,'), 'range')
  assert.equal(refusal('Q,229,0999.99,F,00,'), 'layout')
  assert.equal(refusal('Q,229,100000.00,F,00,'), 'layout')
})

test('polar bodies of other widths are refused even with a correct checksum', () => {
  const intact = [
    'Q,29,002.74,M,00,',
    'Q,0229,002.74,M,00,',
    'Q,229,02.74,M,00,',
    'Q,229,002.7,M,00,',
    'Q,229,002.740,M,00,',
    'Q,229,,M,00,',
    'Q,229,-02.74,M,00,',
    'Q,229,002.74,M,00',
    'Q,229,002.74,M,00,,',
    'Q,229,002.74,X,00,',
    'Q,229,002.74,,00,',
    'Q, 29,002.74,M,00,',
    'Q,229,002.74,M,0A,',
    'Q,229;002.74,M,00,',
    'Q,229,002,74,M,00,',
    'QQ,229,002.74,M,00,',
    'Q',
    '',
  ]
  for (const body of intact) assert.equal(refusal(body), 'layout', body)
})

test('two swapped digits are accepted, unless out of range: XOR ignores order', () => {
  assert.equal(checksum('Q,359,002.74,M,00,'), checksum('Q,359,002.47,M,00,'))
  assert.equal(refusal('Q,539,002.74,M,00,'), 'range')
  assert.equal(refusal('Q,359,002.47,M,00,'), 'none')
})

test('both heads and both kinds of status are read, and there is no node letter', () => {
  for (const [body, status] of [
    ['IIMWV,284,R,001.26,K,A', 'A'],
    ['WIMWV,284,R,001.26,K,A', 'A'],
    ['IIMWV,284,R,001.26,K,00', '00'],
    ['WIMWV,284,R,001.26,K,60', '60'],
    ['WIMWV,284,R,001.26,K, 0', '00'],
  ] as const) {
    const { speedMetresPerSecond, ...rest } = read(body)
    assert.ok(Math.abs(Number(speedMetresPerSecond) - 0.35) < 1e-9)
    const wind = { state: 'measured', directionDegrees: 284, speed: 1.26, unit: 'K', axes: null }
    assert.deepEqual(rest, { format: 'nmea', raw: body, node: null, ...wind, status })
  }
})

test('calm and fault of NMEA equal those of polar frames', () => {
  for (const [body, state] of [
    ['IIMWV,,R,000.04,M,A', 'calm'],
    ['IIMWV,170,R,000.04,M,A', 'calm'],
    ['IIMWV,,R,,M,V', 'fault'],
    ['IIMWV,999,R,999.99,M,V', 'fault'],
    ['IIMWV,284,R,001.26,K,V', 'fault'],
    ['WIMWV,284,R,001.26,K,04', 'fault'],
    ['WIMWV,,R,,K,04', 'fault'],
  ] as const) {
    const reading = read(body)
    assert.deepEqual([reading.state, reading.directionDegrees], [state, null], body)
    if (state === 'fault') assert.equal(reading.speed, null)
  }
})

test('an NMEA body that no WindSonic sends is refused even with a correct checksum', () => {
  const intact = [
    'IIMWV,284,T,001.26,K,A',
    'IIMWV,284.0,R,001.26,K,A',
    'IIMWV,284,R,1.26,K,A',
    'IIMWV,284,R,001.26,K,B',
    'IIMWV,284,R,001.26,K,AV',
    'IIMWV,284,R,001.26,K,A,',
    'IIMWV,284,R,001.26,K,',
    'IIMWV,284,R,001.26,K',
    'IIMWV,284,R,,K,A',
    'IIMWV,284,,001.26,K,A',
    'IIMWV,',
  ]
  for (const body of intact) assert.equal(refusal(body), 'layout', body)
  assert.equal(refusal('IIMWV,360,R,001.26,K,A'), 'range')
  assert.equal(refusal('IIMWV,284,R,075.01,M,A'), 'range')
})

const uvStyle = { format: 'uv', ending: '\r\n', talker: 'II', hasGillStatus: false } as const
const common = { node: 'Q', unit: 'M', status: '00' } as const
const hundredths = (value: number) => Math.round(value * 100) / 100

test('a measured UV frame keeps its axes as sent, and the wind derived from them', () => {
  const { directionDegrees, speed, speedMetresPerSecond, ...rest } = read('B,-003.00,+004.00,N,60,')
  assert.deepEqual(rest, {
    format: 'uv',
    raw: 'B,-003.00,+004.00,N,60,',
    node: 'B',
    state: 'measured',
    unit: 'N',
    axes: { u: -3, v: 4 },
    status: '60',
  })
  assert.equal(speed, 5)
  assert.ok(Math.abs(Number(directionDegrees) - 53.1301) < 1e-4)
  assert.ok(Math.abs(Number(speedMetresPerSecond) - 2.5722) < 1e-4)
})

test('every wind direction survives writing and reading, as closely as hundredths allow', () => {
  for (let tenths = 0; tenths < 3600; tenths++) {
    const sent = axesOf(tenths / 10, 10)
    const axes = { u: hundredths(sent.u), v: hundredths(sent.v) }
    const bytes = writeFrame({ ...common, directionDegrees: null, speed: null, axes }, uvStyle)
    const reading = read(Buffer.from(bytes).toString('latin1', 1, bytes.length - 5))
    assert.deepEqual(reading.axes, { u: axes.u + 0, v: axes.v + 0 })
    const direction = Number(reading.directionDegrees)
    assert.ok(direction >= 0 && direction < 360)
    const apart = Math.abs(direction - tenths / 10)
    assert.ok(Math.min(apart, 360 - apart) < 0.05, `${tenths / 10} came back as ${direction}`)
    assert.ok(Math.abs(Number(reading.speed) - 10) < 0.01)
  }
})

test('UV is calm below the threshold of the two axes together, in the unit of the frame', () => {
  assert.equal(read('Q,+000.03,-000.04,M,00,').state, 'measured')
  assert.equal(read('Q,+000.03,-000.03,M,00,').state, 'calm')
  assert.equal(read('Q,+000.03,-000.04,K,00,').state, 'calm')
  const still = read('Q,-000.00,+000.00,M,00,')
  assert.deepEqual([still.state, still.directionDegrees, still.speed], ['calm', null, 0])
  assert.deepEqual(still.axes, { u: 0, v: 0 })
})

test('a UV fault has no number, whatever its fields hold', () => {
  const faults = [
    'Q,+001.59,-002.74,M,01,',
    'Q,+999.99,+999.99,M,04,',
    'Q,-999.99,+999.99,M,00,',
    'Q,,-002.74,M,01,',
    'Q,+001.59,,M,02,',
  ]
  for (const body of faults) {
    const { format, state, directionDegrees, speed, axes } = read(body)
    assert.deepEqual([format, state, directionDegrees, speed, axes], ['uv', 'fault', null, null, null], body)
  }
  assert.equal(read('Q,,,M,04,').format, 'polar', 'nothing distinguishes the two')
})

test('the range of UV is that of the two axes together', () => {
  assert.equal(read('Q,-060.00,+045.00,M,00,').speed, 75)
  assert.equal(refusal('Q,-060.00,+045.01,M,00,'), 'range')
  assert.equal(refusal('Q,+999.99,+001.00,M,00,'), 'range')
})

test('UV bodies of other widths or without signs are refused even with a correct checksum', () => {
  const intact = [
    'Q,001.59,-002.74,M,00,',
    'Q,+001.59,002.74,M,00,',
    'Q,+01.59,-002.74,M,00,',
    'Q,+001.59,-002.7,M,00,',
    'Q,+-01.59,-002.74,M,00,',
    'Q,+001.59,,M,00,',
    'Q,,-002.74,M,00,',
    'Q,+001.59,-002.74,M,00',
    'Q,+001.59,-002.74,00,M,',
    'Q, +001.59,-002.74,M,00,',
  ]
  for (const body of intact) assert.equal(refusal(body), 'layout', body)
})

test('UV: +U blows from the south, +V from the east', () => {
  for (const [u, v, direction] of [
    ['-001.00', '+000.00', 0],
    ['+000.00', '+001.00', 90],
    ['+001.00', '+000.00', 180],
    ['+000.00', '-001.00', 270],
    ['-001.00', '+001.00', 45],
    ['-001.00', '-000.00', 0],
  ] as const) {
    const { directionDegrees } = read(`Q,${u},${v},M,00,`)
    assert.ok(Object.is(directionDegrees, direction), `${u} ${v}: ${directionDegrees}`)
  }
})

test('the axes of a wind have its strength', () => {
  for (let tenths = 0; tenths < 3600; tenths++) {
    const { u, v } = axesOf(tenths / 10, 12.5)
    assert.ok(Math.abs(Math.hypot(u, v) - 12.5) < 1e-9)
  }
})

test('tunnel: polarity 1 is from the south and +U, 0 from the north and -U', () => {
  const south = read('Q,001.59,1,00,M,')
  assert.deepEqual(south, {
    format: 'tunnel',
    raw: 'Q,001.59,1,00,M,',
    node: 'Q',
    state: 'measured',
    directionDegrees: 180,
    speed: 1.59,
    unit: 'M',
    speedMetresPerSecond: 1.59,
    axes: { u: 1.59, v: null },
    status: '00',
  })
  const north = read('Q,001.59,0,00,M,')
  assert.deepEqual([north.directionDegrees, north.speed, north.axes], [0, 1.59, { u: -1.59, v: null }])
})

test('tunnel: a sign is kept as sent, but the polarity determines the direction', () => {
  for (const [body, direction, u] of [
    ['Q,+001.59,1,00,M,', 180, 1.59],
    ['Q,-001.59,0,00,M,', 0, -1.59],
    ['Q,+001.59,0,00,M,', 0, 1.59],
  ] as const) {
    const { directionDegrees, speed, axes } = read(body)
    assert.deepEqual([directionDegrees, speed, axes], [direction, 1.59, { u, v: null }], body)
  }
})

test('tunnel: below the threshold it is calm and has no direction', () => {
  for (const body of ['Q,000.04,1,00,M,', 'Q,000.17,0,00,K,', 'Q,000.00,0,00,M,', 'Q,000.04,,00,M,']) {
    const { state, directionDegrees } = read(body)
    assert.deepEqual([state, directionDegrees], ['calm', null], body)
  }
  assert.deepEqual(read('Q,000.00,0,00,M,').axes, { u: 0, v: null })
})

test('a tunnel fault has no number, whatever its fields hold', () => {
  for (const body of [
    'Q,001.59,1,01,M,',
    'Q,,,04,M,',
    'Q,,,00,M,',
    'Q,999.99,9,04,M,',
    'Q,-999.99,9,00,M,',
  ]) {
    const { format, state, directionDegrees, speed, axes } = read(body)
    assert.deepEqual(
      [format, state, directionDegrees, speed, axes],
      ['tunnel', 'fault', null, null, null],
      body,
    )
  }
})

test('a body that no tunnel frame has is refused even with a correct checksum', () => {
  for (const body of [
    'Q,001.59,2,00,M,',
    'Q,001.59,9,00,M,',
    'Q,,1,00,M,',
    'Q,001.59,1,M,00,',
    'Q,01.59,1,00,M,',
  ])
    assert.equal(refusal(body), 'layout', body)
  assert.equal(refusal('Q,075.01,1,00,M,'), 'range')
  assert.equal(refusal('Q,005.01,,00,M,'), 'range')
})

const style: FrameStyle = { format: 'polar', ending: '\r\n', talker: 'II', hasGillStatus: false }
const values: FrameValues = {
  node: 'Q',
  directionDegrees: 229,
  speed: 2.74,
  axes: { u: 1.59, v: -2.74 },
  unit: 'M',
  status: '00',
}
const emptyFault = { directionDegrees: null, speed: null, axes: null, status: '04' }
const filledFault = { directionDegrees: 999, speed: 999.99, axes: null, status: '04' }

function written(some: Partial<FrameValues>, other: Partial<FrameStyle> = {}): string {
  return Buffer.from(writeFrame({ ...values, ...some }, { ...style, ...other })).toString('latin1')
}

test('each format has its fields, its checksum and its length', () => {
  for (const [other, body, length] of [
    [{ format: 'polar' }, 'Q,229,002.74,M,00,', 24],
    [{ format: 'uv' }, 'Q,+001.59,-002.74,M,00,', 29],
    [{ format: 'tunnel' }, 'Q,001.59,1,00,M,', 22],
    [{ format: 'nmea' }, 'IIMWV,229,R,002.74,M,A', 28],
    [{ format: 'nmea', talker: 'WI' }, 'WIMWV,229,R,002.74,M,A', 28],
    [{ format: 'nmea', talker: 'WI', hasGillStatus: true }, 'WIMWV,229,R,002.74,M,00', 29],
  ] as const) {
    assert.equal(written({}, other), wireOf(body))
    assert.equal(written({}, other).length, length)
    assert.equal(written({}, { ...other, ending: '\r' }), wireOf(body, '\r'))
  }
})

test('the vectors are written as they are read', () => {
  for (const { body, sum } of vectors) {
    const { state, format, node, directionDegrees, speed, axes, unit, status } = read(body)
    if (state !== 'measured') continue
    const some = { node: node ?? '', directionDegrees, speed, axes, unit, status: status.replace('A', '00') }
    assert.equal(written(some, { format }), wireOf(body, '\r\n', sum))
  }
})

test('calm and fault of format O1 are empty, those of O2 held and filled', () => {
  assert.equal(written({ directionDegrees: null, speed: 0.04 }), wireOf('Q,,000.04,M,00,', '\r\n', '2A'))
  assert.equal(written({ directionDegrees: null, speed: 0.04 }).length, 21)
  assert.equal(written({ directionDegrees: 160, speed: 0.04 }), wireOf('Q,160,000.04,M,00,', '\r\n', '1D'))
  assert.equal(written(emptyFault), wireOf('Q,,,M,04,', '\r\n', '34'))
  assert.equal(written(emptyFault).length, 15)
  assert.equal(written(filledFault), wireOf('Q,999,999.99,M,04,', '\r\n', '1A'))
  for (const [format, empty, filled] of [
    ['uv', 'Q,,,M,04,', 'Q,+999.99,+999.99,M,04,'],
    ['tunnel', 'Q,,,04,M,', 'Q,999.99,9,04,M,'],
    ['nmea', 'IIMWV,,R,,M,V', 'IIMWV,999,R,999.99,M,V'],
  ] as const) {
    assert.equal(written(emptyFault, { format }), wireOf(empty))
    assert.equal(written(filledFault, { format }), wireOf(filled))
  }
})

test('tunnel: wind from the south is polarity 1, and no wind is 0', () => {
  const polarity = (u: number) => written({ axes: { u, v: null } }, { format: 'tunnel' }).slice(3, 11)
  assert.deepEqual([1.59, -1.59, 0, 0.001].map(polarity), ['001.59,1', '001.59,0', '000.00,0', '000.00,0'])
})

test('a zero is positive, from whichever side it was rounded', () => {
  const frame = written({ axes: { u: -0.004, v: -0 } }, { format: 'uv' })
  assert.equal(frame, wireOf('Q,+000.00,+000.00,M,00,'))
})

test('NMEA has A for valid values, V otherwise', () => {
  const last = (status: string) => written({ status }, { format: 'nmea' }).at(-6)
  assert.deepEqual(['00', '60', '10', '01', '04', '08'].map(last), ['A', 'A', 'A', 'V', 'V', 'V'])
})

test('values that no WindSonic sends throw', () => {
  for (const some of [
    { directionDegrees: 12.5 },
    { directionDegrees: 360 },
    { directionDegrees: 999 },
    { directionDegrees: -1 },
    { speed: -1 },
    { speed: 999.996 },
    { speed: Number.NaN },
    { speed: null },
    { node: 'QQ' },
    { status: '4' },
  ])
    assert.throws(() => written(some), { name: 'RangeError', message: /^No WindSonic sends "Q/ })
  for (const v of [null, -1e4])
    assert.throws(() => written({ axes: { u: 1, v } }, { format: 'uv' }), /sends "Q,\+001\.00,/)
})
