// Sends marked messages at the times they are due, whether or not the ones before have arrived (open loop).

import type { Draft } from '../../server/wire/envelope.ts'
import { markedHtml } from './mark.ts'
import type { Interval } from './tally.ts'

export interface Author {
  readonly name: string
  readonly channel: string
  readonly publish: (draft: Draft<'edit'>) => void
}

/** The draft with that mark. `at` is the wall clock, ms since the epoch. */
export function markedDraft({ name, channel }: Author, mark: number, at: number): Draft<'edit'> {
  return { id: `${name}-${mark}`, channel, kind: 'edit', from: name, at, body: { html: markedHtml(mark) } }
}

/** Returns the way to stop. A late timer sends all that has fallen due: none is left out and none is moved. */
export function startAuthor(author: Author, interval: Interval, clock: () => number): () => void {
  const { first, count, startAt, intervalMs } = interval
  let next = 0
  let timer = setTimeout(sendDue, wait())

  function wait(): number {
    return Math.max(0, Math.ceil(startAt + next * intervalMs - clock()))
  }

  function sendDue(): void {
    for (; next < count && startAt + next * intervalMs <= clock(); next += 1) {
      author.publish(markedDraft(author, first + next, performance.timeOrigin + performance.now()))
    }
    if (next < count) timer = setTimeout(sendDue, wait())
  }

  return () => clearTimeout(timer)
}
