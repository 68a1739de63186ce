// Content from elsewhere, cleaned to what a document has: clipboards, dropped files, imports.

import { safeLink } from '../../server/document/rich-text.ts'

export interface ClipboardText {
  /** Empty when the clipboard has none. */
  readonly html: string
  readonly text: string
}

export interface CleanContent {
  /** Elements p h1–h6 blockquote pre ul ol li b i u s code sub sup a br img only; `align` on blocks. */
  readonly content: DocumentFragment
  /** Names of the images and other media that stand in the text as words. */
  readonly unkept: readonly string[]
}

/** Most characters of an image's data: URL. */
const maxImageLength = 100_000
const imageUrl = /^data:image\/(?:png|jpeg|gif|webp);base64,[a-z0-9+/]+=*$/i
/** Longest name of an image in the text. */
const maxNameLength = 60

/**
 * `into` is the block at the caret: a code block takes the text as more of its lines. A single paragraph becomes inline content,
 * so that words join the line they are pasted into. Foreign HTML never reaches a live element.
 */
export function cleanText({ html, text }: ClipboardText, into = 'p'): CleanContent {
  if (html && into !== 'pre') {
    const reader = new ForeignHtml()
    const blocks = reader.read(html)
    if (blocks.length > 0) return { content: fragmentOf(blocks), unkept: reader.unkept }
  }
  return { content: into === 'pre' ? codeOf(text) : fragmentOf(plainBlocks(text)), unkept: [] }
}

/** Keeps small images and names every other file. */
export async function cleanFiles(files: readonly File[]): Promise<CleanContent> {
  const pieces: Piece[] = []
  const unkept: string[] = []
  for (const file of files) {
    // Base64 takes four characters for three bytes.
    const src = file.size < maxImageLength ? await dataUrlOf(file) : ''
    const name = shortened(file.name) || 'unnamed'
    if (isKeptImage(src)) pieces.push({ image: { src, alt: name }, format: plain })
    else {
      unkept.push(name)
      pieces.push({
        text: `[${file.type.startsWith('image/') ? 'image' : 'file'}: ${name}] `,
        format: plain,
      })
    }
  }
  const blocks = [finished({ ...paragraph, pieces })].flat()
  return { content: fragmentOf(blocks), unkept }
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => resolve('')
    reader.readAsDataURL(file)
  })
}

// The document's form: blocks of marked text, as the shared document has them.

interface Format {
  readonly bold: boolean
  readonly italic: boolean
  readonly underline: boolean
  readonly strike: boolean
  readonly code: boolean
  readonly script: 'sub' | 'sup' | null
  readonly link: string | null
  /** CSS `white-space: pre` or `pre-wrap`. */
  readonly keepsSpace: boolean
}

const plain: Format = {
  bold: false,
  italic: false,
  underline: false,
  strike: false,
  code: false,
  script: null,
  link: null,
  keepsSpace: false,
}

interface TextPiece {
  readonly text: string
  readonly format: Format
}

interface ImagePiece {
  readonly image: { readonly src: string; readonly alt: string }
  readonly format: Format
}

/** A text of `\n` alone is a line break. */
type Piece = TextPiece | ImagePiece

interface BlockKind {
  readonly tag: 'p' | 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6' | 'blockquote' | 'pre' | 'ul' | 'ol'
  /** Of a list item, from 1; else 0. */
  readonly level: number
  readonly align: string | null
}

interface Block extends BlockKind {
  readonly pieces: readonly Piece[]
}

const paragraph: BlockKind = { tag: 'p', level: 0, align: null }

const isBreak = (piece: Piece | undefined) => piece !== undefined && 'text' in piece && piece.text === '\n'
const isListKind = ({ tag }: BlockKind) => tag === 'ul' || tag === 'ol'

function plainBlocks(text: string): Block[] {
  const paragraphs = withoutReturns(text).split(/\n[ \t]*(?:\n[ \t]*)+/)
  return paragraphs.flatMap((lines) => {
    const pieces = lines
      .replace(/^\n+|\s+$/g, '')
      .split('\n')
      .flatMap((line) => [breakPiece, { text: line, format: plain }])
      .slice(1)
      .filter(({ text }) => text !== '')
    return pieces.length > 0 ? [{ ...paragraph, pieces }] : []
  })
}

