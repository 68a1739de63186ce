// Says how far a run is: one line that moves on a terminal, a line for each turn elsewhere.

import type { Sample } from './samples.ts'
import { summarise } from './stats/summary.ts'

export interface Progress {
  readonly say: (sentence: string) => void
  readonly key: (mode: string, block: number, typed: number, keys: number) => void
  readonly turnDone: (mode: string, block: number, samples: readonly Sample[]) => void
}

interface Output {
  readonly isTTY?: boolean
  readonly write: (text: string) => unknown
}

const clearLine = '\r\x1b[2K'

export function createProgress(output: Output, blocks: number): Progress {
  const clear = () => output.isTTY && output.write(clearLine)
  return {
    say(sentence) {
      clear()
      output.write(`  ${sentence}\n`)
    },
    key(mode, block, typed, keys) {
      if (output.isTTY)
        output.write(
          `${clearLine}  ${mode.padEnd(20)} block ${block}/${blocks}  ${bar(typed / keys)}  ${typed}/${keys} keys`,
        )
    },
    turnDone(mode, block, samples) {
      clear()
      output.write(`  ${mode.padEnd(20)} block ${block}/${blocks}  ${describe(samples)}\n`)
    },
  }
}

function bar(share: number): string {
  const whole = Math.round(share * 24)
  return '━'.repeat(whole) + '─'.repeat(24 - whole)
}

function describe(samples: readonly Sample[]): string {
  const times = samples.flatMap(({ sentAt, receivedAt }) =>
    receivedAt === null ? [] : [receivedAt - sentAt],
  )
  const lost = samples.length - times.length
  const median =
    times.length > 0 ? `median ${summarise(times).p50.toFixed(2).padStart(6)} ms` : 'nothing received'
  return `${median}  ${times.length} of ${samples.length} received${lost > 0 ? `, ${lost} LOST` : ''}`
}
