// Documents as a window sees them: addresses, names, and the server's list and invitations.

import {
  type DocumentList,
  documentPath,
  type InvitationAnswer,
  type ListedDocument,
} from '../../app/shared/document-api.ts'
import { pageOfOverview, titleFrom, windChannel } from '../../app/shared/page-messages.ts'
import { asClosing } from '../../client/transports.ts'
import { browserTimers, newName } from '../../client/wire.ts'
import type { HistoryPortion } from '../../protocol/document-history.ts'
import { graphemeBefore } from '../../protocol/graphemes.ts'
import { type Bodies, isChannelName, type Kind, nameUnder } from '../../protocol/messages.ts'
import { openHttp } from '../axios-http.ts'
import type { BrowserKey } from '../page-session.ts'

/** Keeps the mode and view, but not the reader's choice of read-only. */
export function addressOfDocument(href: string, channel: string): string {
  return addressWithout(['channel', 'read'], documentPath(channel), href)
}

/** The server's first page, with all its parts, in the same mode. */
export function homeAddress(href: string): string {
  return addressWithout(['channel', 'read', 'view'], '/', href)
}

function addressWithout(dropped: readonly string[], path: string, href: string): string {
  const address = new URL(path, href)
  for (const [name, value] of new URL(href).searchParams)
    if (!dropped.includes(name)) address.searchParams.append(name, value)
  return address.href
}

/**
 * Opens read-only, by the window's own choice: anyone who removes `read` from the address can
 * write.
 */
export function readOnlyAddress(href: string, channel: string): string {
  const address = new URL(documentPath(channel), href)
  address.searchParams.set('read', '')
  return address.href.replace(/=$/, '')
}

/** The channel for a document with this name; null if it has no letter or digit. */
export function channelFor(name: string): string | null {
  const letters = name.normalize('NFC').replaceAll(/[^\p{L}\p{M}\p{N}_.-]+/gu, '-')
  let channel = letters.replace(/^[-.\p{M}]+/u, '')
  while (/[-.]$/.test(channel)) channel = channel.slice(0, -1)
  if (channel === windChannel || pageOfOverview(channel) !== null) channel = `document-${channel}`
  while (channel !== '' && !isChannelName(channel))
    channel = channel.slice(0, -graphemeBefore(channel).length)
  return channel === '' ? null : channel
}

export const documentOrders = { change: 'Last change', name: 'Name' } as const
export type DocumentOrder = keyof typeof documentOrders

const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

const nameOf = ({ title, channel }: ListedDocument) => title || channel

/** Documents whose title or address contains every word of `wanted`, ignoring case and accents. */
export function findDocuments(
  documents: readonly ListedDocument[],
  wanted: string,
  order: DocumentOrder,
): ListedDocument[] {
  const words = plain(wanted).split(/\s+/)
  const found = documents.filter(({ title, channel }) => {
    const text = plain(`${title} ${channel}`)
    return words.every((word) => text.includes(word))
  })
  // The server sorts by last change.
  return order === 'change' ? found : found.sort((one, other) => byName.compare(nameOf(one), nameOf(other)))
}

const plain = (text: string) => text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLocaleLowerCase().trim()

/** Each request rejects with an Error whose message can be displayed. */
async function request<Answer>(path: string, content?: object): Promise<Answer> {
  const http = openHttp()
  try {
    if (content) return (await http.post<Answer>(path, content)) as Answer
    return (await http.get<Answer>(path)).answer
  } catch (error) {
    throw new Error(asClosing(error).sentence, { cause: error })
  }
}

export const askDocuments = () => request<DocumentList>('/documents')

export const askHistory = (channel: string, after: string | null) =>
  request<HistoryPortion>(`/history?${new URLSearchParams({ channel, ...(after !== null && { after }) })}`)

export const inviteReaders = (channel: string, hours: number) =>
  request<InvitationAnswer>('/invitations', { channel, may: 'read', hours })

/** Stores the title of a document that no window shows yet, which adds it to the list. */
export const createDocument = (by: BrowserKey, channel: string, name: string) =>
  send(by, channel, 'title', { title: titleFrom(name) })

/** Bypasses the window's outbox, since a deleted document rejects its messages. */
export const deleteDocument = (by: BrowserKey, channel: string, deleted: boolean) =>
  send(by, channel, 'deletion', { deleted })

/** Sends as a sender of its own. */
async function send<K extends Kind>(
  { key, fingerprint }: BrowserKey,
  channel: string,
  kind: K,
  body: Bodies[K],
): Promise<void> {
  const from = nameUnder(fingerprint, newName('n'))
  const draft = { id: `${from}-1`, channel, kind, from, at: browserTimers.now(), body }
  await request(`/messages?${new URLSearchParams({ key })}`, draft)
}
