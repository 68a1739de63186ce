// The sensor command: each action, invalid flags, and real runs on a pseudo-terminal.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { temporaryFolder } from '../scripts/folder-testing.ts'
import type { ListedPort } from '../sensor/command/sensor-context.ts'
import { reading, scriptSensor, setStage } from '../sensor/command/testing.ts'
import { endBySignal, runSensorCommand } from './sensor-command.ts'

const bounded = { timeout: 10_000 }

/** Without a configuration file. */
const cwd = join(import.meta.dirname, '../protocol')

function run(argv: readonly string[], script = scriptSensor(), options: Parameters<typeof setStage>[1] = {}) {
  const stage = setStage(script, { ports: [{ path: '/dev/ttyUSB0' }], ...options })
  return { ...stage, done: () => stage.play(runSensorCommand({ argv, env: {}, cwd }, stage.context)) }
}

test('without flags it prints help in 100 columns, with each action and flag', bounded, async () => {
  const { done, printed, ports } = run([])
  await done()
  const help = printed.join('\n')
  for (const flag of ['list', 'listen', 'configure', 'simulate', 'path', 'baud', 'parity', 'noise'])
    assert.ok(help.includes(`--${flag}`), flag)
  assert.deepEqual(
    printed.filter((line) => line.length > 100),
    [],
  )
  assert.equal(ports.length, 0)
})

test('each action runs to its end', bounded, async () => {
  const list = run(['--list'])
  await list.done()
  assert.ok(list.printed.some((line) => line.includes('/dev/ttyUSB0')))
  const set = run(['--configure', 'p3', '--path', '/dev/wind'])
  await set.done()
  assert.equal(set.written(), '*P3\rD3\rQ\r')
  const listen = ['--listen', '--path', '/dev/wind', '--seconds', '0.5']
  const heard = run(listen, undefined, { onOpened: () => reading })
  await heard.done()
  assert.equal(heard.printed.at(-2), '  1 measured')
})

test('uses the named port, with its rate and parity', bounded, async () => {
  const { done, ports } = run(
    ['--configure', 'D3', '--path', 'COM3', '--baud', '38400', '--parity', 'odd'],
    () => '',
  )
  await assert.rejects(done(), { name: 'SensorFailure' })
  assert.deepEqual(ports[0]?.settings, { path: 'COM3', baudRate: 38_400, parity: 'odd' })
})

test('accepts flags in any order, and with an equals sign', bounded, async () => {
  const { done, ports, written } = run(['--path=/dev/wind', '--node', 'Q', '--configure=P3,m2  nQ'])
  await done()
  assert.equal(ports[0]?.settings.path, '/dev/wind')
  assert.equal(written(), '*P3\rM2\rNQ\rD3\rQ\r')
})

test('opens no port before the flags are understood', bounded, async () => {
  const rows: readonly (readonly [readonly string[], RegExp])[] = [
    [['--lisst'], /^There is no flag --lisst; did you mean --list\?$/],
    [
      ['--path', '/dev/ttyUSB0'],
      /^Say what to do: --list, --listen, --configure, --simulate; --help explains\.$/,
    ],
    [['--listen', '--baud', '1200'], /^--baud is "1200"; allowed are 2400, 4800, 9600, 19200, 38400\.$/],
    [['--listen', '--node', 'qq'], /^--node is "qq"; allowed are letters from A to Z\.$/],
    [['--configure'], /^--configure needs a value after it; allowed are commands of a WindSonic between/],
    [['--configure', '--path', 'x'], /^--configure needs a value after it/],
    [['--listen', '--baud'], /^--baud needs a value after it; allowed are 2400, 4800/],
    [['--list', '--seconds', '3'], /^--seconds does not go with --list; --help lists what does\.$/],
    [['--configure', 'D3', '--mode', 'polled'], /^--mode does not go with --configure;/],
    [['--list', '--listen'], /^--list does not go with --listen;/],
    [['--listen', '--secnds', '3'], /^There is no flag --secnds; did you mean --seconds\?$/],
    [['--configure', '  '], /^--configure needs commands, such as "P3 M2"/],
    ...['Q', '*', '*Q'].map(
      (word) => [['--configure', `M2 ${word}`], /is sent automatically, at the right moment/] as const,
    ),
    ...'M6 M13 B6 X1 M 2 P4 K4 K5001 D4 F4 N1 HELLO ?'
      .split(' ')
      .map((word) => [['--configure', `P3 ${word}`], /^"\S+" is not a WindSonic command/] as const),
    [
      ['--simulate', '/tmp/wind', '--format', 'json'],
      /^--format is "json"; allowed are polar, uv, nmea, tunnel\.$/,
    ],
    [['--simulate', '/tmp/wind', '--seed', '-1'], /^--seed is "-1"; allowed are whole numbers from 0\.$/],
    [['--simulate', '/tmp/wind', '--noise', '1.5'], /^--noise is "1\.5"; allowed are numbers from 0 to 1\.$/],
    [['--simulate', '/tmp/wind', '--noise', 'much'], /^--noise is "much";/],
    [['--simulate', '/tmp/wind', '--trouble', 'rain@1+2'], /"rain@1\+2" is not a fault/],
    [['--configure', 'M2 X9', '--path', '/dev/wind'], /^"X9" is not a WindSonic command/],
    [['--configure', 'M2'], /^No port is given; name one, such as --path \/dev\/ttyUSB0/],
    [['--listen', '--path', '/dev/wind', '--seconds', 'soon'], /^--seconds is "soon"; allowed are numbers/],
    [['--listen', '--path', '/dev/wind', '--mode', 'polled', '--rate', '9'], /at most 7 times a second/],
    [['--list', 'main'], /^"main" is not a flag/],
    [['--simulate', '/tmp/wind', '--settings', 'X9'], /^"X9" is not a WindSonic setting/],
  ]
  for (const [argv, message] of rows) {
    const { done, ports } = run(argv)
    await assert.rejects(done(), { name: 'ConfigError', message }, argv.join(' '))
    assert.equal(ports.length, 0)
  }
})

