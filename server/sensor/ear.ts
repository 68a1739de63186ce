// Waits for what a sensor answers, never for ever.

import { createFrameSplitter } from '../sources/frames/frame-splitter.ts'
import type { FrameReading } from '../sources/frames/windsonic-frame.ts'
import { collectEvidence, type Verdict } from '../sources/port/verdict.ts'
import { nothingPlanned, type Timers } from '../wire/time.ts'

export interface Waiting {
  /** Whether the text since `forget` is the answer. */
  readonly enough: (text: string) => boolean
  /** More may follow: the answer ends with this long a silence, ms. */
  readonly quietMs?: number
  /** Without an answer the waiting ends after this, ms. */
  readonly mostMs: number
}

export interface Ear {
  /** `at`: ms since the epoch. */
  take(bytes: Uint8Array, at: number): void
  /** What came so far is no part of the next answer. */
  forget(): void
  /** Resolves to all that came since `forget`, latin1, or rejects with what `fail` was given. One at a time. */
  hear(waiting: Waiting): Promise<string>
  /** Nothing can be heard any more; the first reason counts. */
  fail(error: Error): void
  /** The newest since `forget`. */
  readonly reading: FrameReading | null
  /** Whether a reading came at all, and if none, what the bytes look like. */
  judge(): 'readings' | Verdict['kind']
}

export function createEar(timers: Timers): Ear {
  const splitter = createFrameSplitter()
  const evidence = collectEvidence()
  let hasReadings = false
  let reading: FrameReading | null = null
  let text = ''
  let failure: Error | null = null
  let onNews = nothingPlanned

  return {
    judge: () => (hasReadings ? 'readings' : evidence.judge().kind),
    get reading() {
      return reading
    },
    forget() {
      text = ''
      reading = null
    },
    fail(error) {
      failure ??= error
      onNews()
    },
    take(bytes, at) {
      evidence.bytes(bytes)
      for (const split of splitter.push(bytes, at)) if (split.kind === 'frame') reading = split.reading
      hasReadings ||= reading !== null
      text += Buffer.from(bytes).toString('latin1')
      onNews()
    },
    hear({ enough, quietMs = 0, mostMs }) {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      const end = () => resolve(text)
      const cancelDeadline = timers.later(end, mostMs)
      let cancelQuiet = nothingPlanned
      onNews = () => {
        if (failure !== null) reject(failure)
        cancelQuiet()
        if (enough(text)) cancelQuiet = timers.later(end, quietMs)
      }
      onNews()
      return promise.finally(() => {
        cancelDeadline()
        cancelQuiet()
        onNews = nothingPlanned
      })
    },
  }
}
