// The precedence of flag, variable, file and default, and the sentence for each invalid value.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { transportNames } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { choice, quantity } from '../../server/config/fields.ts'
import { type ConfigSources, defaultConfig, loadConfig, readFlags, wantsHelp } from './config.ts'

const nowhere = join(import.meta.dirname, '../../protocol')

const load = (argv: string, sources: Partial<ConfigSources> = {}) =>
  loadConfig({ argv: argv.split(' ').filter((word) => word !== ''), env: {}, cwd: nowhere, ...sources })

const refused = (loading: Promise<unknown>, message: string) =>
  assert.rejects(loading, { name: 'ConfigError', message })

async function directoryWith(t: TestContext, source: string, name = 'crosswind.config.ts'): Promise<string> {
  const directory = temporaryFolder(t)
  await writeFile(join(directory, name), source)
  return directory
}

test('without file, flag or variable the defaults apply', async () => {
  const config = await load('')
  assert.deepEqual(config, defaultConfig)
  assert.equal(config.transport, 'sse')
  assert.equal(config.sensor.source, 'simulated')
  assert.equal(config.sensor.mode, 'continuous', 'a sensor is written to only on request')
})

test('the project’s own config file contains every default', async () => {
  const cwd = join(import.meta.dirname, '../..')
  const { default: own } = await import('../../crosswind.config.ts')
  assert.deepEqual(own, defaultConfig)
  assert.deepEqual(await load('', { cwd }), defaultConfig)
})

test('a flag overrides a variable, which overrides the file, which overrides the default', async (t) => {
  const cwd = await directoryWith(
    t,
    'export default { port: 1, http1Port: 2, drainMs: 3, sensor: { rateHz: 2 } }',
  )
  const env = { CROSSWIND_PORT: '11', CROSSWIND_HTTP1_PORT: '12', CROSSWIND_SENSOR_BAUD_RATE: '19200' }
  const config = await load('--port 21', { cwd, env })
  assert.equal(config.port, 21)
  assert.equal(config.http1Port, 12)
  assert.equal(config.drainMs, 3)
  assert.equal(config.heartbeatMs, 15_000)
  assert.deepEqual(config.sensor, { ...defaultConfig.sensor, baudRate: 19200, rateHz: 2 })
})

test('--config reads another file, relative to the working directory', async (t) => {
  const cwd = await directoryWith(t, 'export default { port: 5000 }', 'other.ts')
  assert.equal((await load('--config other.ts', { cwd })).port, 5000)
  assert.equal((await load('', { cwd })).port, 8443)
  await refused(load('--config none.ts', { cwd }), 'none.ts (from --config) is missing.')
})

test('flags have a space or an equals sign, and the last one counts', async () => {
  const config = await load('--http 1.1 --http1-port=0 --sensor-rate-hz 0.5 --port 1 --port 2')
  assert.equal(config.http, '1.1')
  assert.equal(config.http1Port, 0)
  assert.equal(config.sensor.rateHz, 0.5)
  assert.equal(config.port, 2)
})

test('origins are separated by commas, and null removes a path', async (t) => {
  const cwd = await directoryWith(t, "export default { sensor: { path: '/dev/ttyS0' } }")
  const config = await load('--allowed-origins https://a.example,https://b.example:8443 --sensor-path null', {
    cwd,
  })
  assert.deepEqual(config.allowedOrigins, ['https://a.example', 'https://b.example:8443'])
  assert.equal(config.sensor.path, null)
})

test('an empty variable counts as not set, and variables that are no settings are ignored', async () => {
  const env = {
    CROSSWIND_PORT: '',
    CROSSWIND_DEBUG: '*',
    CROSSWIND_CHROMIUM: '/usr/bin/chromium',
    CROSSWIND_CHROMEDRIVER: '/x',
    CROSSWIND_NATS_PROGRAM: '/x',
    CROSSWIND_POSTGRES_PROGRAM: '/x',
    CROSSWIND_REDIS_PROGRAM: '/x',
    CROSSWIND_SQS_PROGRAM: '/x',
    CROSSWIND_NODE: '/x',
    CROSSWIND_SEED: '1',
    PATH: '/bin',
  }
  assert.deepEqual(await load('', { env }), defaultConfig)
})

