// Waits until a sensor that left configuration mode measures again.

import type { Conversation } from './conversation.ts'
import { isPolled, nodeIn } from './settings.ts'
import { linesOf } from './shown.ts'

/** Banner, then the slowest rate's first reading (P20), with time to spare. */
const continuousMs = 15_000
const bannerMs = 3000
/** So long a silence ends the banner. */
const quietMs = 700
const replyMs = 1000
const tries = 3

/** `settings` as D3 listed them. A polled sensor is enabled and asked. Resolves to the lines up to the first reading. */
export async function hearReading(
  conversation: Conversation,
  settings: readonly string[],
): Promise<readonly string[]> {
  const enough = () => conversation.reading !== null
  if (!isPolled(settings)) return upToReading(await conversation.hear({ enough, mostMs: continuousMs }))
  let text = await conversation.hear({ enough: () => true, quietMs, mostMs: bannerMs })
  for (let left = tries; left > 0 && !enough(); left--) {
    conversation.say(`?${nodeIn(settings)}`)
    text += await conversation.hear({ enough, mostMs: replyMs })
  }
  return upToReading(text)
}

function upToReading(text: string): readonly string[] {
  const lines = linesOf(text)
  const at = lines.findIndex((line) => line.startsWith('\x02') || line.startsWith('$'))
  return at === -1 ? lines : lines.slice(0, at + 1)
}
