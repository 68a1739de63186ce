// Checks that the command does what its words say, and nothing before they are understood.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { reading, scriptSensor, setStage } from './sensor/testing.ts'
import { sensor } from './sensor.ts'

const bounded = { timeout: 10_000 }

function run(argv: readonly string[], script = scriptSensor(), onOpened = () => '') {
  const stage = setStage(script, { ports: [{ path: '/dev/ttyUSB0' }], onOpened })
  const cwd = join(import.meta.dirname, 'wire')
  return { ...stage, done: () => stage.play(sensor({ argv, env: {}, cwd }, stage.surroundings)) }
}

test('without flags it explains itself in 100 columns, each action and flag among it', bounded, async () => {
  const { done, printed, ports } = run([])
  await done()
  const help = printed.join('\n')
  for (const flag of [
    '--list',
    '--listen',
    '--configure',
    '--simulate',
    '--path',
    '--baud',
    '--parity',
    '--noise',
  ])
    assert.ok(help.includes(flag), flag)
  assert.deepEqual(
    printed.filter((line) => line.length > 100),
    [],
  )
  assert.equal(ports.length, 0)
})

test('each action is taken to its end', bounded, async () => {
  const list = run(['--list'])
  await list.done()
  assert.ok(list.printed.some((line) => line.includes('/dev/ttyUSB0')))
  const set = run(['--configure', 'p3', '--path', '/dev/wind'])
  await set.done()
  assert.equal(set.written(), '*P3\rD3\rQ\r')
  const listen = ['--listen', '--path', '/dev/wind', '--seconds', '0.5']
  const heard = run(listen, undefined, () => reading)
  await heard.done()
  assert.equal(heard.printed.at(-2), '  1 measured')
})

test('the port is the one that is named, with its rate and parity', bounded, async () => {
  const { done, ports } = run(
    ['--configure', 'D3', '--path', 'COM3', '--baud', '38400', '--parity', 'odd'],
    () => '',
  )
  await assert.rejects(done(), { name: 'SensorFailure' })
  assert.deepEqual(ports[0]?.settings, { path: 'COM3', baudRate: 38_400, parity: 'odd' })
})

test('no port is opened before the words are understood', bounded, async () => {
  const rows: readonly (readonly [string[], RegExp])[] = [
    [['--configure', 'M2 X9', '--path', '/dev/wind'], /^"X9" is no command of a WindSonic/],
    [['--configure', 'M2'], /^No port is named; say which, such as --path \/dev\/ttyUSB0/],
    [['--listen', '--path', '/dev/wind', '--seconds', 'soon'], /^--seconds is "soon"; allowed are numbers/],
    [['--listen', '--path', '/dev/wind', '--mode', 'polled', '--rate', '9'], /7 times a second at most/],
    [['--list', 'main'], /^"main" is no flag/],
  ]
  for (const [argv, message] of rows) {
    const { done, ports } = run(argv)
    await assert.rejects(done(), { name: 'ConfigError', message })
    assert.equal(ports.length, 0)
  }
})