const breakPiece: TextPiece = { text: '\n', format: plain }

function codeOf(text: string): DocumentFragment {
  const content = document.createDocumentFragment()
  if (text) content.append(document.createElement('pre'))
  content.firstElementChild?.append(withoutReturns(text))
  return content
}

const withoutReturns = (text: string) => text.replace(/\r\n?/g, '\n')

/** Reads one clipboard's HTML. */
class ForeignHtml {
  readonly unkept: string[] = []
  #blocks: Block[] = []
  #kind: BlockKind = paragraph
  #pieces: Piece[] = []

  read(html: string): Block[] {
    const { body } = new DOMParser().parseFromString(inertHtml(html), 'text/html')
    return this.#collect(body, plain, paragraph)
  }

  /** The blocks of an element's content, apart from those collected so far. */
  #collect(element: Element, format: Format, kind: BlockKind): Block[] {
    const [blocks, outerKind, pieces] = [this.#blocks, this.#kind, this.#pieces]
    this.#blocks = []
    this.#pieces = []
    this.#kind = kind
    this.#readChildren(element, format, kind)
    this.#open(paragraph)
    const collected = this.#blocks
    this.#blocks = blocks
    this.#kind = outerKind
    this.#pieces = pieces
    return collected
  }

  #open(kind: BlockKind): void {
    this.#blocks.push(...finished({ ...this.#kind, pieces: this.#pieces }))
    this.#kind = kind
    this.#pieces = []
  }

  #readChildren(element: Element, format: Format, kind: BlockKind): void {
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) this.#pieces.push({ text: child.nodeValue ?? '', format })
      else if (child.nodeType === Node.ELEMENT_NODE) this.#readElement(child as Element, format, kind)
    }
  }

  #readElement(element: Element, outer: Format, kind: BlockKind): void {
    const { localName } = element
    if (skipped.has(localName) || isHidden(element)) return
    const format = formatOf(element, outer)
    if (localName === 'br') this.#pieces.push(breakPiece)
    else if (localName === 'img') this.#readImage(element, format)
    else if (localName in media) this.#name(media[localName] ?? '', nameOf(element), format)
    else if (localName === 'input') this.#readInput(element, format)
    else if (localName === 'table') this.#readTable(element as HTMLTableElement, format, kind)
    else if (localName === 'ul' || localName === 'ol')
      this.#within(element, format, kind, { ...paragraph, tag: localName, level: levelBelow(kind) })
    else if (localName === 'li') this.#readItem(element, format, kind)
    else if (localName === 'q') {
      this.#pieces.push({ text: '“', format })
      this.#readChildren(element, format, kind)
      this.#pieces.push({ text: '”', format })
    } else if (isBlock(element)) this.#readBlock(element, format, kind)
    else this.#readChildren(element, format, kind)
  }

  #readBlock(element: Element, format: Format, kind: BlockKind): void {
    const own = kindOf(element, kind)
    if (own.tag === kind.tag && own.level === kind.level && (kind.tag === 'pre' || isListKind(kind))) {
      // Another line of the same item or code block.
      this.#startLine()
      this.#readChildren(element, format, kind)
      this.#startLine()
    } else this.#within(element, element.localName === 'dt' ? { ...format, bold: true } : format, kind, own)
  }

  #startLine(): void {
    if (this.#pieces.length > 0 && !isBreak(this.#pieces.at(-1))) this.#pieces.push(breakPiece)
  }

  #within(element: Element, format: Format, outer: BlockKind, inner: BlockKind): void {
    this.#open(inner)
    this.#readChildren(element, format, inner)
    this.#open(outer)
  }

  #readItem(element: Element, format: Format, kind: BlockKind): void {
    const item = isListKind(kind) ? kind : { ...paragraph, tag: 'ul' as const, level: 1 }
    this.#open({ ...item, align: alignOf(element) })
    if (element.getAttribute('role') === 'checkbox')
      this.#pieces.push(box(element.getAttribute('aria-checked') === 'true', format))
    this.#readChildren(element, format, item)
    this.#open(kind)
  }

  #readInput(element: Element, format: Format): void {
    if (element.getAttribute('type') === 'checkbox')
      this.#pieces.push(box(element.hasAttribute('checked'), format))
  }

  #readImage(element: Element, format: Format): void {
    const src = (element.getAttribute('src') ?? '').replace(/\s/g, '')
    // Counting pixels of web pages and mails.
    if (['width', 'height'].some((side) => Number(element.getAttribute(side) ?? 2) <= 1)) return
    if (isKeptImage(src))
      this.#pieces.push({ image: { src, alt: shortened(element.getAttribute('alt') ?? '') }, format })
    else this.#name('image', nameOf(element), format)
  }

  /** Stands for what cannot be kept. */
  #name(what: string, name: string, format: Format): void {
    this.unkept.push(name || what)
    this.#pieces.push({ text: name ? `[${what}: ${name}]` : `[${what}]`, format })
  }

  /** A row becomes a paragraph, since the document has no tables. */
  #readTable(table: HTMLTableElement, format: Format, kind: BlockKind): void {
    this.#open(paragraph)
    for (const caption of table.querySelectorAll(':scope > caption'))
      this.#within(caption, format, paragraph, paragraph)
    for (const row of table.rows) {
      const cells = [...row.cells]
      const [only] = cells
      if (only && cells.length === 1) this.#within(only, format, paragraph, kindOf(only, paragraph))
      else this.#readRow(cells, format)
    }
    this.#open(kind)
  }

  #readRow(cells: readonly HTMLTableCellElement[], format: Format): void {
    const read = cells.map((cell) => {
      const isHeader = cell.localName === 'th' || cell.parentElement?.parentElement?.localName === 'thead'
      const blocks = this.#collect(cell, isHeader ? { ...format, bold: true } : format, paragraph)
      return blocks.flatMap(({ pieces }) => [{ text: ' ', format: plain }, ...pieces.map(spaced)])
    })
    if (read.every((pieces) => pieces.length === 0)) return
    const separator = { text: ' | ', format: plain }
    this.#open(paragraph)
    this.#pieces.push(...read.flatMap((pieces, index) => (index > 0 ? [separator, ...pieces] : pieces)))
  }
}

