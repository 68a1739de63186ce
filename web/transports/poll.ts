// The way down by answers to questions, one after the other: each names the cursor that the one before led to.

import type { PollAnswer } from '../../server/wire/frames.ts'
import { asClosing, createHttp } from './http.ts'
import { now, type Opening, type OpenTransport } from './transport.ts'
import { createXhrUplink } from './xhr-uplink.ts'

export interface Asking {
  readonly path: string
  /** Pause from an answer to the next question, ms. */
  readonly pauseMs: number
  /** How long the server may hold a question, ms. */
  readonly holdMs: number
}

/** An answer may take this much longer than the server is to hold the question. */
const patienceMs = 20_000

export function openPoll({ path, pauseMs, holdMs }: Asking, opening: Opening): OpenTransport {
  const ending = new AbortController()
  const window = opening.query.get('window') ?? ''
  const http = createHttp(opening.origin, ending.signal, holdMs + patienceMs)
  const uplink = createXhrUplink(opening)
  let cursor = opening.query.get('cursor')
  let timer: ReturnType<typeof setTimeout> | undefined
  let receivedAt = 0

  const question = {
    // Axios hands over the text: the stamp comes before anything is done with it.
    transformResponse(text: string) {
      receivedAt = now()
      return text
    },
  }

  async function ask(isFirst: boolean): Promise<void> {
    const query = new URLSearchParams(opening.query)
    if (cursor !== null) query.set('cursor', cursor)
    if (isFirst) query.set('first', '')
    if (holdMs > 0) query.set('hold', String(holdMs))
    try {
      const { data } = await http.get<string>(`${path}?${query}`, question)
      if (!ending.signal.aborted) take(JSON.parse(data))
    } catch (error) {
      if (ending.signal.aborted) return
      close()
      opening.onClose(asClosing(error))
    }
  }

  function take(answer: PollAnswer): void {
    cursor = answer.cursor
    for (const frame of answer.frames) if (!ending.signal.aborted) opening.onFrame(frame, receivedAt)
    if (ending.signal.aborted) return
    timer = setTimeout(() => void ask(false), pauseMs)
  }

  function close(): void {
    ending.abort()
    clearTimeout(timer)
    uplink.close()
  }

  void ask(true)
  return {
    send: uplink.send,
    // Its questions are its signs of life.
    beat: (windows) => windows && uplink.beat(windows),
    askClock: uplink.askClock,
    close() {
      close()
      // Otherwise it would count as here until it was silent for too long.
      sayGoodbye(`${opening.origin}/api/leave?window=${window}&opening=${opening.query.get('opening') ?? 0}`)
    },
  }
}

/** A worker has no beacons; this outlives it too. */
function sayGoodbye(address: string): void {
  if ('sendBeacon' in navigator) navigator.sendBeacon(address)
  else fetch(address, { method: 'POST', credentials: 'include', keepalive: true }).catch(() => undefined)
}
