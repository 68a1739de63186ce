// What comes up in a stream of frames, over WebSocket or in a streamed body: taken in order, as fast as the sender may.

import { admitDraft, idOf } from '../hub/admission.ts'
import type { Hub } from '../hub/hub.ts'
import { Refusal } from '../refusal.ts'
import { type Grant, refuseWriting } from '../security/grant.ts'
import type { DownFrame } from '../wire/frames.ts'
import type { Timers } from '../wire/time.ts'
import { admitBeat } from './beat.ts'
import { parseJson, tooLarge } from './json.ts'

export interface IntakeParts {
  readonly hub: Hub
  readonly timers: Timers
  readonly grant: Grant
  readonly window: string
  readonly maxMessageBytes: number
  /** Tells the sender; in the order of what it sent. */
  readonly answer: (frame: DownFrame) => void
  /** A sender that is too fast is not refused: its connection is not read until it may go on. */
  readonly pause: () => void
  readonly resume: () => void
}

export interface Intake {
  /** One frame as text. */
  readonly take: (text: string) => void
  readonly refuse: (error: unknown) => void
  readonly stop: () => void
}

export function createIntake(parts: IntakeParts): Intake {
  const { hub, timers, answer } = parts
  // Frames that had arrived when the connection was paused: as much as one read can hold.
  let held: string[] = []
  let stopTimer: (() => void) | null = null

  function take(text: string): void {
    if (stopTimer) {
      held.push(text)
      return
    }
    try {
      const waitMs = takeNow(text)
      if (waitMs > 0) hold(text, waitMs)
    } catch (error) {
      refuse(error)
    }
  }

  /** Returns the ms to wait before this frame may be taken; 0 when it was. */
  function takeNow(text: string): number {
    // Whatever it says, it has to be read and answered: what is no message counts as much as one.
    const waitMs = hub.waitMs(parts.window)
    if (waitMs > 0) return waitMs
    const frame = frameIn(text)
    if (frame.type === 'heartbeat') {
      hub.heard(parts.window, admitBeat(frame))
      return 0
    }
    if (Buffer.byteLength(text) > parts.maxMessageBytes) {
      throw tooLarge(parts.maxMessageBytes, idOf(frame.message))
    }
    const draft = admitDraft(frame.message)
    const refusal = refuseWriting(parts.grant, draft.channel, draft.id)
    if (refusal) throw refusal
    hub.publish(draft).then(answer, refuse)
    return 0
  }

  function hold(text: string, waitMs: number): void {
    held.unshift(text)
    parts.pause()
    stopTimer = timers.later(goOn, waitMs)
  }

  function goOn(): void {
    stopTimer = null
    const waiting = held
    held = []
    for (const text of waiting) take(text)
    if (!stopTimer) parts.resume()
  }

  function refuse(error: unknown): void {
    if (!(error instanceof Refusal)) console.error(error)
    const known =
      error instanceof Refusal ? error : new Refusal(500, 'internal', 'The server failed on that frame.')
    answer(known.toJSON())
  }

  return {
    take,
    refuse,
    stop() {
      stopTimer?.()
      stopTimer = null
      held = []
    },
  }
}

interface Publishing {
  readonly type: 'publish'
  readonly message: unknown
}

interface Beating {
  readonly type: 'heartbeat'
}

function frameIn(text: string): Publishing | Beating {
  const frame = parseJson(text)
  if (typeof frame === 'object' && frame !== null && 'type' in frame) {
    if (frame.type === 'heartbeat') return frame as Beating
    if (frame.type === 'publish' && 'message' in frame) return frame as Publishing
  }
  throw new Refusal(400, 'bad-frame', 'A frame is {"type":"publish","message":{…}} or {"type":"heartbeat"}.')
}