/** A line break within a cell separates words. */
const spaced = (piece: Piece) => (isBreak(piece) ? { ...piece, text: ' ' } : piece)

const box = (isChecked: boolean, format: Format) => ({ text: isChecked ? '☑ ' : '☐ ', format })

function levelBelow(kind: BlockKind): number {
  return isListKind(kind) ? Math.min(kind.level + 1, 6) : 1
}

/** Splits where two line breaks follow each other; without white space that HTML does not show. */
function finished(block: Block): Block[] {
  if (block.tag === 'pre') return finishedCode(block)
  const lines: Piece[][] = [[]]
  for (const piece of block.pieces) {
    if ('image' in piece) lines.at(-1)?.push(piece)
    else if (isBreak(piece)) lines.push([])
    else if (!piece.format.keepsSpace) lines.at(-1)?.push(piece)
    else
      for (const [index, text] of withoutReturns(piece.text).split('\n').entries()) {
        if (index > 0) lines.push([])
        lines.at(-1)?.push({ ...piece, text })
      }
  }
  const paragraphs: Piece[][] = [[]]
  for (const pieces of lines.map(shownSpace)) {
    const current = paragraphs.at(-1) ?? []
    if (pieces.length === 0) {
      if (current.length > 0 && !isListKind(block)) paragraphs.push([])
    } else if (current.length === 0) current.push(...pieces)
    else current.push(breakPiece, ...pieces)
  }
  return paragraphs.flatMap((pieces) => (pieces.length > 0 ? [{ ...block, pieces }] : []))
}

function finishedCode(block: Block): Block[] {
  const text = withoutReturns(block.pieces.map((piece) => ('text' in piece ? piece.text : '')).join(''))
  const code = text.replace(/^\n+|\s+$/g, '').replaceAll('\u00a0', ' ')
  return code ? [{ ...block, pieces: [{ text: code, format: plain }] }] : []
}

