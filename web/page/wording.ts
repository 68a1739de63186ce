// The sentences of header, menus and notices: link, HTTP/1.1 limit, edits.

import { type ViewName, viewNamed } from '../../app/shared/views.ts'
import type { OutboxState } from '../../client/drafts.ts'
import { isShared, type Share, type WindowMode, windowModeNamed } from '../../protocol/modes.ts'
import type { DeletionView, ShownLink, View } from '../store.ts'

/** For screen readers, once per change of state: no countdown, and one text for all retries of an outage. */
export function linkAnnouncement(link: ShownLink, outage: string | null = null): string {
  if (link.state === 'open') return `Connected over ${formatUsed(link)}.`
  if (link.state === 'opening' && outage === null) return `Connecting over ${formatMode(link.mode)}.`
  return ['The connection is lost.', outage ?? link.reason].filter(Boolean).join(' ')
}

export function formatMode(name: string): string {
  return windowModeNamed(name)?.label ?? name
}

/** The name of the mode in use: the requested one unless the window has fallen back. */
export function usedMode({ state, mode, preferred, fallbackReason }: ShownLink): string {
  return state === 'open' || fallbackReason !== null ? mode : preferred
}

/** The label of the mode in use, with the HTTP version in use if it is known. */
export function formatUsed(link: ShownLink): string {
  const used = usedMode(link)
  const { state, spokenHttp } = link
  if (state !== 'open' || spokenHttp === windowModeNamed(used)?.http) return formatMode(used)
  const bare = formatMode(used).replace(httpInLabel, '')
  return spokenHttp === null ? bare : `${bare}, HTTP/${spokenHttp}`
}

const httpInLabel = /, HTTP\/[\d.]+$/

const fallReasons: Readonly<Record<NonNullable<ShownLink['fallbackReason']>, (label: string) => string>> = {
  blocked: (label) => `${label} does not get through here`,
  flapping: (label) => `${label} keeps failing here`,
  unsupported: (label) => `This browser does not support ${label}`,
  full: (label) => `Other windows of this browser use all of its connections for ${label}`,
}

/** Why the requested mode is not in use, without a full stop; null while it is. */
export function fallReason({ state, preferred, fallbackReason }: ShownLink): string | null {
  return state !== 'open' || fallbackReason === null
    ? null
    : fallReasons[fallbackReason](formatMode(preferred))
}

export function formatFall(link: ShownLink): string | null {
  const reason = fallReason(link)
  return reason && `${reason}; using ${formatUsed(link)} instead.`
}

/** Null while the browser has a connection for another window, or another window needs none. */
export function http1Warning(
  mode: WindowMode | undefined,
  browserHttp1Streams: number,
  share: Share,
  spokenHttp: ShownLink['spokenHttp'] = null,
) {
  // The server counts the connections of a proxy, not those of the browser.
  if (spokenHttp !== null && spokenHttp !== mode?.http) return null
  if (!mode || mode.windowsPerBrowser === null || browserHttp1Streams < mode.windowsPerBrowser) return null
  // The limit reserves one connection for uplinks.
  const connections = mode.windowsPerBrowser + 1
  const areShared = isShared(mode, share)
  if (areShared && browserHttp1Streams < connections) return null
  const held = areShared ? 'connections of this browser are held open' : 'windows of this browser are open'
  const windows = `${browserHttp1Streams} ${held} over HTTP/${mode.http}`
  const limit = `a browser opens at most ${connections} connections to a server`
  const outlook =
    browserHttp1Streams < connections
      ? 'The last one is kept for sending edits, so the next window uses HTTP/2.'
      : 'None is left for sending edits.'
  return {
    sentence: `${windows}, and ${limit}. ${outlook}`,
    wayOut: mode.whenFull === null ? undefined : windowModeNamed(mode.whenFull),
  }
}

export interface PageState {
  readonly link: Pick<ShownLink, 'state' | 'behindMs'>
  /** The sentence of an outage, or null. */
  readonly outage: string | null
  readonly outbox: OutboxState
  readonly isUnshared: boolean
  readonly isDeleted: boolean
  readonly mayWrite: boolean
}

export interface StateWords {
  /** A disc, a half disc or a triangle. */
  readonly shape: ShownLink['state']
  readonly word: string
  /** What it means. */
  readonly sentence: string
}

/** From this many ms on, a window says that it is behind. */
const behindFromMs = 3000

