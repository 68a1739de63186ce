// Messages that are sent again: stored once, even if what the server adds to them has changed since.

import { isDeepStrictEqual } from 'node:util'
import { applicationName } from '../hub/admission.ts'
import { parsed } from '../log/kept-json.ts'
import type { Log } from '../log/log.ts'
import type { Bodies, Draft, Kind, Message } from '../wire/messages.ts'
import { isRefusal } from '../wire/refusal.ts'

/** A log that answers a repeat with the number of the first, whoever its user is by now. */
export function storingOnce(log: Log): Log {
  return {
    ...log,
    append(draft, acceptedAt) {
      const stored = log.append(draft, acceptedAt)
      if (typeof stored === 'number') return stored
      return stored.catch(async (error) => {
        const known = isRefusal(error, 'id-taken') ? await log.find(draft) : null
        if (known && isSame(draft, known)) return known.seq
        throw error
      })
    },
  }
}

function sentIn(body: Bodies[Kind]): unknown {
  if ('update' in body) return body.update
  if (!('data' in body)) return null
  const { data, digest } = parsed(body)
  return digest ?? data
}

/** A client's repeat has the time of the first; an application may publish again later. */
function isSame(draft: Draft, known: Message): boolean {
  const isSent = draft.from === applicationName || draft.at === known.at
  if (!isSent || draft.kind !== known.kind) return false
  return isDeepStrictEqual(sentIn(draft.body), sentIn(known.body))
}
