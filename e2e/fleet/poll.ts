// Questions one after the other, held by the server or not; POST up.

import type { PollAnswer } from '../../server/wire/frames.ts'
import { lost, now } from '../../web/transports/transport.ts'
import { asClosing } from './answers.ts'
import { connectHttp, textOf } from './http.ts'
import { createPoster } from './poster.ts'
import type { FleetOpening, FleetTransport, OpenFleetTransport } from './transport.ts'

export const openLongPolling: OpenFleetTransport = (opening) =>
  openPoll('/api/long-poll', 0, opening.polling.holdMs, opening)

export const openPolling: OpenFleetTransport = (opening) =>
  openPoll('/api/poll', opening.polling.intervalMs, 0, opening)

function openPoll(path: string, pauseMs: number, holdMs: number, opening: FleetOpening): FleetTransport {
  const { mode, origin, ca, cookie, onFrame, onClose } = opening
  const http = connectHttp(mode.http, origin, ca, cookie)
  const poster = createPoster(http, opening)
  let cursor = opening.query.get('cursor')
  let hasEnded = false
  let isPaused = false
  /** It was paused before its next question. */
  let isIdle = false
  let timer: NodeJS.Timeout | undefined

  async function ask(isFirst: boolean): Promise<void> {
    const query = new URLSearchParams(opening.query)
    if (cursor !== null) query.set('cursor', cursor)
    if (isFirst) query.set('first', '')
    if (holdMs > 0) query.set('hold', String(holdMs))
    const { status, body } = await http.ask({ path: `${path}?${query}` })
    if (status !== 200) return end(await asClosing(status, body))
    const text = await textOf(body)
    const receivedAt = now()
    const answer: PollAnswer = JSON.parse(text)
    cursor = answer.cursor
    for (const frame of answer.frames) if (!hasEnded) onFrame(frame, receivedAt)
    isIdle = isPaused
    if (!hasEnded && !isPaused) askLater()
  }

  function askLater(): void {
    isIdle = false
    timer = setTimeout(() => ask(false).catch(() => end(lost)), pauseMs)
  }

  function end(closing: typeof lost): void {
    if (hasEnded) return
    stop()
    onClose(closing)
  }

  function stop(): void {
    hasEnded = true
    clearTimeout(timer)
    http.close()
  }

  ask(true).catch(() => end(lost))
  return {
    send: poster.send,
    beat: (windows) => windows && poster.beat(windows),
    askClock: poster.askClock,
    pause() {
      isPaused = true
    },
    resume() {
      if (isPaused && isIdle) askLater()
      isPaused = false
    },
    cut() {
      http.close()
      end(lost)
    },
    close: stop,
  }
}
