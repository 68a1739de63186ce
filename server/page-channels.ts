// The page's channels: documents, the wind, overviews and probes, as types of channels.

import { type ChannelType, type Fold, type TypeOf, typesByName } from './channels/channel-type.ts'
import type { GrantRules } from './security/grants.ts'
import { pageOfOverview, probesChannel, windChannel } from './wire/messages.ts'

/** Written by the sensor's source. */
const wind: ChannelType = {
  name: 'wind',
  kinds: { reading: { drop: 'oldest' }, sensor: {} },
  showsWindows: false,
}

/** Statistics of a document, beside it. */
const overview: ChannelType = {
  name: 'overview',
  kinds: { overview: { drop: 'superseded' } },
  isOnDemand: true,
  showsWindows: false,
}

const probes: ChannelType = {
  name: 'probes',
  kinds: { probe: {} },
  showsWindows: false,
}

interface DocumentRules {
  readonly foldUpdates?: Fold<'update'>
}

/** `document` is what documents need beside their kinds, of whoever stores them. */
export function pageTypes({ foldUpdates }: DocumentRules = {}): TypeOf {
  const document: ChannelType = {
    name: 'document',
    kinds: {
      edit: {},
      update: { ...(foldUpdates && { fold: foldUpdates }) },
      title: {},
      versions: {},
      deletion: {},
    },
  }
  return typesByName([
    [windChannel, wind],
    [probesChannel, probes],
    ['overview.*', overview],
    ['*', document],
  ])
}

export const pageTypeOf = pageTypes()

/** An overview is readable if its page is, the wind by everybody; everybody may measure. */
export const pageGrantRules: GrantRules = {
  read(channel) {
    const source = pageOfOverview(channel) || channel
    return source === windChannel || channel === probesChannel ? null : source
  },
  write: (channel) => (channel === probesChannel ? null : channel),
}
