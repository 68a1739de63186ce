// Readings for tests of the log's last hour.

import type { Log } from '../broker/log.ts'
import type { Draft } from '../wire/envelope.ts'
import { measured } from '../wire/wind/testing.ts'

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

/** Stores readings at these moments, each accepted when it was made, with so many other messages after each. */
export async function store(
  log: Log,
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
