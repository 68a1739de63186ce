// The page's channels for tests: their types and what clients may send there.

import { createManualTime } from '../protocol/testing.ts'
import { processTimers } from '../scripts/process.ts'
import { type TypeOf, typesByName } from '../server/channels/channel-type.ts'
import { type DocumentRules, withDocumentRules } from '../server/channels/document-types.ts'
import { defaultEngine } from '../server/config/engine-settings.ts'
import type { Hub } from '../server/hub/hub.ts'
import { RateLimit } from '../server/hub/rate-limit.ts'
import { Caller } from '../server/library/caller.ts'
import { Channels } from '../server/library/channels.ts'
import { ampleLimits } from '../server/log/log-testing.ts'
import type { AnyRequest, Authorizer } from '../server/security/grants.ts'
import { ReadingRate } from '../server/transports/answers.ts'
import { BodyReader } from '../server/transports/body-reader.ts'
import { Budget } from '../server/transports/budget.ts'
import type { EditRules } from './document/document-writes.ts'
import { pageChannels, pageSenders } from './page-channels.ts'

const anyContent: EditRules = {
  refuse: () => null,
  prepare: () => null,
}

/** Rules of a log that stores what others have checked. */
export const unchecked = ({ fold }: Pick<DocumentRules, 'fold'>): DocumentRules => ({
  fold,
  pass: (draft, acceptedAt, store) => store(draft, acceptedAt),
})

/** `documents`: null where nothing is stored. */
export const pageTypes = (documents: DocumentRules | null, editing = anyContent): TypeOf =>
  typesByName(
    Object.entries(pageChannels(editing, ampleLimits)).map(([pattern, type]) => [
      pattern,
      withDocumentRules(type, documents),
    ]),
  )

export const pageTypeOf = pageTypes(null)

export const channelsOfPage = new Channels({
  rules: pageChannels(anyContent, ampleLimits),
  settings: defaultEngine,
  timers: createManualTime(),
  log: () => ({ find: async () => null }),
  onFailure(error) {
    throw error
  },
  reserved: pageSenders,
})

const refusingHub: Pick<Hub, 'waitMs' | 'publish'> = {
  waitMs: () => 0,
  publish: () => Promise.reject(new Error('Nothing is published here.')),
}

/** Identifies the senders of requests to routes that run without the rest of the page's server. */
export function callersOf(authorizer: Authorizer, hub = refusingHub) {
  const { now } = processTimers
  const bodies = new BodyReader({
    limits: { maxMessageBytes: 1e6, bodySeconds: 10 },
    timers: processTimers,
    budget: new Budget({ connectionBytes: 1e8, unfinishedBytes: 1e9 }, processTimers),
    penalties: new RateLimit(100, now),
  })
  const readingRate = new ReadingRate(now)
  return {
    async caller(request: AnyRequest): Promise<Caller> {
      const grant = await authorizer.grantFor(request)
      return new Caller({ request, grant, hub, channels: channelsOfPage, bodies, readingRate, now })
    },
  }
}
