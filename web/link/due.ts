// When a message would have been here, had nothing kept it back: what a resumed stream brings may be hours old.

import type { Message } from '../../server/wire/envelope.ts'

/**
 * For what was in the log before the stream began, or came with the page. In this window's clock, ms since the epoch,
 * and never later than `receivedAt`. `offsetMs` is the server's clock less this window's; while nobody knows it, the two
 * are taken to agree.
 */
export function whenDue(
  { acceptedAt }: Pick<Message, 'acceptedAt'>,
  receivedAt: number,
  offsetMs: number | null = null,
): number {
  return Math.min(receivedAt, acceptedAt - (offsetMs ?? 0))
}
