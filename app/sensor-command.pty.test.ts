// A simulated sensor on a pseudo-terminal, under the real serialport.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { lstat, mkdtemp, rm, symlink, watch, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { SerialPort } from 'serialport'
import { createSeededRandom } from '../protocol/time.ts'
import { processTimers } from '../scripts/process.ts'
import { createSerialPort } from '../sensor/serial-port.ts'
import { readingsIn } from '../sensor/simulator/windsonic-testing.ts'
import { runSensorCommand } from './sensor-command.ts'

const skip = spawnSync('socat', ['-V']).error ? 'socat is not installed' : false
const boundMs = 15_000

/** `isReady` resolves once the path can be opened, and rejects if it cannot. */
function simulate(path: string, ...words: readonly string[]) {
  const stopping = new AbortController()
  const ready = Promise.withResolvers<void>()
  const ended = runSensorCommand(
    { argv: ['--simulate', path, ...words], env: {}, cwd: join(import.meta.dirname, '../protocol') },
    {
      print: (line) => void (line.includes('Ctrl-C') && ready.resolve()),
      timers: processTimers,
      random: createSeededRandom(1),
      listPorts: async () => [],
      createPort: createSerialPort,
      signal: stopping.signal,
    },
  )
  const stop = () => {
    stopping.abort()
    return ended
  }
  return { isReady: Promise.race([ready.promise, ended]), stop }
}

async function play(t: TestContext, ...words: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-sensor-'))
  const path = join(folder, 'windsonic')
  const { isReady, stop } = simulate(path, ...words)
  await isReady
  t.after(async () => {
    await stop()
    await rm(folder, { recursive: true })
  })
  return { path, stop }
}

/** The port as opened by a host, with a wait for expected text. */
async function connect(t: TestContext, path: string) {
  const port = new SerialPort({ path, baudRate: 9600, autoOpen: false })
  const news = new EventEmitter()
  let text = ''
  port.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1')
    news.emit('news')
  })
  await new Promise<void>((resolve, reject) => port.open((error) => (error ? reject(error) : resolve())))
  const close = () => new Promise<void>((resolve) => (port.isOpen ? port.close(() => resolve()) : resolve()))
  t.after(close)
  return {
    write: (words: string) => void port.write(words),
    close,
    async until(isSo: (text: string) => boolean): Promise<string> {
      const signal = AbortSignal.timeout(boundMs)
      while (!isSo(text)) await once(news, 'news', { signal })
      const heard = text
      text = ''
      return heard
    },
  }
}

/** Starts to watch before `act`, and resolves when a new terminal has replaced the old one. */
async function untilReplaced(path: string, act: () => Promise<void>): Promise<void> {
  const changes = watch(dirname(path), { signal: AbortSignal.timeout(boundMs) })
  const replaced = (async () => {
    for await (const { filename } of changes) if (filename === basename(path)) return
  })()
  await act()
  await replaced
}

const hasReadings = (count: number) => (text: string) => readingsIn(text).length >= count

test('frames arrive, * configures, D3 answers, Q resumes', { skip }, async (t) => {
  const { path } = await play(t, '--settings', 'P3 U4')
  const host = await connect(t, path)
  const readings = readingsIn(await host.until(hasReadings(4)))
  assert.ok(readings.every(({ unit, state }) => unit === 'K' && state === 'measured'))
  host.write('*')
  await host.until((text) => text.endsWith('CONFIGURATION MODE\r\n'))
  host.write('D3\r\n')
  const listed = await host.until((text) => text.endsWith(',\r\n'))
  assert.equal(listed, 'D3\r\nM2,U4,O1,L1,P3,B3,H1,NQ,F1,E3,T1,S4,C2,G0,K50,\r\n')
  host.write('U1\r\nQ\r\n')
  const after = await host.until(hasReadings(2))
  assert.match(after, /^U1\r\nQ\r\nWINDSONIC \(Gill Instruments Ltd\)\r\n/)
  assert.ok(readingsIn(after).every(({ unit }) => unit === 'M'))
})

test('a host may close and reopen it at once, as for another baud rate', { skip }, async (t) => {
  const { path } = await play(t, '--settings', 'P3 H2')
  const first = await connect(t, path)
  await first.until(hasReadings(1))
  first.write('*B5\r')
  await first.until((text) => text.endsWith('B5\r\n'))
  await first.close()
  const second = await connect(t, path)
  second.write('B\r')
  await second.until((text) => text.endsWith('B\r\nB5\r\n'))
  second.write('Q\r')
  await second.until(hasReadings(2))
})

test('after a longer close, the same path leads to a new terminal', { skip }, async (t) => {
  const { path } = await play(t, '--settings', 'P3', '--trouble', 'blocked@0+3600')
  const host = await connect(t, path)
  await host.until(hasReadings(1))
  await untilReplaced(path, host.close)
  const again = await connect(t, path)
  const readings = readingsIn(await again.until(hasReadings(1)))
  assert.ok(readings.every(({ state, status }) => state === 'fault' && status === '04'))
})

test('noise damages the requested share', { skip }, async (t) => {
  const { path } = await play(t, '--settings', 'P3', '--noise', '1')
  const host = await connect(t, path)
  const text = await host.until((heard) => heard.length > 200)
  assert.ok(readingsIn(text).length <= 2, text)
})

test('at its end the link is removed; another program’s file is left alone', { skip }, async (t) => {
  const { path, stop } = await play(t)
  assert.ok((await lstat(path)).isSymbolicLink())
  await stop()
  await assert.rejects(lstat(path), /ENOENT/)
  await writeFile(path, 'precious')
  await assert.rejects(simulate(path).isReady, /exists and is not a link to a pseudo-terminal/)
  await rm(path)
  await symlink('/etc/hostname', path)
  await assert.rejects(simulate(path).isReady, /exists and is not a link to a pseudo-terminal/)
})

test('replaces a link that an earlier run left behind', { skip }, async (t) => {
  const { path, stop } = await play(t)
  await stop()
  await symlink('/dev/pts/99999', path)
  const again = simulate(path)
  await again.isReady
  await connect(t, path).then((host) => host.close())
  await again.stop()
})

test('without socat it says how to install it', async () => {
  const { PATH } = process.env
  process.env.PATH = '/nowhere'
  const path = join(tmpdir(), `crosswind-no-socat-${process.pid}`)
  try {
    await assert.rejects(simulate(path).isReady, /socat, which was not found: install it .*apt install socat/)
  } finally {
    process.env.PATH = PATH
  }
  await assert.rejects(lstat(path), /ENOENT/)
})
