// A window's sign of life, as it comes up.

import { z } from 'zod'
import { Refusal } from '../refusal.ts'
import type { Grant } from '../security/grant.ts'
import { mustBeCovered } from './enter.ts'

/** As many channels as a stream may carry, whatever the settings. */
const mostChannels = 1000

const windowsSchema = z
  .record(z.string().max(64), z.int().min(0).max(100_000))
  .refine((windows) => Object.keys(windows).length <= mostChannels)

const beatSchema = z.object({ windows: windowsSchema.optional() })

/** How many windows the stream speaks for; undefined when it speaks for itself. Throws a `Refusal` (400 `bad-shape`, 403 `not-invited-there`). */
export function admitBeat(given: unknown, grant: Grant): Readonly<Record<string, number>> | undefined {
  const parsed = beatSchema.safeParse(given)
  if (parsed.success) {
    mustBeCovered(grant, new Set(Object.keys(parsed.data.windows ?? {})))
    return parsed.data.windows
  }
  throw new Refusal(400, 'bad-shape', 'A heartbeat may say "windows": how many, by their first channel.')
}
