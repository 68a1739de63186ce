// Checks the command line: what it asks for, and each sentence that a wrong one is answered with.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSensorFlags } from './flags.ts'

const read = (line: string) => readSensorFlags(line.split(' ').filter((word) => word !== ''))

test('without flags, or with --help, it explains itself', () => {
  for (const line of ['', '--help', '-h', '--configure --help']) assert.equal(read(line).action, null)
})

test('short names stand for settings, the others are kept', () => {
  const { action, others, own } = read('--listen --path /dev/ttyUSB0 --baud=38400 --seconds 60 --config x.ts')
  assert.equal(action, '--listen')
  assert.deepEqual(others, [
    '--sensor-path',
    '/dev/ttyUSB0',
    '--sensor-baud-rate',
    '38400',
    '--config',
    'x.ts',
  ])
  assert.deepEqual([...own], [['--seconds', '60']])
})

test('an action may come last, and with an equals sign', () => {
  const flags = readSensorFlags(['--parity', 'even', '--configure=P3 M2'])
  assert.deepEqual([flags.action, flags.object], ['--configure', 'P3 M2'])
  assert.deepEqual(flags.others, ['--sensor-parity', 'even'])
  assert.deepEqual(read('--simulate /tmp/wind --strength gale').object, '/tmp/wind')
})

const wrong: readonly (readonly [string, RegExp])[] = [
  ['--lisst', /^There is no flag --lisst; did you mean --list\?$/],
  ['--path /dev/ttyUSB0', /^Say what to do: --list, --listen, --configure, --simulate; --help explains\.$/],
  ['--listen --baud 1200', /^sensor\.baudRate is "1200" \(from --baud\); allowed are 2400, 4800, 9600,/],
  ['--listen --node qq', /^sensor\.node is "qq" \(from --node\); allowed are letters from A to Z\.$/],
  ['--configure', /^--configure needs a value after it; allowed are commands of a WindSonic between quotes/],
  ['--configure --path x', /^--configure needs a value after it/],
  ['--listen --baud', /^--baud needs a value after it; allowed are 2400, 4800/],
  ['--list --seconds 3', /^--seconds does not go with --list; --help lists what does\.$/],
  ['--configure D3 --mode polled', /^--mode does not go with --configure;/],
  ['--list --listen', /^--list does not go with --listen;/],
  ['--listen --secnds 3', /^There is no flag --secnds; did you mean --seconds\?$/],
]
for (const [line, message] of wrong)
  test(`${line} is refused`, () => assert.throws(() => read(line), { name: 'ConfigError', message }))
