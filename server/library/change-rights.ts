// Who may change or erase a message, and which.

import { type Draft, fingerprintIn, isKind, type Message } from '../../protocol/messages.ts'
import { Refusal, type RefusalCode } from '../../protocol/refusal.ts'
import type { ChannelType } from '../channels/channel-type.ts'
import { isChange, isErased } from '../log/changes.ts'
import { parsed } from '../log/kept-json.ts'

interface Rules {
  /** Whether a sender's name is the server's own, which may change every message. */
  readonly isOwn: (sender: string) => boolean
  /** Whether clients may change their own messages. */
  readonly isOpen: boolean
}

export function refuseChanges({ isOwn, isOpen }: Rules): NonNullable<ChannelType['refuse']> {
  return (draft, content) => {
    if (!isChange(draft)) return null
    const { id, from, channel, body } = draft
    const refusal = (code: RefusalCode, sentence: string) => new Refusal(code, sentence, id)
    if (!isOpen && !isOwn(from))
      return refusal(
        'not-your-message',
        `Clients may not change messages of channel "${channel}": its rule lacks \`changes\`.`,
      )
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
