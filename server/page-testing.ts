// The page's channels for tests: their types and what clients may send there.

import { type TypeOf, typesByName } from './channels/channel-type.ts'
import { type DocumentRules, withUpdates } from './channels/document-types.ts'
import { defaultEngine } from './config/engine-settings.ts'
import type { EditorRules } from './document/document-writes.ts'
import { Channels } from './library/channels.ts'
import { ampleLimits } from './log/log-testing.ts'
import { pageChannels, pageSenders } from './page-channels.ts'
import { createManualTime } from './wire/testing.ts'

const anyEditor: EditorRules = {
  refuse: () => null,
  prepare: () => null,
}

/** Of a log that stores what others have checked. */
export const unchecked = ({ fold }: Pick<DocumentRules, 'fold'>): DocumentRules => ({
  fold,
  pass: (draft, acceptedAt, store) => store(draft, acceptedAt),
})

/** `documents`: null where nothing is stored. */
export const pageTypes = (documents: DocumentRules | null, editing = anyEditor): TypeOf =>
  typesByName(
    Object.entries(pageChannels(editing, ampleLimits)).map(([pattern, type]) => [
      pattern,
      withUpdates(type, documents),
    ]),
  )

export const pageTypeOf = pageTypes(null)

export const channelsOfPage = new Channels({
  rules: pageChannels(anyEditor, ampleLimits),
  settings: defaultEngine,
  timers: createManualTime(),
  onFailure(error) {
    throw error
  },
  reserved: pageSenders,
})
