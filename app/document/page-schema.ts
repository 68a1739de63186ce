// The schema of the page's document: the text, and its authors' names (PROTOCOL.md).

import { extname } from 'node:path'
import * as Y from 'yjs'
import { BadUpdate, contentNumbers, type Schema, shorten } from '../../server/documents.ts'
import { isKnown } from './rich-text.ts'

const { gone, deleted, string, format, any, skip } = contentNumbers
const knownTypes: ReadonlySet<number> = new Set([gone, deleted, string, format, any, skip])

const maxNameLength = 40

/** The module of the page's document threads. */
export const pageTasks = new URL(`./document-tasks${extname(import.meta.filename)}`, import.meta.url)

/** An entry of "authors" is its client's own. */
export const pageSchema: Schema = {
  checkType(number) {
    if (!knownTypes.has(number)) throw new BadUpdate(`Yjs content type ${number} is not allowed in the text`)
  },
  contentOf({ content, id }) {
    if (content instanceof Y.ContentString) return 'shared'
    if (content instanceof Y.ContentFormat) {
      const { key, value } = content
      // Null ends an attribute.
      if (value === null || isKnown(key, value)) return 'shared'
      throw new BadUpdate(
        `attribute ${shorten(key)} with value ${shorten(value)} is not allowed in a document`,
      )
    }
    const names: readonly unknown[] = content instanceof Y.ContentAny ? content.arr : []
    if (names.length === 1 && isAuthor(names[0])) return 'own'
    const rule = `{ name } of at most ${maxNameLength} characters`
    throw new BadUpdate(`an entry of "authors" by client ${id.client} is not ${rule}`)
  },
  regionOf({ parent, parentSub, id }) {
    const root: unknown = parent
    if (root === 'text' && parentSub === null) return 'shared'
    if (root === 'authors' && parentSub === String(id.client)) return 'own'
    if (root === 'authors') {
      const key = shorten(parentSub)
      throw new BadUpdate(`client ${id.client} writes ${key} in "authors", which is not its own number`)
    }
    const found = typeof root === 'string' ? shorten(root) : 'another place'
    throw new BadUpdate(`it writes to ${found}; a document has the text "text" and the map "authors"`)
  },
}

function isAuthor(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'name') return false
  const { name } = value as { readonly name: unknown }
  return typeof name === 'string' && name.length <= maxNameLength
}
