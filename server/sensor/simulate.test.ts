// Checks what the flags make of a simulated sensor.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSimulating, simulate } from './simulate.ts'
import { setStage } from './testing.ts'

const read = (flags: Readonly<Record<string, string>>) =>
  readSimulating('/tmp/wind', 'gale', new Map(Object.entries(flags)))

test('flags become the device’s options', () => {
  const { path, device, seed } = read({
    '--format': 'uv',
    '--settings': 'U2 P3',
    '--seed': '7',
    '--noise': '0.3',
    '--trouble': 'stall@30+9, silence@60+5',
  })
  assert.deepEqual([path, seed, device.strength, device.configuration], ['/tmp/wind', 7, 'gale', 'M1 U2 P3'])
  assert.ok(Math.abs((device.noise?.cut ?? 0) - 0.1) < 1e-12)
  assert.deepEqual(device.troubles, [
    { kind: 'stall', atSeconds: 30, forSeconds: 9 },
    { kind: 'silence', atSeconds: 60, forSeconds: 5 },
  ])
})

test('without flags it is as it leaves the factory', () => {
  const { device, seed } = read({})
  assert.deepEqual([device.configuration, device.troubles, seed], ['M2', [], null])
})

test('a wrong value is answered with what is allowed', async () => {
  const rows: readonly (readonly [string, string, RegExp])[] = [
    ['--format', 'json', /^--format is "json"; allowed are polar, uv, nmea, tunnel\.$/],
    ['--seed', '-1', /^--seed is "-1"; allowed are whole numbers from 0\.$/],
    ['--noise', '1.5', /^--noise is "1\.5"; allowed are shares from 0 to 1\.$/],
    ['--noise', 'much', /^--noise is "much";/],
    ['--trouble', 'rain@1+2', /"rain@1\+2" is no trouble/],
  ]
  for (const [flag, value, message] of rows)
    assert.throws(() => read({ [flag]: value }), { name: 'ConfigError', message })
  const { surroundings } = setStage(() => '')
  const message = /"X9" is no setting of a WindSonic/
  await assert.rejects(simulate(read({ '--settings': 'X9' }), surroundings), { name: 'ConfigError', message })
})
