// Files to import: reads HTML, Markdown and plain text, cleaned like a paste.

import { marked } from 'marked'
import { type ClipboardText, cleanText } from '../editor/foreign-content.ts'

/** Characters; a longer text would not fit into a document. */
const mostLength = 5_000_000

const blockTags = /^(P|H[1-6]|BLOCKQUOTE|PRE|UL|OL)$/

/** Blocks to insert, and what could not be kept. Rejects with an Error for people. */
export async function readImport(
  file: File,
): Promise<{ content: DocumentFragment; unkept: readonly string[] }> {
  if (file.size > mostLength) throw new Error(`${file.name} is too large to import; 5 MB are the most.`)
  const text = (await file.text()).replace(/^\uFEFF/, '')
  if (text.includes('\0'))
    throw new Error(`${file.name} is no text; HTML, Markdown and plain text can be imported.`)
  const { content, unkept } = cleanText(await readable(file, text))
  const isInline = [...content.children].every(({ tagName }) => !blockTags.test(tagName))
  if (!isInline || !content.hasChildNodes()) return { content, unkept }
  const paragraph = document.createElement('p')
  paragraph.append(content)
  content.append(paragraph)
  return { content, unkept }
}

/** Markdown as in GitHub's dialect, into which documents are exported. */
async function readable({ name, type }: File, text: string): Promise<ClipboardText> {
  if (/\.html?$/i.test(name) || type === 'text/html') return { html: text, text: '' }
  const isMarkdown = /\.(md|markdown)$/i.test(name) || type === 'text/markdown'
  return isMarkdown ? { html: await marked.parse(text), text: '' } : { html: '', text }
}
