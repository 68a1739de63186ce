// The page's additions to the wire: kinds of messages, channels, senders, settings (PROTOCOL.md).

import { cutText } from '../../protocol/graphemes.ts'
import { isKind, type Message, type Polling } from '../../protocol/messages.ts'
import type { ByHttp, Share, TransportName, WindowHttp } from '../../protocol/modes.ts'
import type { FrameReading, SensorHealth } from '../../sensor/readings.ts'

// Messages

declare module '../../protocol/bodies.ts' {
  interface Bodies {
    edit: EditBody
    title: TitleBody
    versions: VersionsBody
    deletion: DeletionBody
    reading: ReadingBody
    sensor: SensorBody
    probe: ProbeBody
  }
}

/** The whole content, as windows of earlier versions sent it: no more of them are stored. */
interface EditBody {
  /** Untrusted: clients sanitize it. */
  readonly html: string
}

/** The newest one names the document; if that is empty, the channel is its name. */
interface TitleBody {
  /** See `isTitle`. */
  readonly title: string
}

/** In UTF-16 units. */
export const maxTitleLength = 80

/**
 * A title is one line without spaces at its ends, control characters, or marks that reverse its
 * direction.
 */
export function isTitle(text: string): boolean {
  return text.length <= maxTitleLength && text === text.trim() && !titleExcludes.test(text)
}

const titleExcludes = /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069]/u

/** Turns any text into a title. */
export function titleFrom(text: string): string {
  const line = text.replaceAll(new RegExp(titleExcludes, 'gu'), ' ').trim()
  return cutText(line, maxTitleLength).trim()
}

/**
 * Names versions of the shared document; a snapshot may have one message that joins the older ones.
 */
interface VersionsBody {
  readonly versions: readonly NamedVersion[]
}

export interface NamedVersion {
  /** The `acceptedAt` of the version's last update. */
  readonly at: number
  /** See `isTitle`. If empty, the version no longer has a name. */
  readonly name: string
}

/** Limit per document; above it the names set first are forgotten. */
export const maxNamedVersions = 500

/** In the log's order. The newest name of a version counts; repeats change nothing. */
export function joinVersions(bodies: readonly VersionsBody[]): VersionsBody {
  const names = new Map<number, string>()
  for (const { at, name } of bodies.flatMap(({ versions }) => versions)) {
    names.delete(at)
    names.set(at, name)
  }
  return { versions: Array.from(names, ([at, name]) => ({ at, name })).slice(-maxNamedVersions) }
}

/** The newest one counts. */
interface DeletionBody {
  /** False restores the document. */
  readonly deleted: boolean
}

/** How long after the `acceptedAt` of its deletion a document can be restored, ms. */
export const deletedForMs = 86_400_000

/**
 * A document without content may be erased to make room for a new one after this time without
 * messages, ms.
 */
export const emptyForMs = 3_600_000

/** Whether the newest message of a kind means that its channel has content. */
export function hasContent(message: Message): boolean {
  if (isKind(message, 'edit')) return message.body.html !== ''
  return !isKind(message, 'title') && !isKind(message, 'deletion')
}

export type SensorSource = 'simulated' | 'serial' | 'recorded'

export interface ReadingBody extends FrameReading {
  readonly source: SensorSource
}

export interface SensorBody extends SensorHealth {
  readonly source: SensorSource
}

/** A measurement's own message. Belongs to no page. */
interface ProbeBody {
  readonly text: string
}

// Channels

/** The page at `/`. */
export const mainChannel = 'main'

/** Written only by the sensor's source. */
export const windChannel = 'wind'

/** Accepts only probes, from readers too, and keeps a minute of them. */
export const probesChannel = 'probes'

/** The wind's sender. */
export const sensorName = 'sensor'

/**
 * Up to version 0.2 the server published an overview of each page, under this name and on a channel
 * beside it, such as `overview.main`.
 */
export const overviewName = 'overview'

const overviewPrefix = `${overviewName}.`

/** Null for any other channel. */
export function pageOfOverview(channel: string): string | null {
  return channel.startsWith(overviewPrefix) ? channel.slice(overviewPrefix.length) : null
}

// State that a window shows of itself: a name, and a caret in the document

/** UTF-16 units. */
export const maxNameCharacters = 40

// Settings embedded in the page (`<script type="application/json">`)

export interface PageSettings {
  readonly transport: TransportName
  readonly http: WindowHttp
  readonly ports: ByHttp<number>
  readonly polling: Polling
  /** Time for which a window collects its updates of the shared document, ms; 0 sends each. */
  readonly mergeMs: number
  /** Whether a browser's tabs share a connection. */
  readonly share: Share
  readonly hasSensor: boolean
  readonly limits: {
    readonly maxMessageBytes: number
    /** Limits of the client's queue while it cannot send. */
    readonly outboxMessages: number
    readonly outboxBytes: number
  }
}

export interface PageStart extends PageSettings {
  readonly channel: string
  /** The cursor after `messages`, from which the stream resumes. */
  readonly cursor: string
  /** The newest of each kind on the page's channels. */
  readonly messages: readonly Message[]
  /** Whether the client may write to the page's channel. */
  readonly mayWrite: boolean
  /** Expiry unless renewed, ms since the epoch; null for open access. */
  readonly sessionEndsAt: number | null
  /** Where other devices reach the server, for a page at a loopback address; null if they cannot. */
  readonly networkOrigin: string | null
}