/** The page's state in a word; "Saved" only if the server has stored everything in the page. */
export function formatState(page: PageState): StateWords {
  const { link, outage, outbox, isUnshared, isDeleted, mayWrite } = page
  const isOpen = link.state === 'open'
  const state = (shape: ShownLink['state'], word: string, sentence: string): StateWords => ({
    shape,
    word,
    sentence,
  })
  if (isUnshared)
    return state('waiting', 'Not saved', 'An edit was refused. What you type is in this window only.')
  if (outbox.isFull || (outbox.unstored > 0 && !isOpen && !outbox.canPersist))
    return state('waiting', 'In this window only', 'Keep this window open until your changes are saved.')
  // No number: what the outbox counts are keystrokes, which mean nothing to their author.
  const held = outbox.persisted === outbox.unstored ? 'kept on this device' : 'being kept'
  if (isDeleted)
    return outbox.unstored === 0
      ? state('waiting', 'Deleted', 'The document was deleted.')
      : state('waiting', `Deleted: ${held}`, 'Your changes will be sent if the document is brought back.')
  if (!isOpen && outbox.unstored > 0)
    return state('waiting', `Offline: ${held}`, 'Your changes will be sent once the connection is back.')
  if (!isOpen && outage === null) return state('opening', 'Connecting…', 'The page is being connected.')
  if (!isOpen) return state('waiting', 'Offline', outage ?? '')
  if (outbox.unstored > 0) return state('opening', 'Saving…', 'Your changes are on their way to the server.')
  const behindMs = link.behindMs ?? 0
  if (behindMs >= behindFromMs) {
    const seconds = Math.round(behindMs / 1000)
    return state('waiting', 'Behind', `This window shows what the server had ${seconds} seconds ago.`)
  }
  if (!mayWrite) return state('open', 'Read only', 'This link lets you read the document, not change it.')
  return state('open', 'Saved', 'The server has stored every change in this window.')
}

interface Outage extends Pick<View, 'keptAt' | 'canReopen'> {
  readonly outage: string
  readonly mayWrite: boolean
}

/** While the server is away. `now`: ms since the epoch. */
export function formatOutage({ outage, keptAt, canReopen, mayWrite }: Outage, now: number): string {
  return [
    outage,
    keptAt !== null && `This is the document as this browser had it at ${timeOfDay(keptAt, now)}.`,
    mayWrite && 'You can keep writing: your edits will be sent once the connection is back.',
    canReopen === false && 'Until then, do not reload this window: this browser could not open it again.',
  ]
    .filter(Boolean)
    .join(' ')
}

/** `at`: when the edit was made. */
export function formatLeft(at: number, now: number): string {
  return `An edit of ${timeOfDay(at, now)} from an earlier version of this page was not stored. Restoring it replaces the text of this document, which Undo brings back.`
}

/** Null while every unsent edit is saved. */
export function formatOutbox({ unstored, isFull, canPersist }: OutboxState): string | null {
  if (isFull)
    return 'There is no room for more unsent edits. The newest one is in this window only and will be sent once earlier ones are stored, so keep this window open.'
  if (unstored === 0 || canPersist) return null
  return 'This browser cannot keep the unsent edits beyond this window, so keep the window open until they are stored.'
}

/** `now`: ms since the epoch. */
export function formatDeletion({ until, isErased }: DeletionView, now: number): string {
  if (isErased)
    return 'This document was deleted, and the server has erased it. This window still shows its text: copy what you need before you reload.'
  return `This document was deleted. Until ${timeOfDay(until, now)} anyone who may write here can bring it back.`
}

/** A refused update of the shared document: the log also refuses every update that builds on it. */
export function formatRefusedUpdate(sentence: string): string {
  return `${sentence} What you type from now on is in this window only: copy what you need, then reload the page.`
}

/** How long a text is, such as `1,234 words, 7,890 characters`. */
export function formatLength({ words, characters }: { words: number; characters: number }): string {
  const counted = (count: number, noun: string) =>
    `${count.toLocaleString('en-GB')} ${noun}${count === 1 ? '' : 's'}`
  return `${counted(words, 'word')}, ${counted(characters, 'character')}`
}

const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long' })

/** `14:02`; on another day `14:02 on 3 May`. Both in ms since the epoch. */
export function timeOfDay(at: number, now: number): string {
  return day.format(at) === day.format(now) ? time.format(at) : `${time.format(at)} on ${day.format(at)}`
}

export function notLoaded(name: ViewName): string {
  return `The view “${viewNamed(name).label}” could not be loaded: the server did not answer. Choose it again once the connection is back, or reload.`
}