/** Collapses a line's white space as a browser would; two or more hard spaces become plain ones. */
function shownSpace(line: readonly Piece[]): Piece[] {
  const shown: Piece[] = []
  let endsInSpace = true
  for (const piece of line) {
    if ('image' in piece) {
      shown.push(piece)
      endsInSpace = false
      continue
    }
    let { text } = piece
    if (!piece.format.keepsSpace) {
      text = text.replace(/[ \t\r\n\f]+/g, ' ')
      if (endsInSpace) text = text.replace(/^ /, '')
    }
    text = text.replace(/[ \u00a0]{2,}/g, (spaces) => ' '.repeat(spaces.length))
    if (text === '') continue
    endsInSpace = text.endsWith(' ')
    shown.push({ ...piece, text })
  }
  for (let last = shown.pop(); last; last = shown.pop()) {
    if ('image' in last) return [...shown, last]
    const text = last.text.trimEnd()
    if (text !== '') return [...shown, { ...last, text }]
  }
  return []
}

// What foreign elements mean.

const skipped = new Set(
  'head title style script noscript template object param source track map area select datalist textarea svg canvas hr meta link base button'.split(
    ' ',
  ),
)

/** What stands in the text for each. */
const media: Readonly<Record<string, string>> = {
  video: 'video',
  audio: 'audio',
  iframe: 'page',
  embed: 'file',
}

const blocks = new Set(
  'address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup legend main nav p pre search section summary tr td th tbody thead tfoot'.split(
    ' ',
  ),
)

const marks: Readonly<Record<string, Partial<Format>>> = {
  b: { bold: true },
  strong: { bold: true },
  i: { italic: true },
  em: { italic: true },
  cite: { italic: true },
  dfn: { italic: true },
  var: { italic: true },
  u: { underline: true },
  ins: { underline: true },
  s: { strike: true },
  strike: { strike: true },
  del: { strike: true },
  code: { code: true },
  kbd: { code: true },
  samp: { code: true },
  tt: { code: true },
  sub: { script: 'sub' },
  sup: { script: 'sup' },
}

function isBlock(element: Element): boolean {
  return blocks.has(element.localName) || styleOf(element, 'display') === 'block'
}

/** Also the marker of a Word list item, which the list shows itself. */
function isHidden(element: Element): boolean {
  return (
    element.hasAttribute('hidden') ||
    styleOf(element, 'display') === 'none' ||
    styleOf(element, 'mso-hide') === 'all' ||
    styleOf(element, 'mso-list') === 'ignore'
  )
}

function formatOf(element: Element, outer: Format): Format {
  const format = { ...outer, ...marks[element.localName] }
  const weight = styleOf(element, 'font-weight')
  if (weight) format.bold = /^bold/.test(weight) || Number(weight) >= 600
  const slant = styleOf(element, 'font-style')
  if (slant) format.italic = /^(?:italic|oblique)/.test(slant)
  const lines = styleOf(element, 'text-decoration') + styleOf(element, 'text-decoration-line')
  if (lines.includes('line-through')) format.strike = true
  if (lines.includes('underline')) format.underline = true
  const height = styleOf(element, 'vertical-align')
  if (height === 'super' || height === 'sub') format.script = height === 'sub' ? 'sub' : 'sup'
  const space = styleOf(element, 'white-space')
  if (space) format.keepsSpace = /^(?:pre|pre-wrap|break-spaces)$/.test(space)
  if (element.localName === 'a') format.link = safeLink(element.getAttribute('href')?.trim())
  // Browsers draw both by themselves.
  if (format.link !== null) format.underline = false
  if (/^h[1-6]$/.test(element.localName)) format.bold = false
  return format
}

function kindOf(element: Element, outer: BlockKind): BlockKind {
  const { localName } = element
  const align = alignOf(element) ?? outer.align
  const item = wordItem(element)
  if (item) return item
  if (localName === 'pre' || isCodeBox(element)) return { ...paragraph, tag: 'pre' }
  // The text of an item or a code block stays there.
  if (isListKind(outer) || outer.tag === 'pre') return outer
  const heading = /^h[1-6]$/.exec(localName) ?? /^Mso(Title|Subtitle)$/.exec(element.className)
  if (heading) {
    const [name, word] = heading
    const tag = word === 'Title' ? 'h1' : word === 'Subtitle' ? 'h2' : (name as BlockKind['tag'])
    return { tag, level: 0, align }
  }
  if (localName === 'blockquote' || /^Mso(?:Intense)?Quote/.test(element.className))
    return { tag: 'blockquote', level: 0, align }
  return { ...outer, align }
}

