// Polling and long polling: successive requests from the last response's cursor; POSTs up.

import type { PollAnswer } from '../../protocol/messages.ts'
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
  const http = new Http(opening.base, ending.signal, holdMs + patienceMs, platform)
  const uplink = createPostUplink(opening, platform)

  async function poll(): Promise<void> {
    const query = new URLSearchParams(opening.query)
    query.set('first', '')
    if (holdMs > 0) query.set('hold', String(holdMs))
    try {
      while (!ending.signal.aborted) {
        const { answer, receivedAt } = await http.get<PollAnswer>(`${path}?${query}`)
        for (const frame of answer.frames) if (!ending.signal.aborted) opening.onFrame(frame, receivedAt)
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

  function stop(): void {
    ending.abort()
    uplink.close()
  }

  void poll()
  return {
    ...uplink,
    // Polls already serve as heartbeats.
    beat: (beat) => beat?.windows && uplink.beat(beat),
    close(isForGood) {
      stop()
      postLeave(opening, platform, isForGood)
    },
  }
}
