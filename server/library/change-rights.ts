// Who may change or erase a message, and which.

import { type Draft, fingerprintIn, isKind, type Message } from '../../protocol/messages.ts'
import { Refusal, type RefusalCode } from '../../protocol/refusal.ts'
import type { ChannelType } from '../channels/channel-type.ts'
import { isChange, isErased } from '../log/changes.ts'
import { parsed } from '../log/kept-json.ts'

/**
 * `isOwn`: whether a sender's name is the server's own, which may change every message. `changes`: see `JsonRule`.
 */
export function refuseChanges(
  isOwn: (sender: string) => boolean,
  changes: boolean | 'server' = false,
): NonNullable<ChannelType['refuse']> {
  return (draft, content) => {
    if (!isChange(draft)) return null
    const { id, from, channel, body } = draft
    const refusal = (code: RefusalCode, sentence: string) => new Refusal(code, sentence, id)
    if (!changes)
      return refusal(
        'not-your-message',
        `Messages of channel "${channel}" cannot be changed: declare \`changes\` in its rule.`,
      )
    if (changes === 'server' && !isOwn(from))
      return refusal('not-your-message', `Only the server may change messages of channel "${channel}".`)
    const message = content.message(body.seq)
    if (!message || !isKind(message, 'json') || isErased(message))
      return refusal('not-found', `Channel "${channel}" has no message ${body.seq} that could be changed.`)
    if (isOwn(from) || isSameSender(draft, message)) return null
    return refusal(
      'not-your-message',
      `Only its sender may change message ${body.seq} of channel "${channel}".`,
    )
  }
}

/** The same user; without users, the same proven name. */
function isSameSender({ from, body }: Draft<'change'>, message: Message<'json'>): boolean {
  const { user } = parsed(message.body)
  if (user !== undefined || body.user !== undefined) return user === body.user
  const fingerprint = fingerprintIn(from)
  return fingerprint !== null && fingerprint === fingerprintIn(message.from)
}
