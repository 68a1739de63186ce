// Polling and long polling: successive requests from the last response's cursor; POSTs up.

import type { DownFrame, PollAnswer } from '../../protocol/messages.ts'
import { longPollingModes, pollingModes } from '../../protocol/modes.ts'
import { pause } from '../browser-services.ts'
import { asClosing, createPostUplink, Http, postLeave } from './http.ts'
import { browser, type ChosenTransport, type Opening, type OpenTransport } from './transport.ts'

const usual = { intervalMs: 1000, holdMs: 25_000 }

export const polling: ChosenTransport = {
  name: 'polling',
  modes: pollingModes,
  open: (opening, platform) => openPoll('/poll', (opening.polling ?? usual).intervalMs, 0, opening, platform),
}

export const longPolling: ChosenTransport = {
  name: 'long-polling',
  modes: longPollingModes,
  open: (opening, platform) =>
    openPoll('/long-poll', 0, (opening.polling ?? usual).holdMs, opening, platform),
}

/** Volatile messages of the last polls. */
const maxSeen = 256

/** Timeout beyond the server's hold time. */
const patienceMs = 20_000

function openPoll(
  path: string,
  pauseMs: number,
  holdMs: number,
  opening: Opening,
  platform = browser,
): OpenTransport {
  const ending = new AbortController()
  const seen: string[] = []
  const http = new Http(opening.base, ending.signal, holdMs + patienceMs, platform)
  const uplink = createPostUplink(opening, platform)

  async function poll(): Promise<void> {
    const query = new URLSearchParams(opening.query)
    query.set('first', '')
    if (holdMs > 0) query.set('hold', String(holdMs))
    try {
      while (!ending.signal.aborted) {
        const { answer, receivedAt } = await http.get<PollAnswer>(`${path}?${query}`)
        for (const frame of answer.frames)
          if (!ending.signal.aborted && !isRepeated(frame)) opening.onFrame(frame, receivedAt)
        query.delete('first')
        query.set('cursor', answer.cursor)
        await pause(pauseMs, ending.signal)
      }
    } catch (error) {
      if (ending.signal.aborted) return
      stop()
      opening.onClose(asClosing(error))
    }
  }

  /** Each of several servers sends a client what it has not sent itself. */
  function isRepeated(frame: DownFrame): boolean {
    if (frame.type !== 'volatile') return false
    const key = `${frame.message.id} ${frame.message.at}`
    const isKnown = seen.includes(key)
    if (!isKnown && seen.push(key) > maxSeen) seen.shift()
    return isKnown
  }

  function stop(): void {
    ending.abort()
    uplink.close()
  }

  void poll()
  return {
    ...uplink,
    // Polls already serve as heartbeats.
    beat: (beat) => beat.windows && uplink.beat(beat),
    close(isForGood) {
      stop()
      postLeave(opening, platform, isForGood)
    },
  }
}
