// A window that asks: each question names the cursor that the answer before led to.

import { postDraft } from './stream-window.ts'
import type { OpenWindow } from './window.ts'

/** With a pause from each answer to the next question. */
export const openPollingWindow: OpenWindow = (opening) =>
  openPollWindow('/api/poll', opening.polling.intervalMs, 0, opening)

/** A question that is held, the next one at once. */
export const openLongPollingWindow: OpenWindow = (opening) =>
  openPollWindow('/api/long-poll', 0, opening.polling.holdMs, opening)

async function openPollWindow(
  path: string,
  pauseMs: number,
  holdMs: number,
  opening: Parameters<OpenWindow>[0],
): ReturnType<OpenWindow> {
  const { browser, query, onBytes, onFailure } = opening
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  let cursor: string | null = null

  async function ask(): Promise<void> {
    const place = cursor === null ? '&first=' : `&cursor=${cursor}`
    const { status, body } = await browser.get(
      `${path}?${query}${place}${holdMs > 0 ? `&hold=${holdMs}` : ''}`,
    )
    if (status !== 200) throw new Error(`${path} answered ${status}: ${body}`)
    onBytes(body)
    cursor = cursorOf(body)
  }

  function goOn(): void {
    if (isClosed) return
    ask().then(
      () => {
        if (pauseMs > 0) timer = setTimeout(goOn, pauseMs)
        else goOn()
      },
      (error) => !isClosed && onFailure(String(error)),
    )
  }

  await ask()
  goOn()
  return {
    publish: (draft) => postDraft(opening, draft),
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}

/** An answer begins `{"cursor":"…",`: the rest need not be parsed for it. */
export function cursorOf(body: Buffer): string {
  const match = /^\{"cursor":"([^"]+)"/.exec(body.toString('latin1', 0, 80))
  if (!match?.[1])
    throw new Error(`A poll's answer does not begin with its cursor: ${body.toString('latin1', 0, 80)}`)
  return match[1]
}
