// What comes up in a stream of frames, over WebSocket or in a streamed body: taken in order, as fast as the sender may.

import { admitDraft, idOf } from '../hub/admission.ts'
import type { Hub } from '../hub/hub.ts'
import { Refusal } from '../refusal.ts'
import { type Grant, refuseWriting } from '../security/grant.ts'
import type { DownFrame } from '../wire/frames.ts'
import type { Timers } from '../wire/time.ts'
import { admitBeat } from './beat.ts'
import { answerClock } from './clock.ts'
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
  const { hub, timers } = parts
  // Frames that had arrived when the connection was paused: as much as one read can hold.
  let held: string[] = []
  let stopTimer: (() => void) | null = null
  let isPaused = false
  let hasBeaten = false
  let answered: Promise<void> = Promise.resolve()

  function takeHeld(): void {
    stopTimer = null
    for (let text = held[0]; text !== undefined; text = held[0]) {
      // Whatever it says, it has to be read and answered: what is no message counts as much as one.
      const waitMs = hub.waitMs(parts.window)
      if (waitMs > 0) {
        holdBack(waitMs)
        return
      }
      held.shift()
      takeNow(text)
    }
    setPaused(false)
  }

  function holdBack(waitMs: number): void {
    stopTimer = timers.later(takeHeld, waitMs)
    setPaused(true)
  }

  function setPaused(isNow: boolean): void {
    if (isNow === isPaused) return
    isPaused = isNow
    if (isNow) parts.pause()
    else parts.resume()
  }

  function takeNow(text: string): void {
    // Its heartbeats stand in line like all else: while they do, what is before them says that it lives.
    if (hasBeaten) hub.heard(parts.window)
    try {
      const frame = frameIn(text)
      if (frame.type === 'heartbeat') beat(frame)
      // Not in turn: it is nobody's acknowledgement, and old while it waits.
      else if (frame.type === 'clock') parts.answer(answerClock(frame, timers.now))
      else publish(frame.message, Buffer.byteLength(text))
    } catch (error) {
      refuse(error)
    }
  }

  function beat(frame: Beating): void {
    hub.heard(parts.window, admitBeat(frame, parts.grant))
    hasBeaten = true
  }

  function publish(message: unknown, bytes: number): void {
    if (bytes > parts.maxMessageBytes) throw tooLarge(parts.maxMessageBytes, idOf(message))
    const draft = admitDraft(message)
    const refusal = refuseWriting(parts.grant, draft.channel, draft.id)
    if (refusal) throw refusal
    answerInTurn(hub.publish(draft).catch((error) => refusalFor(error, draft.id)))
  }

  function refuse(error: unknown): void {
    answerInTurn(Promise.resolve(refusalFor(error)))
  }

  /** Storing takes a while and refusing does not: each answer waits for those before it. */
  function answerInTurn(said: Promise<DownFrame>): void {
    answered = answered.then(async () => parts.answer(await said)).catch((error) => console.error(error))
  }

  return {
    take(text) {
      held.push(text)
      if (!stopTimer) takeHeld()
    },
    refuse,
    stop() {
      stopTimer?.()
      stopTimer = null
      held = []
    },
  }
}

function refusalFor(error: unknown, id: string | null = null): DownFrame {
  if (error instanceof Refusal) return error.toJSON()
  console.error(error)
  // What was a message is worth another try: the disk may have been full.
  const again = id === null ? null : againAfterMs
  return new Refusal(500, 'internal', 'The server failed on that frame.', id, again).toJSON()
}

const againAfterMs = 1000

interface Publishing {
  readonly type: 'publish'
  readonly message: unknown
}

interface Beating {
  readonly type: 'heartbeat'
}

interface AskingTime {
  readonly type: 'clock'
}

function frameIn(text: string): Publishing | Beating | AskingTime {
  const frame = parseJson(text)
  if (typeof frame === 'object' && frame !== null && 'type' in frame) {
    if (frame.type === 'heartbeat') return frame as Beating
    if (frame.type === 'clock') return frame as AskingTime
    if (frame.type === 'publish' && 'message' in frame) return frame as Publishing
  }
  const forms = '{"type":"publish","message":{…}}, {"type":"heartbeat"} or {"type":"clock","at":…}'
  throw new Refusal(400, 'bad-frame', `A frame is ${forms}.`)
}
