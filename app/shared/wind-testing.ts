// Test readings: bodies, drafts, and readings stored in a log.

import type { Draft } from '../../protocol/messages.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import type { ReadingBody } from './page-messages.ts'

/** A whole second, ms since the epoch. */
export const startAt = 1_700_000_000_000

export function measured(speedMetresPerSecond: number, directionDegrees: number): ReadingBody {
  return {
    source: 'serial',
    format: 'polar',
    raw: 'Q,229,002.74,M,00,',
    node: 'Q',
    state: 'measured',
    directionDegrees,
    speed: speedMetresPerSecond,
    unit: 'M',
    speedMetresPerSecond,
    axes: null,
    status: '00',
  }
}

export function calm(speedMetresPerSecond: number): ReadingBody {
  return { ...measured(speedMetresPerSecond, 0), state: 'calm', directionDegrees: null }
}

/** The reading of a blocked axis. */
export const fault: ReadingBody = {
  ...measured(0, 0),
  state: 'fault',
  directionDegrees: null,
  speed: null,
  speedMetresPerSecond: null,
  status: '01',
}

/** Varies about 9 m/s and 350 degrees; timestamps have fractions and jitter. */
export function* gustyWind(seconds: number, rateHz: number): Generator<{ reading: ReadingBody; at: number }> {
  const random = createSeededRandom(5)
  let speed = 9
  let direction = 350
  for (let count = 0; count < seconds * rateHz; count += 1) {
    speed = Math.max(0.4, speed + 0.1 * (9 - speed) + 1.6 * (random() - 0.5))
    direction += 0.1 * (350 - direction) + 20 * (random() - 0.5)
    const reading = measured(Math.round(speed * 100) / 100, Math.round(direction + 360) % 360)
    yield { reading, at: startAt + (count * 1000) / rateHz + 3 * random() }
  }
}

/** Throws with both numbers unless they agree within `tolerance`. */
export function assertNear(actual: number | null | undefined, expected: number, tolerance = 1e-9): void {
  if (typeof actual === 'number' && Math.abs(actual - expected) <= tolerance) return
  throw new Error(`${actual} is not within ${tolerance} of ${expected}.`)
}

export function readingDraft(n: number, at: number, speed = 5): Draft<'reading'> {
  return {
    id: `sensor-${n}`,
    channel: 'wind',
    kind: 'reading',
    from: 'sensor',
    at,
    body: measured(speed, 90),
  }
}

/** Appends one reading per moment (ms), each followed by `edits` edits. */
export async function store(
  log: { readonly append: (draft: Draft, now: number) => unknown },
  moments: readonly number[],
  { edits = 0, speed = 5 }: { edits?: number; speed?: number } = {},
): Promise<void> {
  const drafts: Draft[] = moments.flatMap((at, n) => [
    readingDraft(n, at, speed),
    ...Array.from({ length: edits }, (_nothing, place): Draft<'edit'> => {
      return { id: `w-${n}-${place}`, channel: 'main', kind: 'edit', from: 'w', at, body: { html: '' } }
    }),
  ])
  await Promise.all(drafts.map((draft) => log.append(draft, draft.at)))
}
