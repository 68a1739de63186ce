// Content of clipboard and drags: written from a document's lines, and read as such.

import * as html from '../../app/document/html.ts'
import { shortened } from '../../app/document/line-reader.ts'
import { imageCharacter, type Line, safeImage, type TextRun } from '../../app/document/rich-text.ts'
import { importCode } from '../documents/import-code.ts'
import { formatUnkept, importNotes } from '../documents/import-notes.ts'

/** `data-crosswind` marks HTML that must be read exactly. */
export function writeTo(data: DataTransfer, lines: readonly Line[]): void {
  const tag = lines.length === 1 ? 'span' : 'div'
  const fragment = html.writeFragment(lines)
  data.setData('text/plain', html.writeText(lines))
  data.setData('text/html', `<${tag} data-crosswind style="white-space: pre-wrap">${fragment}</${tag}>`)
}

/**
 * In a code block, the plain text becomes further lines of code, unless the markup is copied from a
 * document and begins with code itself.
 */
export function readText(markup: string, text: string, isCode: boolean) {
  const reading = markup === '' ? null : html.readHtml(markup)
  const isOwnCode = markup.includes('data-crosswind') && reading?.lines[0]?.block === 'pre'
  if (isCode && !isOwnCode) return { lines: text === '' ? [] : html.readCode(text), notes: [] }
  const { lines, unkept } = reading && reading.lines.length > 0 ? reading : html.readText(text)
  return { lines, notes: importNotes({ unkept, assumed: null }) }
}

/** Base64 takes four characters for three bytes. */
const maxImageBytes = 75_000

/** Keeps small images, names larger ones, and reads every other file as an import does. */
export async function readFiles(files: readonly File[]) {
  const lines: Line[] = []
  const notes: string[] = []
  const images = files.filter(({ type }) => type.startsWith('image/'))
  const runs: TextRun[] = []
  const unkept: string[] = []
  for (const file of images) {
    const name = shortened(file.name) || 'unnamed'
    const image = file.size < maxImageBytes ? safeImage({ src: await dataUrlOf(file), alt: name }) : null
    if (image?.src) runs.push({ text: imageCharacter, marks: { image } })
    else {
      unkept.push(name)
      runs.push({ text: `${runs.length > 0 ? ' ' : ''}[image: ${name}]`, marks: {} })
    }
  }
  if (runs.length > 0) lines.push({ runs, block: 'p', align: null })
  const words = formatUnkept(unkept)
  if (words !== null) notes.push(words)
  for (const file of files) {
    if (images.includes(file)) continue
    try {
      const { readImport } = await importCode.load()
      const read = await readImport(file)
      lines.push(...read.lines)
      notes.push(...read.notes)
    } catch (error) {
      notes.push(error instanceof Error ? error.message : String(error))
    }
  }
  return { lines, notes }
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => resolve('')
    reader.readAsDataURL(file)
  })
}
