// The types of the page's channels: documents, wind, probes; who may read and write.

import { cutText } from '../protocol/graphemes.ts'
import { isChannelName, maxChannelBytes } from '../protocol/messages.ts'
import { Refusal } from '../protocol/refusal.ts'
import type { ChannelType, Permit } from '../server/index.ts'
import { boolean, list, matching, number, object, orNull, rule, text } from '../server/shapes.ts'
import type { Permission } from './access.ts'
import { documentLife } from './document/document-life.ts'
import type { EditRules } from './document/document-writes.ts'
import {
  isTitle,
  joinVersions,
  maxNamedVersions,
  maxTitleLength,
  overviewName,
  pageOfOverview,
  probesChannel,
  sensorName,
  windChannel,
} from './shared/page-messages.ts'

/** Written by the sensor's source. */
const wind: ChannelType = {
  name: 'wind',
  kinds: { reading: { drop: 'oldest' }, sensor: {} },
  showsWindows: false,
}

/** Statistics of a document, up to version 0.2: the log erases those that it has. */
const overview: ChannelType = {
  name: overviewName,
  kinds: {},
  expiry: () => ({ at: 0, spareAt: null }),
  showsWindows: false,
}

/** Kept for longer than a polling client's pause; few, so that documents keep their room. */
const probesKept = { messages: 4096, bytes: 4_194_304, hours: 1 / 60 }

/** Retention of the whole log. */
interface Kept {
  readonly messages: number
  readonly bytes: number
  readonly ageMs: number
}

const hourMs = 3_600_000

/** Messages of measurements. */
const probesType = (most: Kept): ChannelType => ({
  name: 'probes',
  keep: {
    messages: Math.min(probesKept.messages, most.messages),
    bytes: Math.min(probesKept.bytes, most.bytes),
    hours: Math.min(probesKept.hours, most.ageMs / hourMs),
  },
  kinds: { probe: { body: object({ text }) } },
  showsWindows: false,
})

const title = matching(
  `one line of at most ${maxTitleLength} characters, without spaces at its ends`,
  isTitle,
)

const versions = list(maxNamedVersions, object({ at: number, name: title }))

const shownState = orNull(
  rule('an object', (state) => typeof state === 'object' && state !== null && !Array.isArray(state)),
)

/** Windows of version 0.2, which may still be open, read a `name` beside `client`, and fail without one. */
function withName(state: unknown): unknown {
  const { name, state: own } = Object(state)
  if (typeof name === 'string') return state
  const { name: chosen } = Object(Object(own).user)
  return { ...Object(state), name: typeof chosen === 'string' ? chosen : '' }
}

/** See `convertEdits`. */
function documentType(editing: EditRules): ChannelType {
  return {
    name: 'document',
    yjs: { owners: true },
    kinds: {
      edit: { body: object({ html: text }) },
      title: { body: object({ title }) },
      versions: {
        body: object({ versions }),
        fold: (named) => joinVersions(named.map(({ body }) => body)),
      },
      deletion: { body: object({ deleted: boolean }) },
    },
    prepare: editing.prepare,
    refuse: (draft, content) => editing.refuse(draft, content) ?? documentLife.refuse(draft, content),
    expiry: documentLife.expiry,
    state: shownState,
    shows: withName,
  }
}

/** Types by name, or by a prefix and `*`; the first match counts. `most`: how much the whole log keeps. */
export const pageChannels = (editing: EditRules, most: Kept): Readonly<Record<string, ChannelType>> => ({
  [windChannel]: wind,
  [probesChannel]: probesType(most),
  'overview.*': overview,
  '*': documentType(editing),
})

/** Size limit for clients that may read and measure only. */
const maxProbeBytes = 4096

/** Names of senders that are the server's. */
export const pageSenders: readonly string[] = [sensorName, overviewName]

/**
 * Rights of an invitation: its pages, to read the wind, and to measure. Windows of version 0.2, which
 * have a session, also follow their pages' overviews, which nobody writes any more; an invitation that
 * is sent as a token must fit into a ticket.
 */
export function pageRights(
  { channels, may }: Permission,
  isSession: boolean,
): Pick<Permit, 'read' | 'write' | 'maxMessageBytes'> {
  const pages = channels === 'all' ? ['*'] : channels
  const overviews = isSession ? pages.map((page) => `${overviewName}.${page}`).filter(isChannelName) : []
  const read = [...pages, windChannel, probesChannel, ...overviews]
  if (may === 'write') return { read, write: [...pages, probesChannel] }
  return { read, write: [probesChannel], maxMessageBytes: maxProbeBytes }
}

/** Normalizes to NFC. Throws a `Refusal` (400 `bad-channel`). */
export function admitChannel(given: string): string {
  const normalized = given.normalize('NFC')
  const shown = JSON.stringify(cutText(given, 80))
  if (normalized === probesChannel || pageOfOverview(normalized) !== null) {
    const owner = normalized === probesChannel ? 'measurements use' : 'earlier versions used'
    const sentence = `${shown} cannot name a page: ${owner} that channel. Use another name.`
    throw new Refusal('bad-channel', sentence)
  }
  if (isChannelName(normalized)) return normalized
  const sentence = `${shown} cannot name a page: use letters and digits of any script, "-", "_" and ".", ${maxChannelBytes} bytes at most.`
  throw new Refusal('bad-channel', sentence)
}
