// A window beside the server, over no link: what it is told is what the log has, and every other window is held against it.

import { modeNamed } from '../../../server/wire/modes.ts'
import { createSeededRandom } from '../../../server/wire/random.ts'
import { baseline } from '../../lab/windcomm/methods.ts'
import type { Reading } from '../../lab/windcomm/run.ts'
import { openClientWindow } from './client-window.ts'
import type { Ground } from './ground.ts'

export interface Witness {
  readonly isOpen: () => boolean
  /** Readings so far, in the log's order. */
  readonly readings: () => readonly Reading[]
  readonly close: () => void
}

export function openWitness({ server, ca, polling }: Ground): Witness {
  const mode = modeNamed(baseline)
  if (!mode) throw new Error(`There is no mode ${baseline}.`)
  const readings: Reading[] = []
  const window = openClientWindow({
    name: 'windcomm-witness',
    mode,
    originFor: (http) => server.origin[http],
    ca,
    polling,
    random: createSeededRandom(1),
    onReading: ({ id, seq, at, acceptedAt }) => void readings.push({ id, seq, at, acceptedAt }),
  })
  return {
    isOpen: () => window.state()?.state === 'open',
    readings: () => readings,
    close: window.close,
  }
}

/** The sensor alone writes in a run, so that its readings have numbers without a gap. Throws where the witness missed one. */
export function refuseGaps(readings: readonly Reading[]): void {
  const gap = readings.findIndex(({ seq }, place) => place > 0 && seq !== (readings[place - 1]?.seq ?? 0) + 1)
  if (gap === -1) return
  throw new Error(
    `After reading ${readings[gap - 1]?.seq} the log goes on with ${readings[gap]?.seq}: something else was written, or the witness missed a reading. Run it again.`,
  )
}