async function list(ports: readonly ListedPort[] | Error): Promise<string[]> {
  const { done, printed } = run(['--list'], undefined, { ports })
  await done()
  return printed
}

test('lists converters first, with their makers, and says how to read the first', bounded, async () => {
  const printed = await list([
    { path: '/dev/ttyS10' },
    { path: '/dev/ttyS2', manufacturer: undefined },
    { path: '/dev/ttyUSB0', manufacturer: 'FTDI', serialNumber: 'A10K5XYZ' },
  ])
  assert.deepEqual(printed, [
    '',
    '  path           maker   serial number',
    '  /dev/ttyUSB0   FTDI    A10K5XYZ',
    '  /dev/ttyS2     –       –',
    '  /dev/ttyS10    –       –',
    '',
    '  See what one sends:          npm run sensor -- --listen --path /dev/ttyUSB0',
    '  Show it in every window:     npm start -- --sensor-source serial --sensor-path /dev/ttyUSB0',
    '',
  ])
})

test(
  'without a port it prints a sentence, and a list that cannot be made is a failure',
  bounded,
  async () => {
    assert.match((await list([])).join('\n'), /There is no serial port\. Plug the converter in/)
    await assert.rejects(list(new Error('spawn udevadm ENOENT')), {
      name: 'SensorFailure',
      message: /cannot be listed \(spawn udevadm ENOENT\); name yours with --path/,
    })
  },
)

const skip = spawnSync('socat', ['-V']).error ? 'socat is not installed' : false
const boundMs = 30_000

/** One run of the command, and its output so far. */
function start(t: TestContext, ...words: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'sensor-command.ts'), ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'close')
  t.after(async () => {
    end(child, 'SIGTERM')
    await exited
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      said += text
      child.emit('said')
    })
  }

  async function until(isSo: (said: string) => boolean): Promise<string> {
    const signal = AbortSignal.timeout(boundMs)
    while (!isSo(said)) {
      if (child.exitCode !== null) assert.fail(`it ended with ${child.exitCode}:\n${said}`)
      await once(child, 'said', { signal })
    }
    return said
  }

  return {
    until,
    said: () => said,
    /** Ctrl-C. */
    interrupt: () => end(child, 'SIGINT'),
    async exit(): Promise<number | null> {
      await exited
      return child.exitCode
    },
  }
}

function end(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.exitCode === null && child.signalCode === null) child.kill(signal)
}

async function play(t: TestContext, ...words: readonly string[]) {
  const folder = temporaryFolder(t)
  const path = join(folder, 'windsonic')
  const sensor = start(t, '--simulate', path, ...words)
  await sensor.until((said) => said.includes('Ctrl-C ends it.'))
  return { path, sensor }
}

