// Messages whose content was changed or erased later, by messages of the kind `change`.

import { contentIn, hasContent } from '../../protocol/json-data.ts'
import { type Bodies, type Draft, isKind, type Message } from '../../protocol/messages.ts'
import { KeptJson, parsed } from './kept-json.ts'

export const isChange = <One extends Draft>(one: One): one is One & Draft<'change'> => one.kind === 'change'

/** Whether it leaves the message without content. */
export const erases = ({ body }: Draft<'change'>): boolean => !hasContent(body)

/** Whether nothing is left of the content of a message, or of a change. */
export const isErased = (one: Draft): boolean =>
  isChange(one) ? erases(one) : one.kind === 'json' && !hasContent(parsed(one.body as Bodies['json']))

/**
 * A message as it is after a change: its own message has the change's content, and what an erased one was changed to
 * before has none.
 */
export function changed(message: Message, change: Message<'change'>): Message {
  if (message.channel !== change.channel) return message
  if (isChange(message) && message.body.seq === change.body.seq && erases(change))
    return { ...message, body: JSON.parse(withoutContent(JSON.stringify(message.body))) }
  if (message.seq !== change.body.seq || !isKind(message, 'json')) return message
  const { user } = parsed(message.body)
  const body = { ...contentIn(change.body), user, changedAt: change.acceptedAt }
  return { ...message, body: new KeptJson(JSON.stringify(body), user ?? null) }
}

/** The body of an erased message or change, as JSON of the same size, so that what the log counts stays true. */
export function withoutContent(body: string): string {
  const { data: _, bytes: __, digest: ___, ...rest } = JSON.parse(body)
  const text = JSON.stringify(rest)
  return text + ' '.repeat(Buffer.byteLength(body) - Buffer.byteLength(text))
}
