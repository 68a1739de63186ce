// Runs a simulated WindSonic in every format and unit, and demands that every frame it sends is read.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameSplitter } from '../frames/frame-splitter.ts'
import { messageOf, unitOf } from './meaning.ts'
import { readSettings } from './settings.ts'
import { plugIn } from './windsonic-testing.ts'

const messages = ['M1', 'M2', 'M5', 'M12', 'M14', 'M15', 'M16']
const ways = ['O1 L1', 'O2 L2']
/** All units, in turn; each with each format is checked in measurement.test.ts. */
const configurations = messages.flatMap((message, i) =>
  ways.map((way, j) => `${message} U${1 + ((2 * i + j) % 5)} ${way}`),
)
const fault = { kind: 'blocked', atSeconds: 20, forSeconds: 10 } as const

/** An empty fault of UV is that of polar, to the byte. */
for (const configuration of configurations) {
  test(`${configuration}: calm, breeze and fault are all read`, () => {
    const { hear } = plugIn({ configuration: `${configuration} P3`, strength: 'calm', troubles: [fault] })
    const splitter = createFrameSplitter()
    const splits = splitter.push(Buffer.from(hear(60_000), 'latin1'), 0)
    const states = splits.map((split) => (split.kind === 'frame' ? split.reading.state : split.code))
    assert.equal(states.length, 240)
    assert.equal(states.filter((state) => state === 'fault').length, 40)
    assert.ok(states.filter((state) => state === 'calm').length > 40)
    assert.ok(states.filter((state) => state === 'measured').length > 10)
    assert.equal(splitter.strayBytes, 0)
    const settings = readSettings(configuration)
    for (const split of splits) {
      assert.ok(split.kind === 'frame')
      const isEmpty = split.reading.raw === `Q,,,${unitOf(settings)},04,`
      assert.equal(split.reading.format, isEmpty ? 'polar' : messageOf(settings).format)
      assert.equal(split.reading.unit, unitOf(settings))
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
