// A serial line between a made-up WindSonic and the server under test: a pseudo-terminal that can be taken away.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSimulator } from '../../server/sources/device/simulator.ts'
import { processTimers } from '../../server/timers.ts'
import { createSeededRandom } from '../../server/wire/random.ts'
import { until } from '../browser/until.ts'

/** Why tests of a line are left out here; false where they are not. */
export const withoutLine = spawnSync('socat', ['-V']).error ? 'socat is not installed' : false

export interface WindLine {
  /** Plays a WindSonic into the line until so many frames have left. */
  readonly play: (frames: number, rateHz: number) => Playing
  /** The device's file goes, as with a plug that is pulled. */
  readonly unplug: () => Promise<void>
}

export interface Playing {
  /** Each frame's text between STX and ETX, as it left. */
  readonly sent: readonly string[]
  readonly stop: () => Promise<void>
}

/** Resolves once `path` can be opened. */
export async function plugIn(path: string): Promise<WindLine> {
  const line = spawn('socat', ['-d', '-d', '-', `pty,raw,echo=0,link=${path}`], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  await untilSays(line, 'starting data transfer')
  return {
    play: (frames, rateHz) => play(line, frames, rateHz),
    async unplug() {
      if (line.exitCode !== null || line.signalCode !== null) return
      const exited = once(line, 'exit')
      line.kill()
      await exited
    },
  }
}

async function untilSays(child: ChildProcess, words: string): Promise<void> {
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  await until(async () => said.includes(words), `socat did not say "${words}"`)
}

function play(line: ChildProcess, frames: number, rateHz: number): Playing {
  const sent: string[] = []
  const ignore = () => undefined
  const sensor = openSimulator({
    rateHz,
    timers: processTimers,
    random: createSeededRandom(7),
    onOpen: ignore,
    onBytes(bytes) {
      if (sent.length === frames) return
      line.stdin?.write(bytes)
      sent.push(Buffer.from(bytes).toString('latin1').slice(1, -5))
    },
    onClose: ignore,
  })
  return { sent, stop: sensor.stop }
}
