// Runs the command as people do, on a pseudo-terminal: one plays the sensor, others listen to it and configure it.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

const skip = spawnSync('socat', ['-V']).error ? 'socat is not installed' : false
const boundMs = 30_000

/** One run of the command, and what it has said so far. */
function start(t: TestContext, ...words: readonly string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'sensor.ts'), ...words], {
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
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-sensor-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
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

  M2    message          Gill, polar, sent by itself
  U1    unit             metres per second
  O1    calm             in a calm the direction is left empty
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
  assert.equal(existsSync(path), false, 'the link is taken away')
})

test('lines are shown as they come, with nothing else to wake the process', { skip }, async (t) => {
  const { path } = await play(t, '--settings', 'P3', '--strength', 'gale', '--seed', '7')
  const run = start(t, '--listen', '--path', path, '--seconds', '3600')
  const rows = /^ +\d+\.\d{3} {3}<STX>Q,\d{3},\d{3}\.\d\d,M,00,<ETX>[\dA-F]{2} +\d+° +\d+\.\d\d m\/s$/gm
  await run.until((said) => (said.match(rows)?.length ?? 0) >= 8)
  run.interrupt()
  assert.equal(await run.exit(), 0, run.said())
  assert.match(run.said(), /\n {2}\d+ measured\n\n$/)
})

test('a path that is taken, and one that is missing, are a sentence and a failure', { skip }, async (t) => {
  const rows = [
    [['--simulate', import.meta.filename], /exists and is no link to a pseudo-terminal/],
    [['--configure', 'D3', '--path', '/dev/no-such-wind'], /cannot be used: no such file or directory\.\n$/],
  ] as const
  for (const [words, sentence] of rows) {
    const run = start(t, ...words)
    assert.equal(await run.exit(), 1)
    assert.match(run.said(), sentence)
    assert.doesNotMatch(run.said(), /\n {4}at /, 'no stack')
  }
})