const wrongFlags: readonly (readonly [string, string])[] = [
  [
    '--transport websockets',
    `transport is "websockets" (from --transport); allowed are ${transportNames.join(', ')}.`,
  ],
  ['--port 70000', 'port is 70000 (from --port); allowed are whole numbers from 0 to 65535.'],
  ['--port=', 'port is "" (from --port); allowed are whole numbers from 0 to 65535.'],
  ['--port 80.5', 'port is 80.5 (from --port); allowed are whole numbers from 0 to 65535.'],
  ['--port 0x50', 'port is "0x50" (from --port); allowed are whole numbers from 0 to 65535.'],
  [
    '--heartbeat-ms -1',
    'heartbeatMs is -1 (from --heartbeat-ms); allowed are whole numbers from 1000 to 60000.',
  ],
  [
    '--sensor-baud-rate 1200',
    'sensor.baudRate is "1200" (from --sensor-baud-rate); allowed are 2400, 4800, 9600, 19200, 38400.',
  ],
  ['--sensor-node q', 'sensor.node is "q" (from --sensor-node); allowed are letters from A to Z.'],
  ['--sensor-parity mark', 'sensor.parity is "mark" (from --sensor-parity); allowed are none, even, odd.'],
  ['--sensor-pace 0', 'sensor.pace is 0 (from --sensor-pace); allowed are numbers from 1 to 1000.'],
  [
    '--allowed-origins https://a.example/path',
    'allowedOrigins is ["https://a.example/path"] (from --allowed-origins); allowed are origins such as https://editor.example:8443, separated by commas.',
  ],
  ['--port', '--port needs a value after it; allowed are whole numbers from 0 to 65535.'],
  ['--port --http 2', '--port needs a value after it; allowed are whole numbers from 0 to 65535.'],
  ['--config', '--config needs a value after it; allowed are the paths of config files.'],
  ['websocket', '"websocket" is not a flag; --help all lists them.'],
  ['--trasnport sse', 'There is no flag --trasnport; did you mean --transport?'],
  ['--sensor.source serial', 'There is no flag --sensor.source; did you mean --sensor-source?'],
  ['--quux 1', 'There is no flag --quux; --help all lists them.'],
]
for (const [argv, message] of wrongFlags) {
  test(`${argv} is refused`, () => refused(load(argv), message))
}

test('a wrong variable is named', async () => {
  const wrong = load('', { env: { CROSSWIND_HTTP: '4' } })
  await refused(wrong, 'http is "4" (from CROSSWIND_HTTP); allowed are 3, 2, 1.1.')
  const unknown = load('', { env: { CROSSWIND_SENSOR_BAUDRATE: '9600' } })
  const meant = 'did you mean CROSSWIND_SENSOR_BAUD_RATE?'
  await refused(unknown, `There is no environment variable CROSSWIND_SENSOR_BAUDRATE; ${meant}`)
})

const wrongFiles: readonly (readonly [string, string])[] = [
  [
    '{ port: "8443" }',
    'port is "8443" (from crosswind.config.ts); allowed are whole numbers from 0 to 65535.',
  ],
  [
    '{ allowedOrigins: ["https://a.example", "b"] }',
    'allowedOrigins is "b" (from crosswind.config.ts); allowed are origins such as https://editor.example:8443, separated by commas.',
  ],
  [
    '{ limits: { maxWindow: 1 } }',
    'There is no key limits.maxWindow (from crosswind.config.ts); did you mean limits.maxWindows?',
  ],
  ['{ limits: 5 }', 'limits is 5 (from crosswind.config.ts); it must be an object.'],
  ['null', 'The configuration is null (from crosswind.config.ts); it must be an object.'],
]
for (const [source, message] of wrongFiles) {
  test(`a file that exports ${source} is refused`, async (t) => {
    await refused(load('', { cwd: await directoryWith(t, `export default ${source}`) }), message)
  })
}

test('a file may contain a number where its text is meant', async (t) => {
  assert.equal((await load('', { cwd: await directoryWith(t, 'export default { http: 1.1 }') })).http, '1.1')
})

test('a file that is not a module, or exports nothing, is refused', async (t) => {
  for (const [source, line] of [
    ["export default {\n  port: 1\n  http: '2',\n}\n", 3],
    ['export default {\n  port: none,\n}\n', 2],
  ] as const) {
    const broken = load('', { cwd: await directoryWith(t, source) })
    const message = new RegExp(`^crosswind\\.config\\.ts, line ${line}, cannot be read: .*\\.$`)
    await assert.rejects(broken, { name: 'ConfigError', message })
  }
  const silent = load('', { cwd: await directoryWith(t, 'export const port = 1') })
  await assert.rejects(silent, { name: 'ConfigError', message: /exports nothing; it should contain/ })
})

