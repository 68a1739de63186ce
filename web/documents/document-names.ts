// Documents by name: the channel of a new one, and the search in the list.

import type { ListedDocument } from '../../app/shared/document-api.ts'
import { pageOfOverview, windChannel } from '../../app/shared/page-messages.ts'
import { graphemeBefore } from '../../protocol/graphemes.ts'
import { isChannelName } from '../../protocol/messages.ts'

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