/** Word writes a list item as a paragraph with `mso-list`, its marker in an element of its own. */
function wordItem(element: Element): BlockKind | null {
  const level = /level(\d)/.exec(styleOf(element, 'mso-list'))?.[1]
  if (!level) return null
  const marker = [...element.querySelectorAll('[data-style]')].find(
    (part) => styleOf(part, 'mso-list') === 'ignore',
  )
  const isNumber = /^[\s\u00a0]*\(?(?:\d+|[a-z]|[ivxlcdm]+)[.)]/i.test(marker?.textContent ?? '')
  return { tag: isNumber ? 'ol' : 'ul', level: Math.min(Number(level), 6), align: alignOf(element) }
}

/** Code editors copy lines as `div`s in a box of fixed-width type. */
function isCodeBox(element: Element): boolean {
  return (
    /^pre(?:-wrap)?$/.test(styleOf(element, 'white-space')) &&
    /mono|consolas|courier|menlo/.test(styleOf(element, 'font-family'))
  )
}

function alignOf(element: Element): string | null {
  const value =
    element.localName === 'center'
      ? 'center'
      : styleOf(element, 'text-align') || element.getAttribute('align')?.toLowerCase()
  return value === 'center' || value === 'right' || value === 'justify' ? value : null
}

/** A property of the inert `style`, in lower case; empty when it is not there. */
function styleOf(element: Element, property: string): string {
  const style = element.getAttribute('data-style')
  if (!style) return ''
  for (const declaration of style.split(';')) {
    const colon = declaration.indexOf(':')
    if (declaration.slice(0, colon).trim().toLowerCase() === property)
      return declaration
        .slice(colon + 1)
        .trim()
        .toLowerCase()
  }
  return ''
}

const isKeptImage = (src: string) => src.length <= maxImageLength && imageUrl.test(src)

