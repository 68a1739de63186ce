// Files to import: HTML, Markdown and plain text in any encoding, read as lines.

import sniffEncoding from 'html-encoding-sniffer'
import { kindOfFile } from '../../app/document/file-kind.ts'
import { readHtml, readText } from '../../app/document/html.ts'
import { readMarkdown } from '../../app/document/markdown.ts'
import type { Line } from '../../app/document/rich-text.ts'
import type { EditorCommands } from '../editor/commands.ts'
import { importNotes } from './import-notes.ts'

/** Bytes. A longer text would not fit into a document. */
const maxBytes = 5_000_000

interface Import {
  readonly lines: readonly Line[]
  /** See `importNotes`. */
  readonly notes: readonly string[]
}

/** Rejects with an Error whose message can be displayed. */
export async function readImport(file: File): Promise<Import> {
  const { name, size, type } = file
  const read = await file
    .slice(0, maxBytes)
    .arrayBuffer()
    .catch((cause: unknown) => {
      throw new Error(`${name} could not be read: it was moved, or it is a folder.`, { cause })
    })
  if (size === 0) throw new Error(`${name} is empty; nothing was imported.`)
  const bytes = new Uint8Array(read)
  const kind = kindOfFile(bytes)
  if (kind) throw new Error(`${name} is ${kind.name}, which cannot be imported: ${kind.advice}.`)
  if (size > maxBytes) throw new Error(`${name} is too large to import; the limit is 5 MB.`)
  const isMarkdown = /\.(md|markdown)$/i.test(name) || type === 'text/markdown'
  const isHtml = /\.x?html?$/i.test(name) || type === 'text/html' || (!isMarkdown && isPage(bytes))
  const { text, assumed } = decode(name, bytes, isHtml)
  if (text.includes('\0'))
    throw new Error(`${name} is not text; HTML, Markdown and plain text can be imported.`)
  const { lines, unkept } = isHtml ? readHtml(text) : isMarkdown ? readMarkdown(text) : readText(text)
  if (lines.length === 0) throw new Error(`${name} contains no text; nothing was imported.`)
  return { lines, notes: importNotes({ unkept, assumed }) }
}

/** The editor that gets a file's content. */
interface Target {
  readonly root: HTMLElement
  readonly commands: Pick<EditorCommands, 'insert'>
}

/**
 * Inserts a file's content at the end of a document; `target` is asked for once the file is read. Rejects with an
 * Error whose message can be displayed.
 */
export async function importAtEnd(file: File, target: () => Promise<Target>) {
  const { lines, notes } = await readImport(file)
  const { root, commands } = await target()
  root.focus()
  getSelection()?.selectAllChildren(root)
  getSelection()?.collapseToEnd()
  // Starts on a line of its own.
  const isFirst = root.textContent.trim() === ''
  commands.insert(isFirst ? lines : [{ runs: [], block: 'p', align: null }, ...lines])
  const done = `${file.name} is imported at the end of the document.`
  return { sentence: [done, ...notes].join(' '), isWhole: notes.length === 0 }
}

/** Whether a file with another name is HTML from its beginning. */
const isPage = (bytes: Uint8Array) =>
  /^\W{0,100}<(?:!doctype html|html)[\s>]/i.test(new TextDecoder('latin1').decode(bytes.subarray(0, 1000)))

/**
 * Western European, used by Windows and old web pages; the Encoding Standard reads Latin-1 as this.
 */
const western = 'windows-1252'
/** Bytes that it leaves undefined indicate another encoding. */
const undefinedInWestern = /[\u0081\u008d\u008f\u0090\u009d]/

/**
 * Uses the byte order mark or the HTML declaration (WHATWG HTML, 13.2.3.2), else UTF-8, else
 * Western European.
 */
function decode(name: string, bytes: Uint8Array, isHtml: boolean): { text: string; assumed: string | null } {
  const declared = sniffEncoding(bytes, { xml: !isHtml, defaultEncoding: '' })
  const text = decodeAs(declared || 'utf-8', bytes)
  if (text !== null) return { text, assumed: null }
  if (declared)
    throw new Error(
      `${name} is not in ${declared}, the encoding that it declares; save it in UTF-8 and import it again.`,
    )
  const guessed = decodeAs(western, bytes)
  if (guessed === null || undefinedInWestern.test(guessed))
    throw new Error(`The encoding of ${name} is unknown; save it in UTF-8 and import it again.`)
  return { text: guessed, assumed: western }
}

/** Null if the bytes are not text in that encoding. */
function decodeAs(encoding: string, bytes: Uint8Array): string | null {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return null
  }
}
