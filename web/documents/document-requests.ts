// What a window asks of the server about documents: the list, histories, invitations, new and deleted ones.

import type { DocumentList, InvitationAnswer } from '../../app/shared/document-api.ts'
import { titleFrom } from '../../app/shared/page-messages.ts'
import { asClosing, browserTimers, newName } from '../../client/transports.ts'
import type { HistoryPortion } from '../../protocol/document-history.ts'
import { type Bodies, type Kind, nameUnder } from '../../protocol/messages.ts'
import { openHttp } from '../axios-http.ts'
import type { BrowserKey } from '../page-session.ts'
import type { Rights } from './document-addresses.ts'

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

/** `search`: words that their names and texts contain; empty for all. */
export const askDocuments = (search: string) =>
  request<DocumentList>(`/documents${search && `?${new URLSearchParams({ search })}`}`)

export const askHistory = (channel: string, after: string | null) =>
  request<HistoryPortion>(`/history?${new URLSearchParams({ channel, ...(after !== null && { after }) })}`)

export const invite = (channel: string, may: Rights, hours: number) =>
  request<InvitationAnswer>('/invitations', { channel, may, hours })

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
