// Serial line from a simulated WindSonic to the server: a pseudo-terminal that can be unplugged.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createSeededRandom } from '../../protocol/time.ts'
import { processTimers } from '../../scripts/process.ts'
import { WindSonic } from '../../sensor/simulator/windsonic.ts'
import { until } from '../browser/browser.ts'

/** Reason to skip serial-line tests; false if they can run. */
export const withoutLine = spawnSync('socat', ['-V']).error ? 'socat is not installed' : false

export interface WindLine {
  readonly play: (frames: number, rateHz: number) => Playing
  /** Removes the device file, as unplugging does. */
  readonly unplug: () => Promise<void>
}

interface Playing {
  /** Frame texts between STX and ETX, in order. */
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
  const sensor = new WindSonic({
    rateHz,
    timers: processTimers,
    random: createSeededRandom(7),
    isPoweredUp: false,
    pieceBytes: 256,
    onBytes(bytes) {
      if (sent.length === frames) return
      line.stdin?.write(bytes)
      sent.push(Buffer.from(bytes).toString('latin1').slice(1, -5))
    },
  })
  return { sent, stop: async () => sensor.stop() }
}
