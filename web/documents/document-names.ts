// Documents by name: the channel of a new one, and the search in the list.

import type { ListedDocument } from '../../app/shared/document-api.ts'
import { pageOfOverview, windChannel } from '../../app/shared/page-messages.ts'
import { plain } from '../../app/shared/search.ts'
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

/** The server sorts by last change. */
export const inOrder = (
  documents: readonly ListedDocument[],
  order: DocumentOrder,
): readonly ListedDocument[] =>
  order === 'change'
    ? documents
    : documents.toSorted((one, other) => byName.compare(nameOf(one), nameOf(other)))

/** Text in parts, of which every other one, from the second on, begins with a word that was searched for. */
export function partsAt(words: readonly string[], text: string): string[] {
  // Letter by letter, so that each keeps its place.
  const compared = Array.from(text, (letter) => {
    const one = plain(letter)
    return one.length === letter.length ? one : letter
  }).join('')
  const parts: string[] = []
  let from = 0
  for (;;) {
    const places = words.map((word) => ({ at: compared.indexOf(word, from), length: word.length }))
    const [first] = places.filter(({ at }) => at >= 0).sort((one, other) => one.at - other.at)
    if (!first) break
    parts.push(text.slice(from, first.at), text.slice(first.at, first.at + first.length))
    from = first.at + first.length
  }
  parts.push(text.slice(from))
  return parts
}