const configured = `
  PATH at 9600 baud, parity none

  *         CONFIGURATION MODE
  P2 ⏎      P2
  M2 ⏎      M2
  D3 ⏎      D3
            M2,U1,O1,L1,P2,B3,H1,NQ,F1,E3,T1,S4,C2,G0,K50,
  Q ⏎       Q
            WINDSONIC (Gill Instruments Ltd)
            2368-103
            RS232 (CFG)
            CHECKSUM ROM:4651 4651 *PASS*
            CHECKSUM FAC:0A2B 0A2B *PASS*
            CHECKSUM ENG:12B5 12B5 *PASS*
            CHECKSUM CAL:CC55 CC55 *PASS*
            <STX>FRAME

  The sensor is now set to

  M2    message          Gill, polar, continuous
  U1    unit             metres per second
  O1    calm             the direction is left empty in a calm
  L1    line end         CR LF
  P2    readings         2 a second
  B3    baud rate        9600 baud
  H1    banner           on
  NQ    node letter      Q
  F1    parity           8 bits, no parity
  E3    line             RS232
  T1    analogue type
  S4    analogue range
  C2    analogue wrap
  G0    reserved
  K50   direction from   0.05 m/s

  It measures again: READING

`

test('a simulated sensor is configured, and the whole conversation shown', { skip }, async (t) => {
  const { path, sensor } = await play(t, '--format', 'uv', '--strength', 'gale', '--seed', '7')
  const run = start(t, '--configure', 'P2 M2', '--path', path)
  assert.equal(await run.exit(), 0, run.said())
  const said = run
    .said()
    .replace(path, 'PATH')
    .replace(/<STX>Q,\d{3},\d{3}\.\d\d,M,00,<ETX>[\dA-F]{2}/, '<STX>FRAME')
    .replace(/\d{1,3}° +\d+\.\d\d m\/s/, 'READING')
  assert.equal(said, configured)
  sensor.interrupt()
  assert.equal(await sensor.exit(), 0)
  assert.equal(existsSync(path), false, 'the link is removed')
})

test('prints lines as they arrive, even if nothing else wakes the process', { skip }, async (t) => {
  const { path } = await play(t, '--settings', 'P3', '--strength', 'gale', '--seed', '7')
  const run = start(t, '--listen', '--path', path, '--seconds', '3600')
  const rows = /^ +\d+\.\d{3} {3}<STX>Q,\d{3},\d{3}\.\d\d,M,00,<ETX>[\dA-F]{2} +\d+° +\d+\.\d\d m\/s$/gm
  await run.until((said) => (said.match(rows)?.length ?? 0) >= 8)
  run.interrupt()
  assert.equal(await run.exit(), 0, run.said())
  assert.match(run.said(), /\n {2}\d+ measured\n\n$/)
})

test('a path that is taken, and one that is missing, give a sentence and a failure', { skip }, async (t) => {
  const rows = [
    [['--simulate', import.meta.filename], /exists and is not a link to a pseudo-terminal/],
    [
      ['--configure', 'D3', '--path', '/dev/no-such-wind'],
      /cannot be used: there is no such port; plug the sensor in, .*\.\n$/,
    ],
  ] as const
  for (const [words, sentence] of rows) {
    const run = start(t, ...words)
    assert.equal(await run.exit(), 1)
    assert.match(run.said(), sentence)
    assert.doesNotMatch(run.said(), /\n {4}at /, 'no stack')
  }
})

const linuxOnly = { ...bounded, skip: process.platform === 'linux' ? false : 'udevadm exists only on Linux' }

test('lists ports even where udevadm is not installed', linuxOnly, () => {
  const command = join(import.meta.dirname, 'sensor-command.ts')
  const { status, stderr } = spawnSync(process.execPath, [command, '--list'], { env: { PATH: '' } })
  assert.equal(String(stderr), '')
  assert.equal(status, 0)
})

function startProcess() {
  const process = new EventEmitter()
  const time = createManualTime()
  const exits: number[] = []
  const signal = endBySignal({ process, now: time.now, exit: () => void exits.push(time.now()) })
  return { process, time, exits, signal }
}

test('a signal that arrives twice at once, as in a process group, ends it once', () => {
  for (const name of ['SIGINT', 'SIGTERM']) {
    const { process, time, exits, signal } = startProcess()
    assert.equal(signal.aborted, false)
    process.emit(name)
    assert.equal(signal.aborted, true)
    time.advance(400)
    assert.ok(process.emit(name), 'only the command decides what the signal does')
    assert.deepEqual(exits, [])
  }
})

test('a later second signal exits', () => {
  const { process, time, exits } = startProcess()
  process.emit('SIGTERM')
  time.advance(501)
  process.emit('SIGINT')
  assert.equal(exits.length, 1)
})
