// The simulated WindSonic as its host sees it: both modes, configuration, formats, faults.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../../protocol/testing.ts'
import { createSeededRandom, type Timers } from '../../protocol/time.ts'
import { createFrameSplitter } from '../frame-splitter.ts'
import { readFault } from './faulty-line.ts'
import { WindSonicSettings } from './windsonic-settings.ts'
import { plugIn, readingsIn } from './windsonic-testing.ts'

/** From the fact sheet. */
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

test('at power-up it sends the banner, then frames at the rate', () => {
  const { hear } = plugIn({ isPoweredUp: true })
  const bannerMs = (banner.length * 10_000) / 9600
  assert.equal(hear(bannerMs + 0.1), banner)
  assert.equal(hear(990), '')
  assert.equal(readingsIn(hear(9010)).length, 10)
})

test('with H2 there is no banner, and a running sensor sends none', () => {
  for (const options of [{ isPoweredUp: true, configuration: 'H2' }, { isPoweredUp: false }])
    assert.match(plugIn(options).hear(1000), /^.Q,\d/)
})

test('supports every output rate of the manual', () => {
  for (const [rate, count] of [
    ['P1', 60],
    ['P2', 120],
    ['P3', 240],
    ['P20', 15],
    ['P21', 30],
  ] as const)
    assert.equal(readingsIn(plugIn({ configuration: rate }).hear(60_000)).length, count, rate)
})

