// Flags of the WindComm scenario: defaults, what --faster scales, a sentence for each mistake.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readReanalysis, readWindcommOptions } from './scenario-options.ts'

test('without a flag it is the paper’s experiment, with the browser at the first site', () => {
  const { seed, ...options } = readWindcommOptions([])
  assert.ok(Number.isInteger(seed))
  assert.deepEqual(options, {
    sites: ['edmonton', 'lund', 'caracas', 'nagaoka'],
    modes: ['websocket/1.1', 'long-polling/1.1', 'polling/1.1', 'sse/2', 'streaming/2', 'websocket/2'],
    readings: 1200,
    rateHz: 4,
    holdMs: 300,
    intervalMs: 150,
    faster: 1,
    browsersAt: 'edmonton',
    out: undefined,
  })
})

test('faster scales rate, hold and interval together', () => {
  const { rateHz, holdMs, intervalMs } = readWindcommOptions(['--faster', '10'])
  assert.deepEqual([rateHz, holdMs, intervalMs], [40, 30, 15])
})

test('sites are taken once, and browsers may be anywhere or nowhere', () => {
  const flags = ['--sites', 'lund, mobile,lund']
  assert.deepEqual(readWindcommOptions(flags).sites, ['lund', 'mobile'])
  assert.equal(readWindcommOptions([...flags, '--browsers-at', 'mobile']).browsersAt, 'mobile')
  assert.equal(readWindcommOptions([...flags, '--browsers-at', 'none']).browsersAt, null)
})

for (const [flags, sentence] of [
  [['--sites', 'lund,atlantis'], /--sites names "atlantis"; there are loopback, lan, mobile, edmonton/],
  [['--sites', ','], /--sites names no site/],
  [['--modes', 'sse/3'], /--modes names "sse\/3"/],
  [['--modes', 'sse/2'], /--modes has to name websocket\/1\.1 too/],
  [['--readings', 'many'], /--readings is "many"/],
  [['--rate', '0'], /--rate is "0"/],
  [['--browsers-at', 'lan'], /--browsers-at is "lan", which is not among the sites edmonton, lund/],
  [['--faster', '4'], /--interval 150 and --faster 4 make 37\.5 ms; the server takes whole ones from 10 on/],
  [['--faster', '30'], /--rate 4 and --faster 30 make 120 Hz; the sensor has 100 at most/],
  [['--faster', '20', '--rate', '1'], /--interval 150 and --faster 20 make 7\.5 ms/],
  [['--hold', '301', '--faster', '10'], /--hold 301 and --faster 10 make 30\.1 ms/],
  [['--wibble'], /wibble/],
] as const) {
  test(`${flags.join(' ')}: one sentence`, () => {
    assert.throws(() => readWindcommOptions(flags), sentence)
  })
}

test('a finished run is worked out again as it was measured', () => {
  assert.equal(readReanalysis(['--rate', '4']), null)
  assert.deepEqual(readReanalysis(['--from', 'reports/a', '--out', 'b']), { from: 'reports/a', out: 'b' })
  assert.throws(() => readReanalysis(['--from', 'a', '--rate', '8']), /; --rate cannot change that/)
})