const misfits: readonly (readonly [string, string])[] = [
  [
    '--port 9000 --http1-port 9000',
    'port (from --port) and http1Port (from --http1-port) are both 9000; each needs a port of its own.',
  ],
  [
    '--port 8444',
    'port (from --port) and http1Port (from the defaults) are both 8444; each needs a port of its own.',
  ],
  [
    '--tls-cert-file a.pem',
    'tls.certFile is set (from --tls-cert-file) but tls.keyFile is not; the two go together.',
  ],
  [
    '--tls-key-file a.key',
    'tls.keyFile is set (from --tls-key-file) but tls.certFile is not; the two go together.',
  ],
  [
    '--sensor-source serial',
    'sensor.source is "serial" (from --sensor-source) but sensor.path is not set; name the serial port, such as --sensor-path /dev/ttyUSB0 (npm run sensor -- --list shows the ports).',
  ],
  [
    '--sensor-source recorded',
    'sensor.source is "recorded" (from --sensor-source) but sensor.file is not set; name the raw log, such as --sensor-file wind.log.',
  ],
  [
    '--sensor-source serial --sensor-path /dev/ttyUSB0 --sensor-mode polled --sensor-rate-hz 8',
    'sensor.rateHz is 8 (from --sensor-rate-hz); a polled sensor (from --sensor-mode) takes up to 130 ms to answer, so it can be polled at most 7 times a second.',
  ],
  [
    '--limits-queue-bytes-per-window 2048',
    'limits.queueBytesPerWindow is 2048 (from --limits-queue-bytes-per-window); it must hold a message of limits.maxMessageBytes, 1048576 (from the defaults).',
  ],
  [
    '--limits-memory-bytes 2048',
    'limits.memoryBytes is 2048 (from --limits-memory-bytes); it must hold a message of limits.maxMessageBytes, 1048576 (from the defaults).',
  ],
  [
    '--limits-log-bytes 2048',
    'limits.logBytes is 2048 (from --limits-log-bytes); it must hold a message of limits.maxMessageBytes, 1048576 (from the defaults).',
  ],
]
for (const [argv, message] of misfits) {
  test(`${argv} alone is inconsistent`, () => refused(load(argv), message))
}

test('the limit on a sensor’s rate applies only if it is polled', async () => {
  const config = await load('--sensor-rate-hz 50')
  assert.equal(config.sensor.rateHz, 50)
  const polled = await load(
    '--sensor-source serial --sensor-path COM3 --sensor-mode polled --sensor-rate-hz 7',
  )
  assert.deepEqual([polled.sensor.mode, polled.sensor.node], ['polled', 'Q'])
})

test('both ports may be 0, and a serial sensor with a path is accepted', async () => {
  const config = await load('--port 0 --http1-port 0 --sensor-source serial --sensor-path /dev/ttyUSB0')
  assert.equal(config.port, config.http1Port)
  assert.equal(config.sensor.path, '/dev/ttyUSB0')
})

const shape = {
  may: choice(['read', 'write'], 'write'),
  keptHours: quantity(0.5, 24, 12),
  open: z.boolean().default(false),
}
const read = (argv: string) =>
  readFlags(
    argv.split(' ').filter((word) => word !== ''),
    shape,
  )

test('reads the command’s flags as values, and passes those of the settings on in order', () => {
  const { own, settings } = read('--port 1 --may=read --open --kept-hours 1.5 --http 2 --port 3')
  assert.deepEqual(own, { may: 'read', keptHours: 1.5, open: true })
  assert.deepEqual(settings, ['--port=1', '--http=2', '--port=3'])
})

test('uses a default without a flag, and the last of repeated flags', () => {
  assert.deepEqual(read(''), { own: { may: 'write', keptHours: 12, open: false }, settings: [] })
  assert.equal(read('--kept-hours 1 --kept-hours 2').own.keptHours, 2)
})

const wrong: readonly (readonly [string, string])[] = [
  ['--may admin', '--may is "admin"; allowed are read, write.'],
  ['--may', '--may needs a value after it; allowed are read, write.'],
  ['--may --open', '--may needs a value after it; allowed are read, write.'],
  ['--kept-hours 0', '--kept-hours is "0"; allowed are numbers from 0.5 to 24.'],
  ['--kept-hours -1', '--kept-hours is "-1"; allowed are numbers from 0.5 to 24.'],
  ['--open=yes', '--open takes no value.'],
  ['--opne', 'There is no flag --opne; did you mean --open?'],
  ['--prot 1', 'There is no flag --prot; did you mean --port?'],
  ['--HOST x', 'There is no flag --HOST; did you mean --host?'],
  ['-x', '"-x" is not a flag; --help all lists them.'],
  ['-- --open', 'There is no flag --; --help all lists them.'],
]
for (const [argv, message] of wrong) {
  test(`${argv} is refused`, () => assert.throws(() => read(argv), { name: 'ConfigError', message }))
}

test('--help is recognised', () => {
  assert.equal(wantsHelp(['--port', '1', '--help']), true)
  assert.equal(wantsHelp(['-h']), true)
  assert.equal(wantsHelp(['--port=1']), false)
})