/** Of an image or another medium: its words, else its file's name. */
function nameOf(element: Element): string {
  const alt = shortened(element.getAttribute('alt') ?? '') || shortened(element.getAttribute('title') ?? '')
  if (alt) return alt
  const src = element.getAttribute('src') ?? ''
  if (/^(?:data|blob):/i.test(src)) return ''
  const file = src.split(/[?#]/)[0]?.split(/[/\\]/).at(-1) ?? ''
  try {
    return shortened(decodeURIComponent(file))
  } catch {
    return shortened(file)
  }
}

function shortened(name: string): string {
  const words = name.replace(/[\s\p{Cc}]+/gu, ' ').trim()
  return words.length > maxNameLength ? `${words.slice(0, maxNameLength - 1)}…` : words
}

// Parsing without effects.

const readAttributes = new Set(
  'href src alt title align class role aria-checked checked type width height hidden'.split(' '),
)
const rawElements = new Set(['style', 'script', 'title', 'xmp', 'iframe', 'noembed', 'noframes', 'textarea'])

/**
 * Removes comments, scripts, styles and unread attributes; `style` becomes `data-style`. Even an inert
 * document reports `style` and `onclick` to the page's Content-Security-Policy in Chromium.
 */
function inertHtml(html: string): string {
  const attribute = /[\s/]*([^\s"'>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?/y
  const kept: string[] = []
  let at = 0
  for (let tag = html.indexOf('<'); tag >= 0; tag = html.indexOf('<', at)) {
    kept.push(html.slice(at, tag))
    if (/[!?]/.test(html[tag + 1] ?? '')) {
      const isComment = html.startsWith('<!--', tag)
      const end = html.indexOf(isComment ? '-->' : '>', tag + (isComment ? 4 : 1))
      if (end < 0) return kept.join('')
      at = end + (isComment ? 3 : 1)
      continue
    }
    const name = /^<\/?[a-z][^\s/>]*/i.exec(html.slice(tag, tag + 40))?.[0]
    if (!name) {
      kept.push('&lt;')
      at = tag + 1
      continue
    }
    const raw = name.replace(/^<\/?/, '').toLowerCase()
    const isRaw = rawElements.has(raw)
    const parts = [name]
    at = tag + name.length
    while (at < html.length && html[at] !== '>') {
      attribute.lastIndex = at
      const [whole, attributeName = '', value] = attribute.exec(html) ?? [html[at] ?? '']
      const lower = attributeName.toLowerCase()
      if (lower === 'style') parts.push(` data-style=${value ?? '""'}`)
      else if (readAttributes.has(lower)) parts.push(value === undefined ? ` ${lower}` : ` ${lower}=${value}`)
      at += whole.length
    }
    parts.push('>')
    at += 1
    // Even an empty style would be reported.
    if (!isRaw || raw === 'iframe') kept.push(...parts)
    if (!isRaw || name[1] === '/') continue
    const end = html.slice(at).search(new RegExp(`</${raw}`, 'i'))
    if (end < 0) return kept.join('')
    at += end
  }
  kept.push(html.slice(at))
  return kept.join('')
}

// Blocks as elements.

function fragmentOf(blocks: readonly Block[]): DocumentFragment {
  const content = document.createDocumentFragment()
  const [first] = blocks
  if (blocks.length === 1 && first?.tag === 'p' && first.align === null) {
    appendPieces(content, first.pieces)
    return content
  }
  /** The open lists, outermost first, with their levels in the source, which may leave some out. */
  let lists: { readonly level: number; readonly list: HTMLElement }[] = []
  for (const block of blocks) {
    if (!isListKind(block)) {
      lists = []
      const element = document.createElement(block.tag)
      if (block.align) element.setAttribute('align', block.align)
      appendPieces(element, block.pieces)
      content.append(element)
      continue
    }
    lists = lists.filter(
      ({ level, list }) => level < block.level || (level === block.level && list.localName === block.tag),
    )
    if (lists.at(-1)?.level !== block.level) {
      const list = document.createElement(block.tag)
      const parent = lists.at(-1)?.list.lastElementChild ?? content
      parent.append(list)
      lists.push({ level: block.level, list })
    }
    const item = document.createElement('li')
    if (block.align) item.setAttribute('align', block.align)
    appendPieces(item, block.pieces)
    lists.at(-1)?.list.append(item)
  }
  return content
}

function appendPieces(parent: ParentNode, pieces: readonly Piece[]): void {
  for (const piece of merged(pieces)) {
    if (isBreak(piece)) parent.append(document.createElement('br'))
    else parent.append(markedNode(piece))
  }
}

/** Neighbours of one format are one text. */
function merged(pieces: readonly Piece[]): Piece[] {
  const all: Piece[] = []
  for (const piece of pieces) {
    const last = all.at(-1)
    if (last && 'text' in last && 'text' in piece && !isBreak(last) && !isBreak(piece))
      if (sameMarks(last.format, piece.format)) {
        all[all.length - 1] = { ...last, text: last.text + piece.text }
        continue
      }
    all.push(piece)
  }
  return all
}

const markElements = [
  ['strike', 's'],
  ['underline', 'u'],
  ['italic', 'i'],
  ['bold', 'b'],
] as const

function sameMarks(a: Format, b: Format): boolean {
  return (
    markElements.every(([mark]) => a[mark] === b[mark]) &&
    a.code === b.code &&
    a.script === b.script &&
    a.link === b.link
  )
}

function markedNode(piece: Piece): Node {
  let node: Node
  if ('image' in piece) {
    const image = document.createElement('img')
    image.src = piece.image.src
    image.alt = piece.image.alt
    node = image
  } else node = document.createTextNode(piece.text)
  const { format } = piece
  if (format.code) node = wrapped('code', node)
  if (format.script) node = wrapped(format.script, node)
  for (const [mark, name] of markElements) if (format[mark]) node = wrapped(name, node)
  if (format.link === null) return node
  const link = wrapped('a', node)
  link.setAttribute('href', format.link)
  return link
}

function wrapped(name: string, node: Node): HTMLElement {
  const element = document.createElement(name)
  element.append(node)
  return element
}
