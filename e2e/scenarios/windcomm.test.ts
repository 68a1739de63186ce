// Flags of `windcomm`: the paper's experiment, real machines, and misuse, each with its sentence.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { optionsOf, testRefusals } from '../lab/testing.ts'
import { windcomm } from './windcomm.ts'

test('without flags it is the paper’s experiment, with the browser at the first site', () => {
  const { seed, ...options } = optionsOf(windcomm)
  assert.ok(Number.isInteger(seed))
  assert.deepEqual(options, {
    sites: ['edmonton', 'lund', 'caracas', 'nagaoka'],
    modes: ['websocket/1.1', 'long-polling/1.1', 'polling/1.1', 'sse/2', 'streaming/2', 'websocket/2'],
    readings: 1200,
    rateHz: 4,
    holdMs: 300,
    intervalMs: 150,
    faster: 1,
    sessions: 1,
    newConnections: false,
    machines: null,
    browsersAt: 'edmonton',
    maxErrorMs: 2,
  })
})

test('faster scales rate, hold and interval together', () => {
  const { rateHz, holdMs, intervalMs } = optionsOf(windcomm, '--faster', '10')
  assert.deepEqual([rateHz, holdMs, intervalMs], [40, 30, 15])
})

test('sites are used once, and browsers may be anywhere or nowhere', () => {
  const flags = ['--sites', 'lund, mobile,lund']
  assert.deepEqual(optionsOf(windcomm, ...flags).sites, ['lund', 'mobile'])
  assert.equal(optionsOf(windcomm, ...flags, '--browsers-at', 'mobile').browsersAt, 'mobile')
  assert.equal(optionsOf(windcomm, ...flags, '--browsers-at', 'none').browsersAt, null)
})

test('of a serial port the lab’s server gets the settings; the rate is the sensor’s, unless it is polled', () => {
  const serial = ['--sensor', 'serial', '--sensor-path', '/dev/ttyUSB0', '--sensor-baud-rate', '19200']
  const own = optionsOf(windcomm, ...serial)
  assert.deepEqual(own.machines?.sensor, {
    'sensor-source': 'serial',
    'sensor-path': '/dev/ttyUSB0',
    'sensor-baud-rate': '19200',
  })
  assert.deepEqual([own.rateHz, own.holdMs, own.browsersAt, own.maxErrorMs], [null, 300, 'here', null])
  const polled = optionsOf(windcomm, ...serial, '--sensor-mode', 'polled', '--rate', '2')
  assert.deepEqual([polled.rateHz, polled.machines?.sensor['sensor-rate-hz']], [2, 2])
})

test('rate and pauses are those of a running server', () => {
  const { rateHz, holdMs, intervalMs, sites } = optionsOf(windcomm, '--server', 'https://localhost:8443')
  assert.deepEqual([rateHz, holdMs, intervalMs, sites], [null, null, null, []])
})

testRefusals(windcomm, [
  ['--sites lund,atlantis', /--sites is "lund,atlantis": there are loopback, lan, wan, mobile, edmonton/],
  ['--sites ,', /--sites names no site/],
  ['--modes sse/3', /--modes names "sse\/3"/],
  ['--modes sse/2', /--modes must also name websocket\/1\.1/],
  ['--readings many', /--readings is "many"/],
  ['--rate 0', /--rate is "0"/],
  ['--browsers-at lan', /--browsers-at is "lan", which is not among the sites edmonton, lund/],
  ['--faster 4', /--interval 150 and --faster 4 make 37\.5 ms; the server accepts whole ones from 10 on/],
  ['--faster 30', /--rate 4 and --faster 30 make 120 Hz; the sensor supports at most 100/],
  ['--faster 20 --rate 1', /--interval 150 and --faster 20 make 7\.5 ms/],
  ['--hold 301 --faster 10', /--hold 301 and --faster 10 make 30\.1 ms/],
  ['--from a --rate 8', /; --rate cannot change that/],
  ['--join all', /--join is "all"/],
  [
    '--sites lund --server https://x',
    /--sites names networks that are simulated on this machine: leave out --sites, or --server\./,
  ],
  ['--sites lund --join 1 --remote http://x', /leave out --sites, or --remote and --join\./],
  [
    '--faster 5 --sensor serial --sensor-path a',
    /--faster speeds up simulated networks, .*: leave out --faster, or --sensor serial\./,
  ],
  ['--server https://x --rate 8', /has its own sensor and pace: leave out --server, or --rate\./],
  [
    '--server https://x --sensor serial --sensor-path a --hold 5',
    /leave out --server, or --sensor, --sensor-path and --hold\./,
  ],
  [
    '--server https://x --join 1',
    /the lab starts the server that devices join: leave out --server, or --join/,
  ],
  ['--tls-key-file a.pem --join 1', /--tls-cert-file and --tls-key-file belong together/],
  ['--sensor remote', /--sensor is "remote": there are simulated, serial\./],
  ['--new-connections --server https://x', /--new-connections is of simulated sites: leave it out/],
  ['--sensor serial', /--sensor serial needs --sensor-path, such as \/dev\/ttyUSB0/],
  ['--sensor-path a', /--sensor-path is of --sensor serial: add that, or leave out --sensor-path\./],
  [
    '--sensor serial --sensor-path a --rate 2',
    /at its own rate unless it is polled: leave out --rate, or add --sensor-mode polled\./,
  ],
  ['--join 1 --browsers-at lund', /--browsers-at is "lund": on real machines it is here, or none/],
])
