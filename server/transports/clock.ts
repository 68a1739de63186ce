// A window's question for the time, as it comes up a stream, and its answer.

import { z } from 'zod'
import { Refusal } from '../refusal.ts'
import type { ClockAnswer } from '../wire/frames.ts'
import type { Clock } from '../wire/time.ts'

const questionSchema = z.object({ at: z.number() })

/** Stamped once: taking it and answering are one step here. Throws a `Refusal` (400 `bad-shape`). */
export function answerClock(given: unknown, now: Clock): ClockAnswer {
  const at = now()
  const parsed = questionSchema.safeParse(given)
  if (parsed.success) return { type: 'clock', sent: parsed.data.at, received: at, at }
  throw new Refusal(400, 'bad-shape', 'Who asks for the time says "at": its own, in ms since the epoch.')
}