test('a frame arrives in chunks of the port’s buffer, delayed by the line’s speed', () => {
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

test('the last byte arrives at start + n / rate, however long the frame is', () => {
  const { hear, pieces } = plugIn({ configuration: 'P3', strength: 'calm' })
  hear(60_000)
  const lengths = new Set(pieces.map(({ text }) => text.length))
  assert.ok(lengths.has(8) && lengths.has(5), 'some frames are calms, and shorter')
  const ends = pieces.filter(({ text }) => text.endsWith('\n')).map(({ at }) => Math.round(at * 100) / 100)
  assert.deepEqual(
    ends,
    Array.from({ length: 240 }, (_, index) => 250 * (index + 1)),
  )
})

test('other rates keep their count', () => {
  for (const [rateHz, count] of [
    [0.25, 15],
    [3, 180],
    [10, 600],
  ] as const)
    assert.equal(readingsIn(plugIn({ rateHz }).hear(60_000)).length, count, `${rateHz} Hz`)
})

test('timers that always fire late do not make the rate drift', () => {
  const time = createManualTime()
  const later: Timers['later'] = (run, delayMs) => time.later(run, delayMs + 15)
  const heard: Uint8Array[] = []
  plugIn({ rateHz: 4, timers: { now: time.now, later }, onBytes: (bytes) => void heard.push(bytes) })
  time.advance(60_045)
  assert.equal(readingsIn(Buffer.concat(heard).toString('latin1')).length, 240)
})

test('a short stall is caught up, a long one is not', () => {
  const { hear, time } = plugIn({ rateHz: 4 })
  hear(1000)
  time.stall(5000)
  assert.equal(readingsIn(hear(1000)).length, 24)
  time.stall(3_600_000)
  assert.ok(readingsIn(hear(1000)).length <= 5)
})

test('an hour of it has a mean, gusts, every direction and no calm; the same seed gives the same', () => {
  const hour = () => plugIn({ rateHz: 4, random: createSeededRandom(2012) }).hear(3_600_000)
  const text = hour()
  const readings = readingsIn(text)
  const speeds = readings.map((reading) => reading.speedMetresPerSecond ?? Number.NaN)
  const mean = speeds.reduce((sum, speed) => sum + speed, 0) / speeds.length
  const directions = new Set(readings.map((reading) => reading.directionDegrees))
  assert.equal(speeds.length, 14_400)
  assert.ok(mean > 3 && mean < 5, `mean ${mean}`)
  assert.ok(Math.max(...speeds) > 6 && Math.max(...speeds) < 15, `gust ${Math.max(...speeds)}`)
  assert.ok(Math.min(...speeds) > 0.4, `lull ${Math.min(...speeds)}`)
  assert.ok(directions.size > 60, `${directions.size} directions`)
  assert.equal(hour(), text)
})

test('for a rate that no sensor has, the line is as fast as needed', () => {
  const { hear } = plugIn({ rateHz: 500, configuration: 'M1' })
  assert.ok(Math.abs(readingsIn(hear(2000)).length - 1000) <= 1)
})

test('a stopped sensor is quiet in the middle of a frame, and leaves no timer', () => {
  const { hear, device, time } = plugIn({ isPoweredUp: true })
  hear(50)
  device.stop()
  assert.equal(hear(10_000), '')
  assert.equal(time.pending(), 0)
})

const polled = (options = {}) => plugIn({ configuration: 'M4', ...options })

/** Longer than any reply takes, including its frame, even at 2400 baud. */
const replied = 300

test('a polled sensor sends nothing unasked, nor before it is enabled', () => {
  const { hear, type } = polled()
  assert.equal(hear(60_000), '')
  type('Q')
  assert.equal(hear(1000), '')
})

test('once enabled, its letter polls one frame, other letters none', () => {
  const { hear, type } = polled()
  type('?Q')
  assert.match(hear(replied), /^.Q,\d{3},\d{3}\.\d\d,M,00,.[\dA-F]{2}\r\n$/)
  for (const other of ['A', 'q', 'R', ' ', '\r']) type(other)
  assert.equal(hear(1000), '')
  type('Q')
  assert.equal(readingsIn(hear(replied)).length, 1)
})

test('! disables, ? enables again', () => {
  const { hear, type } = polled()
  type('?!Q')
  assert.equal(hear(1000), '')
  type('?Q')
  assert.equal(readingsIn(hear(replied)).length, 1)
})

test('?& asks for the letter', () => {
  const { hear, type } = polled({ configuration: 'M3 NX' })
  type('?&')
  assert.equal(hear(100), 'X\r\n')
  type('&')
  assert.equal(hear(100), '')
})

test('a reply begins within 130 ms, at every baud rate', () => {
  for (const baud of ['B1', 'B2', 'B3', 'B4', 'B5']) {
    const { hear, type, pieces } = polled({ configuration: `M4 ${baud}` })
    type('?')
    for (let i = 0; i < 50; i++) {
      type('Q')
      const asked = i * replied
      hear(replied)
      const first = pieces.find(({ at }) => at >= asked)
      assert.ok(Number(first?.at) - asked < 130, `${baud}: ${Number(first?.at) - asked} ms`)
    }
  }
})

test('polls that arrive faster than replies get one reply', () => {
  const { hear, type } = polled()
  type('?QQQ')
  assert.equal(readingsIn(hear(replied)).length, 1)
})

test('a reply has the last sample, the same again until the next', () => {
  const { hear, type } = polled({ configuration: 'M4 P20' })
  type('?')
  const ask = () => {
    type('Q')
    return readingsIn(hear(replied))[0]?.raw
  }
  const first = ask()
  assert.ok(first)
  assert.equal(ask(), first)
  hear(4000)
  assert.notEqual(ask(), first)
})

test('after power-up it ignores polls for five seconds', () => {
  const { hear, type } = polled({ isPoweredUp: true })
  hear(4999)
  type('?Q')
  assert.equal(hear(1000), '')
  type('?Q')
  assert.equal(readingsIn(hear(replied)).length, 1)
})

test('* and the letter configure, * alone does not; after Q it waits to be enabled', () => {
  const { hear, type } = polled({ configuration: 'M4 H2' })
  type('?*')
  assert.equal(hear(1000), '')
  type('*Q')
  assert.equal(hear(1000), 'CONFIGURATION MODE\r\n')
  type('Q\r')
  assert.equal(hear(1000), 'Q\r\n')
  type('Q')
  assert.equal(hear(1000), '')
  type('?Q')
  assert.equal(readingsIn(hear(replied)).length, 1)
})

test('M4 silences it until it is polled, M2 makes it send again', () => {
  const { hear, type } = plugIn({ configuration: 'H2' })
  type('*M4\rQ\r')
  assert.equal(hear(60_000), 'CONFIGURATION MODE\r\nM4\r\nQ\r\n')
  type('*QM2\rQ\r')
  assert.equal(readingsIn(hear(10_100)).length, 10)
})

test('a pending reply is not sent in configuration mode', () => {
  const { hear, type } = polled()
  type('?Q*Q')
  assert.equal(hear(1000), 'CONFIGURATION MODE\r\n')
})

/** A sensor that sent `CONFIGURATION MODE`, and a way to send it commands. */
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

test('a stray * stops the stream for good', () => {
  const { hear, type } = plugIn({ configuration: 'P3' })
  assert.equal(readingsIn(hear(10_000)).length, 40)
  type('*')
  assert.equal(hear(60_000), 'CONFIGURATION MODE\r\n')
})

test('a frame in transit is finished first', () => {
  const { hear, type } = plugIn()
  hear(985)
  type('*')
  assert.match(hear(1000), /^.Q,\d{3},\d{3}\.\d\d,M,00,.[\dA-F]{2}\r\nCONFIGURATION MODE\r\n$/)
})

test('D3 lists the factory settings exactly', () => {
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

test('rejects an invalid value, and changes nothing', () => {
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

test('Enter is CR, LF or both, and ignored on its own', () => {
  const { type, hear } = configure()
  type('\r\n\r\n\n')
  assert.equal(hear(1000), '')
  type('U2\r\nU3\nU4\r')
  assert.equal(hear(1000), 'U2\r\nU3\r\nU4\r\n')
})

test('Q leaves: banner, then data with the new settings', () => {
  const { ask, hear } = configure()
  for (const command of ['M1', 'U2', 'P3', 'NX']) ask(command)
  assert.match(ask('Q'), /^Q\r\nWINDSONIC [\s\S]*CHECKSUM CAL:\w+ \w+ \*PASS\*\r\n(.X,[+-]|$)/)
  const readings = readingsIn(hear(60_000))
  assert.ok(Math.abs(readings.length - 240) <= 1)
  assert.ok(readings.every(({ format, unit, node }) => format === 'uv' && unit === 'N' && node === 'X'))
})

test('with H2 only the echo precedes the data', () => {
  const { ask, hear } = configure('H2')
  assert.match(ask('Q') + hear(1000), /^Q\r\n.Q,\d/)
})

test('a baud rate applies from the next word on; its echo is still sent at the old one', () => {
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

test('a typed rate replaces one that no sensor has', () => {
  const { hear, type } = plugIn({ rateHz: 10 })
  assert.equal(readingsIn(hear(10_000)).length, 100)
  type('*U1\rQ\r')
  assert.ok(Math.abs(readingsIn(hear(10_000)).length - 98) <= 1, 'another setting leaves it')
  type('*P1\rQ\r')
  assert.ok(Math.abs(readingsIn(hear(60_000)).length - 60) <= 1)
})

const messages = ['M1', 'M2', 'M5', 'M12', 'M14', 'M15', 'M16']
const ways = ['O1 L1', 'O2 L2']
/** All units, in turn; measurement.test.ts checks each unit with each format. */
const configurations = messages.flatMap((message, i) =>
  ways.map((way, j) => `${message} U${1 + ((2 * i + j) % 5)} ${way}`),
)
const fault = { kind: 'blocked', atSeconds: 20, forSeconds: 10 } as const

/** An empty UV fault is identical to a polar one. */
for (const configuration of configurations) {
  test(`${configuration}: calm, breeze and fault are all read`, () => {
    const { hear } = plugIn({ configuration: `${configuration} P3`, strength: 'calm', faults: [fault] })
    const splitter = createFrameSplitter()
    const splits = splitter.push(Buffer.from(hear(60_000), 'latin1'), 0)
    const states = splits.map((split) => (split.kind === 'frame' ? split.reading.state : split.code))
    assert.equal(states.length, 240)
    assert.equal(states.filter((state) => state === 'fault').length, 40)
    assert.ok(states.filter((state) => state === 'calm').length > 40)
    assert.ok(states.filter((state) => state === 'measured').length > 10)
    const settings = WindSonicSettings.parse(configuration)
    for (const split of splits) {
      assert.ok(split.kind === 'frame')
      const isEmpty = split.reading.raw === `Q,,,${settings.unit},04,`
      assert.equal(split.reading.format, isEmpty ? 'polar' : settings.message.format)
      assert.equal(split.reading.unit, settings.unit)
    }
  })
}

test('talkers and statuses are those of the command', () => {
  const beginning = (configuration: string) => plugIn({ configuration }).hear(1000)
  assert.match(beginning('M5'), /^\$IIMWV,\d{3},R,\d{3}\.\d\d,M,A\*[\dA-F]{2}\r\n$/)
  assert.match(beginning('M14'), /^\$WIMWV,\d{3},R,\d{3}\.\d\d,M,A\*[\dA-F]{2}\r\n$/)
  assert.match(beginning('M15'), /^\$WIMWV,\d{3},R,\d{3}\.\d\d,M,00\*[\dA-F]{2}\r\n$/)
  assert.match(beginning('M16'), /^\$IIMWV,\d{3},R,\d{3}\.\d\d,M,00\*[\dA-F]{2}\r\n$/)
  assert.match(beginning('M12'), /^.Q,\d{3}\.\d\d,[01],00,M,.[\dA-F]{2}\r\n$/)
  assert.match(beginning('M1 L2'), /^.Q,[+-]\d{3}\.\d\d,[+-]\d{3}\.\d\d,M,00,.[\dA-F]{2}\r$/)
})

/** 88 s at 4 Hz, with one fault from second 40 on: before it, during it, after it. */
function suffer(fault: string) {
  const { hear, pieces } = plugIn({ configuration: 'P3', faults: [readFault(fault)] })
  const before = hear(39_990)
  const meanwhile = hear(8000)
  const after = hear(40_010)
  assert.equal(readingsIn(before).length, 159)
  assert.ok(readingsIn(after).length >= 160)
  return { before, meanwhile, after, pieces }
}

test('a blocked axis: frames continue, with its status and without a value', () => {
  for (const [kind, status] of [
    ['blocked-u', '01'],
    ['blocked-v', '02'],
    ['blocked', '04'],
  ]) {
    const readings = readingsIn(suffer(`${kind}@40+8`).meanwhile)
    assert.equal(readings.length, 32)
    assert.ok(readings.every((reading) => reading.state === 'fault' && reading.status === status))
  }
})

test('silence: nothing arrives, and nothing is made up for', () => {
  const { meanwhile, after } = suffer('silence@40+8')
  assert.equal(meanwhile, '')
  assert.equal(readingsIn(after).length, 161)
})

test('stall: nothing arrives, then all of it at once', () => {
  const { meanwhile, after, pieces } = suffer('stall@40+8')
  assert.equal(readingsIn(meanwhile).length, 0)
  assert.equal(readingsIn(meanwhile + after).length, 32 + 161)
  const backlog = pieces.find(({ text }) => text.length > 16)
  assert.equal(readingsIn(String(backlog?.text)).length, 31, 'the first had begun to arrive')
  assert.ok(Math.abs(Number(backlog?.at) - 48_000) < 1)
})

test('cut, shifted, flipped, wrong baud rate: bytes arrive, but hardly a reading', () => {
  for (const kind of ['cut', 'shifted', 'flipped', 'wrong-baud']) {
    const { meanwhile } = suffer(`${kind}@40+8`)
    assert.ok(meanwhile.length > 100, kind)
    assert.ok(readingsIn(meanwhile).length <= 5, `${readingsIn(meanwhile).length} readings when ${kind}`)
  }
})

test('a wrong baud rate gives no reading at all, and takes no longer', () => {
  const { meanwhile, pieces } = suffer('wrong-baud@40+8')
  assert.equal(readingsIn(meanwhile).length, 0)
  const garbage = pieces.filter(({ at }) => at > 40_000 && at < 48_000)
  assert.ok(garbage.length > 32 * 3)
  assert.ok(
    garbage.every(({ at }) => at % 250 === 0 || at % 250 > 225),
    'it arrives in the 25 ms of the frame',
  )
})

function noisy(noise: number, seed: number, configuration = 'P3') {
  return plugIn({ configuration, noise, random: createSeededRandom(seed) }).hear(600_000)
}

test('noise hits the requested share, and spares the next frame', () => {
  for (const noise of [0.1, 0.3]) {
    const good = readingsIn(noisy(noise, 3)).length
    assert.ok(Math.abs(good / 2400 - (1 - noise)) < 0.025, `${noise}: ${good}`)
  }
})

test('the same seed gives the same noise, and noise does not change the wind', () => {
  const noise = 0.06
  assert.equal(noisy(noise, 5), noisy(noise, 5))
  assert.notEqual(noisy(noise, 5), noisy(noise, 6))
  const clean = new Set(readingsIn(noisy(0, 5)).map(({ raw }) => raw))
  const heard = readingsIn(noisy(noise, 5))
  const strangers = heard.filter(({ raw }) => !clean.has(raw))
  assert.ok(strangers.length <= 2, `${strangers.length} readings were not sent`)
})

test('answers in configuration mode are damaged too', () => {
  const { type, hear } = plugIn({ faults: [readFault('silence@0+10')] })
  type('*')
  assert.equal(hear(1000), '')
})

test('the frame reader copes with all of it', () => {
  const splitter = createFrameSplitter()
  const text = noisy(0.3, 8)
  const splits = splitter.push(Buffer.from(text, 'latin1'), 0)
  const good = splits.filter(({ kind }) => kind === 'frame').length
  assert.ok(good / 2400 > 0.68 && good / 2400 < 0.8, `${good}`)
  assert.ok(splitter.refused.checksum > 20)
})
