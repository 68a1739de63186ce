// Reads other programs' HTML: hidden elements, tables, code, formulas, comments and footnotes.

import { cutText } from '../../protocol/graphemes.ts'
import { callOf, isCallSign, noteCalledAt, noteNamed, replaceCalls, startOfNote } from './footnotes.ts'
import {
  alignIn,
  type Cell,
  type Context,
  isBreak,
  isList,
  type Kind,
  LineReader,
  languageIn,
  type NoteLink,
  nameOf,
  type Opening,
  type Piece,
  paragraph,
  type Reading,
  spaceIn,
  voidTags,
  withoutReturns,
  words,
} from './line-reader.ts'
import { FormulaReader, texIn } from './mathml.ts'
import {
  deepestLevel,
  depthsOf,
  formatOf,
  type Line,
  listOf,
  type Marks,
  safeLink,
  softBreak,
  textOf,
} from './rich-text.ts'

/** The word that replaces each in the text. */
const media: ReadonlyMap<string, string> = new Map([
  ['video', 'video'],
  ['audio', 'audio'],
  ['iframe', 'page'],
  ['embed', 'file'],
])
const cellTags = words('td th')
/** Elements that may be a footnote. */
const noteTags = words('aside dd div li p')

const columns = 'the columns of a table'
const innerLinks = 'links to places within the text'
const comments = 'comments'

const wordBlocks = [
  [/^MsoTitle/, 'h1'],
  [/^MsoSubtitle/, 'h2'],
  [/^Mso(?:Intense)?Quote/, 'blockquote'],
] as const

/** Maximum number of pieces of a line that are searched again, for linear time. */
const maxBlankPieces = 20

/** UTF-16 units of a code block's heading and buttons. */
const maxHeading = 100

const breakPiece: Piece = { text: softBreak, marks: {}, keepsSpace: false }

/** Accepts the tags and text of a tokenizer. Elements of a document's own HTML are read as such. */
export class ForeignReader extends LineReader {
  #formula: { readonly reader: FormulaReader; readonly context: Context; readonly isBlock: boolean } | null =
    null
  /** Whether the formula that KaTeX draws next has been read. */
  #isFormulaRead = false
  /** Label of the footnote whose text comes next. */
  #startingNote: string | null = null
  readonly #notes = new Set<string>()
  /** By a called footnote's label: the number or sign that the source shows. */
  readonly #calls = new Map<string, string>()
  /** Lines of own HTML. */
  readonly #own = new Set<Line>()

  override open(tag: string, attribute: Opening['attribute']): void {
    if (!this.#formula) {
      if (tag !== 'br' || !this.top.isBesideCode) super.open(tag, attribute)
    } else if (!voidTags.has(tag)) this.#formula.reader.open(tag, attribute)
  }

  override close(tag: string): void {
    if (!this.#formula) super.close(tag)
    else if (this.#formula.reader.close(tag)) this.#endFormula()
  }

  override text(chars: string): void {
    if (this.#formula) this.#formula.reader.text(chars)
    else if (this.top.isHidden) this.#takeHidden(chars)
    else if (!this.top.isBesideCode) this.#readText(chars)
  }

  #readText(chars: string): void {
    const top = this.top
    if (!top.isOwn) {
      if (chars !== '') this.add(chars, top)
    } else if (top.kind.tag === 'pre') super.text(chars)
    else {
      // The source's layout.
      const isBetween = this.pieces.length === 0 && chars.includes('\n') && chars.trim() === ''
      if (chars !== '' && !isBetween) this.add(withoutLayout(chars), top)
    }
  }

  override finish(): Reading {
    this.#endFormula()
    const { lines, unkept } = super.finish()
    const read = this.lines
    const placed = withDepths(lines, (index) => this.#own.has(read[index] as Line))
    return { lines: this.#withoutLooseCalls(placed), unkept }
  }

  protected override add(given: string, context: Pick<Context, 'marks' | 'keepsSpace' | 'isOwn'>): void {
    const isStart = this.#startingNote !== null && given.trim() !== ''
    if (isStart) this.#startNote()
    super.add(isStart ? given.trimStart() : given, context)
  }

  protected override openForeign(
    opening: Opening,
    context: Context,
    push: (more?: Partial<Context>) => void,
  ): boolean {
    const { tag, attribute } = opening
    if (tag === 'math') {
      const reader = new FormulaReader(attribute('alttext'))
      this.#formula = { reader, context, isBlock: attribute('display') === 'block' }
      return true
    }
    const medium = media.get(tag)
    if (medium !== undefined) {
      this.name(medium, nameOf(attribute), context)
      if (!voidTags.has(tag)) push({ isHidden: true })
    } else if (tag === 'input') {
      if (attribute('type')?.toLowerCase() === 'checkbox') this.box(attribute('checked') !== null, context)
    } else if (opening.styles.get('mso-list') === 'ignore') push({ isHidden: true, marker: '' })
    else return !context.isOwn && this.#openOther(opening, context, push)
    return true
  }

  /** Opens elements that have another meaning, or other rules, in the document's own HTML. */
  #openOther(opening: Opening, context: Context, push: (more?: Partial<Context>) => void): boolean {
    const { tag, attribute } = opening
    const outer = this.top
    const noteLink = tag === 'a' ? noteLinkIn(attribute('href')?.trim() ?? '') : null
    const note = noteTags.has(tag) ? noteNamed(attribute('id') ?? '') : null
    if (noteLink) push({ isHidden: true, marker: '', noteLink })
    else if (note !== null) {
      this.startBlock(paragraph, false)
      this.#startingNote = note
      push({ kind: paragraph, isBlock: true })
    } else if (tag === 'img' && isFormula(attribute)) this.add(texIn(attribute('alt') ?? ''), context)
    else if (tag === 'table') {
      const kind = kindInTable(outer.kind)
      this.startBlock(kind, false)
      push({ kind, isBlock: true })
    } else if (tag === 'tr') push({ kind: kindInTable(outer.kind), cells: [], isBlock: true })
    else if (cellTags.has(tag)) this.#openCell(opening, push)
    else if (tag === 'code' && outer.kind.tag === 'pre') this.#openCode(attribute, context, push)
    else return false
    return true
  }

  protected override closeForeign(top: Context, outer: Context): boolean {
    if (top.isBlock) this.#startingNote = null
    if (top.noteLink) this.#endNoteLink(top.noteLink, top.marker ?? '')
    else if (top.marker !== null) this.#takeMarker(top.marker)
    else if (top.isHidden || top.isOwn) return false
    else if (top.cells) this.#closeRow(top.cells, outer)
    else if (cellTags.has(top.tag)) this.#closeCell(top, outer)
    else return false
    return true
  }

  /** The document lacks the source's places: such an address would lead into the document's own page. */
  protected override linkIn(href: string, isOwn: boolean): string | null {
    if (isOwn || !href.startsWith('#')) return super.linkIn(href, isOwn)
    if (href !== '#' && noteLinkIn(href) === null) this.note(innerLinks)
    return null
  }

  protected override break(): void {
    const { isOwn, kind } = this.top
    if (!isOwn) this.pieces.push(breakPiece)
    else if (kind.tag === 'pre') this.endLine(true)
    else super.break()
  }

  /** In foreign blocks, ends the lines that a browser shows of white space and text. */
  protected override endLine(mayBeEmpty: boolean): void {
    if (this.isOwnBlock) {
      super.endLine(mayBeEmpty)
      return
    }
    const { pieces, kind } = this
    this.pieces = []
    const lines = kind.tag === 'pre' ? codeIn(pieces) : shownIn(pieces, isList(kind))
    for (const line of lines) this.push(kind, line)
  }

  protected override push(kind: Kind, pieces: readonly Piece[]): void {
    const { item } = kind
    // After code or a heading in an item, the item's text continues without a marker.
    const isContinued = item?.hasLine && !this.isOwnBlock && !listOf(this.lines.at(-1)?.block ?? '')
    if (item) item.hasLine = true
    super.push(isContinued ? { ...kind, tag: 'p' } : kind, pieces)
    if (this.isOwnBlock) this.#own.add(this.lines.at(-1) as Line)
  }

  protected override closeBlock(top: Context, outer: Context): void {
    const isLineOf = top.kind === outer.kind && outer.isBlock && top.tag !== 'li'
    if (top.isOwn) super.closeBlock(top, outer)
    else if (isLineOf && (top.kind.tag === 'pre' || isList(top.kind))) {
      if (this.pieces.length > 0 && !isBreak(this.pieces.at(-1))) this.break()
    } else {
      this.endLine(false)
      // An empty item still shows its marker.
      if (top.tag === 'li' && isList(top.kind) && this.lines.length === top.before) this.push(top.kind, [])
      this.startBlock(outer.kind, outer.isOwn)
    }
  }

  // Word's paragraphs

  protected override kindOf(opening: Opening, outer: Kind, own: string | null): Kind {
    const level = /level(\d)/.exec(opening.styles.get('mso-list') ?? '')?.[1]
    // Holds until the marker shows whether the list is numbered.
    if (level) return { ...paragraph, tag: 'ul', level: Math.min(Number(level), deepestLevel), align: own }
    const kind = super.kindOf(opening, outer, own)
    const name = opening.attribute('class') ?? ''
    const word = wordBlocks.find(([pattern]) => pattern.test(name))?.[1]
    const isText = kind.tag === 'p' || kind.tag === 'blockquote'
    return word && isText ? { ...paragraph, tag: word, align: kind.align } : kind
  }

  #takeHidden(chars: string): void {
    const marked = this.stack.findLast(({ marker }) => marker !== null)
    if (!marked) return
    const all = `${marked.marker ?? ''}${chars}`
    marked.marker = marked.noteLink ? all : cutText(all, 40)
  }

  /** A list item is a paragraph with `mso-list`, and its marker an element in it. */
  #takeMarker(marker: string): void {
    const number = /^[\s\u00a0]*\(?(?:(\d{1,9})|[a-z]|[ivxlcdm]{1,8})[.)]/i.exec(marker)
    const top = this.stack.findLast(({ kind, isBlock }) => isBlock && kind.level > 0)
    if (!number || !top) return
    const kind: Kind = { ...top.kind, tag: 'ol' }
    this.stack[this.stack.indexOf(top)] = { ...top, kind }
    this.kind = { ...kind, number: number[1] === undefined ? null : Number(number[1]) }
  }

  // A table row becomes a paragraph, since documents have no tables; one of code, lines of code.

  #openCell(opening: Opening, push: (more: Partial<Context>) => void): void {
    const outer = this.top
    this.startBlock(paragraph, false)
    this.sinks.push([])
    const isHeader = opening.tag === 'th' || this.stack.at(-2)?.tag === 'thead'
    const within = kindInTable(outer.kind)
    const isCode =
      spaceIn(opening.styles) === 'pre' ||
      outer.isNumbered ||
      codeCells.test(opening.attribute('class') ?? '')
    const kind: Kind = isCode
      ? { ...paragraph, tag: 'pre', language: languageIn(opening.attribute) ?? within.language }
      : this.kindOf(opening, within, alignIn(opening))
    this.kind = kind
    push({ kind, isBlock: true, ...(isHeader && { marks: { ...outer.marks, bold: true as const } }) })
  }

  #closeCell(top: Context, outer: Context): void {
    this.endLine(false)
    const lines = this.sinks.length > 1 ? (this.sinks.pop() ?? []) : []
    if (outer.cells) outer.cells.push({ lines, isCode: top.kind.tag === 'pre' })
    else this.lines.push(...lines)
    this.startBlock(outer.kind, false)
  }

  #closeRow(row: readonly Cell[], outer: Context): void {
    this.startBlock(outer.kind, outer.isOwn)
    const { code, cells } = splitRow(row)
    if (cells.length === 1) this.lines.push(...(cells[0]?.lines ?? []))
    else if (cells.some(({ lines }) => lines.length > 0)) {
      this.note(columns)
      const runs = cells.flatMap(({ lines }, index) => [
        ...(index > 0 ? [{ text: ' | ', marks: {} }] : []),
        ...lines.flatMap((line, index) => [
          ...(index > 0 ? [{ text: ' ', marks: {} }] : []),
          ...line.runs.map(({ text, marks }) => ({ text: text.replaceAll(softBreak, ' '), marks })),
        ]),
      ])
      this.push(paragraph, shownSpace(runs.map((run) => ({ ...run, keepsSpace: false }))))
    }
    // An empty cell is an empty line of code.
    const empty: Line = { ...formatOf({ block: 'pre', language: this.lines.at(-1)?.language }), runs: [] }
    for (const { lines } of code) for (const line of lines.length > 0 ? lines : [empty]) this.lines.push(line)
  }

  // Elements that are not text, or belong to no line

  /**
   * Whether it is a comment, a line number, or hidden; or the drawing of something that is read, as the
   * source tells assistive technology.
   */
  protected override isBesideText(
    { tag, attribute, styles }: Opening,
    outer: Context,
    isOwn: boolean,
  ): boolean {
    const name = attribute('class') ?? ''
    if (/(?:^|\s)katex(?:\s|$)/.test(name)) this.#isFormulaRead = false
    const isOnlyDrawn =
      (tag === 'img' && isFormula(attribute)) ||
      (/(?:^|\s)katex-html(?:\s|$)/.test(name) && !this.#isFormulaRead)
    if (attribute('aria-hidden') === 'true' && !isOnlyDrawn) return true
    if (/^(?:hidden|collapse)/.test(styles.get('visibility') ?? '')) return true
    if (isOwn) return false
    if (/(?:^|\s)(?:MsoComment(?:Text|Subject)|msocomtxt)/.test(name) || isComment(styles)) {
      this.note(comments)
      return true
    }
    if (/(?:^|\s)(?:MsoCommentReference|msocom)/.test(name)) return true
    if (/(?:^|-)footnote-label(?:-|$)/.test(attribute('id') ?? '')) return true
    if (tag === 'a') return this.#isCommentLink(fragmentOf(attribute('href') ?? ''))
    if (!lineNumbers.test(name)) return false
    if (cellTags.has(tag)) outer.isNumbered = true
    return cellTags.has(tag) || (outer.kind.tag === 'pre' && tag !== 'code')
  }

  /** A link to a comment; or the link at its start back to the text, whose block is then left out. */
  #isCommentLink(fragment: string): boolean {
    if (/^(?:_msocom_|cmnt)\d/.test(fragment)) return true
    if (!/^cmnt_ref\d/.test(fragment)) return false
    if (this.#isBlank()) {
      this.note(comments)
      const start = this.stack.findLastIndex(({ isBlock }) => isBlock)
      for (let index = Math.max(start, 1); index < this.stack.length; index += 1)
        this.stack[index] = { ...(this.stack[index] as Context), isHidden: true }
    }
    return true
  }

  /**
   * A code block may show its language and buttons, too. Then the code is in a `code` element in a box
   * of its own, or after the language's name.
   */
  #openCode(
    attribute: Opening['attribute'],
    { kind, isOwn }: Context,
    push: (more?: Partial<Context>) => void,
  ): void {
    const language = languageIn(attribute)
    if (language !== null) this.kind = { ...this.kind, language }
    if (!isOwn && this.pieces.length < maxBlankPieces) this.#dropHeading(language ?? kind.language)
    push(language === null ? {} : { kind: { ...kind, language } })
  }

  #dropHeading(language: string | null): void {
    const block = this.stack.findLastIndex(({ isBlock, tag }) => isBlock && tag === 'pre')
    const pre = this.stack[block]
    if (pre?.hasCode) return
    if (pre) pre.hasCode = true
    const before = textIn(this.pieces)
    const last = this.lines.at(-1)
    const isBoxed = block >= 0 && this.stack.some(({ isBlock }, index) => index > block && isBlock)
    const isAtStart = textIn(this.pieces.slice(this.pieces.findLastIndex(isBreak) + 1)) === ''
    const isHeaded = before === '' ? language !== null : before.length <= maxHeading
    if (isBoxed && isAtStart && isHeaded) {
      this.pieces = []
      for (let index = block; index < this.stack.length; index += 1)
        this.stack[index] = { ...(this.stack[index] as Context), isBesideCode: true }
    } else if (language !== null && before.toLowerCase() === language.toLowerCase()) this.pieces = []
    else if (before === '' && last?.block === 'p' && textOf([last]) === language) this.lines.pop()
  }

  /** Whether no text of the line has been read. */
  #isBlank(): boolean {
    return this.pieces.length < maxBlankPieces && this.pieces.every(({ text }) => text.trim() === '')
  }

  /** Code begins after the line that names its note. */
  #startNote(): void {
    const label = this.#startingNote ?? ''
    this.#startingNote = null
    this.#notes.add(label)
    const start = { text: startOfNote(label), marks: {}, keepsSpace: true }
    if (this.kind.tag === 'pre') this.push(paragraph, [{ ...start, text: start.text.trimEnd() }])
    else this.pieces = [start]
  }

  #endFormula(): void {
    if (!this.#formula) return
    const { reader, context, isBlock } = this.#formula
    this.#formula = null
    this.#isFormulaRead = true
    const text = reader.finish()
    if (text === '') return
    if (isBlock && this.pieces.length > 0 && !isBreak(this.pieces.at(-1))) this.break()
    this.add(text, context)
    if (isBlock) this.break()
  }

  #endNoteLink({ label, isCall, href }: NoteLink, words: string): void {
    const outer = this.top
    if (isCall && isCallSign(words)) {
      const marks: { -readonly [Name in keyof Marks]: Marks[Name] } = { ...outer.marks }
      delete marks.script
      this.#calls.set(label, words.trim())
      this.add(callOf(label), { ...outer, marks })
    } else if (isCall) {
      const link = href.startsWith('#') ? null : safeLink(href)
      if (link === null) this.note(innerLinks)
      this.add(words, { ...outer, marks: link === null ? outer.marks : { ...outer.marks, link } })
    } else if (this.#isBlank() && !this.#notes.has(label)) this.#startingNote = label
  }

  /** A call without its note, as in an excerpt, becomes the text that the source shows. */
  #withoutLooseCalls(lines: Line[]): Line[] {
    const loose = new Map<string, string>()
    for (const [label, sign] of this.#calls)
      if (!this.#notes.has(label)) loose.set(label, /^\w/.test(sign) ? `[${sign}]` : sign)
    if (loose.size === 0) return lines
    return lines.map((line) => {
      const runs = line.runs.map(({ text, marks }) => ({ text: replaceCalls(text, loose), marks }))
      return { ...line, runs }
    })
  }
}

const isComment = (styles: ReadonlyMap<string, string>) =>
  /^comment/.test(styles.get('mso-element') ?? '') || styles.get('mso-special-character') === 'comment'

/** Classes of the cells that contain a line of code: of GitHub, GitLab and highlightjs-line-numbers. */
const codeCells = /(?:^|\s)(?:blob-code(?:-inner)?|js-file-line|line_content|hljs-ln-code)(?:\s|$)/

/** Classes of line numbers: of Pygments, Rouge, Hexo, Chroma, GitHub, GitLab and highlight.js. */
const lineNumbers =
  /(?:^|\s)(?:lineno|linenos|linenumbers?|line-numbers?|linenodiv|gutter|rouge-gutter|blob-num|diff-line-num|hljs-ln-numbers|lnt?)(?:\s|$)/

/** An image of a formula, as in Wikipedia and WordPress, whose `alt` is its TeX source. */
function isFormula(attribute: Opening['attribute']): boolean {
  const isNamed = /(?:^|[\s-])(?:math|latex)(?:$|[\s-])/.test(attribute('class') ?? '')
  return isNamed && (attribute('alt') ?? '').trim() !== ''
}

/** The part of an address that names a place in its page. */
function fragmentOf(href: string): string {
  const index = href.indexOf('#')
  if (index < 0) return ''
  const fragment = href.slice(index + 1)
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

function noteLinkIn(href: string): NoteLink | null {
  const fragment = fragmentOf(href)
  const called = noteNamed(fragment)
  if (called !== null) return { label: called, isCall: true, href }
  const from = noteCalledAt(fragment)
  return from === null ? null : { label: from, isCall: false, href }
}

const textIn = (pieces: readonly Piece[]) =>
  pieces
    .map(({ text }) => text)
    .join('')
    .trim()

/** In a code block a table is numbered code. */
const kindInTable = (outer: Kind) => (outer.tag === 'pre' ? outer : paragraph)

/** Splits a row into its code, without line numbers, and the cells of words beside it. */
function splitRow(row: readonly Cell[]): { code: readonly Cell[]; cells: readonly Cell[] } {
  const isCode = (cell: Cell) => cell.isCode || cell.lines.some(({ block }) => block === 'pre')
  const all = row.filter(isCode)
  if (all.length === 0) return { code: [], cells: row }
  const isFilled = (cell: Cell) => cell.lines.length > 0
  const found = all.filter((cell) => isFilled(cell) && !isNumbering(cell))
  // A line of code may be empty, or a number itself.
  const code = found.length > 0 ? found : all.slice(-1)
  const isByCell = code.some((cell) => cell.isCode)
  const cells = row.filter((cell) => isFilled(cell) && !isCode(cell) && !(isByCell && isNumbering(cell)))
  // Several cells of fixed-width type are a table of short texts.
  return isByCell && code.length + cells.length > 1 ? { code: [], cells: row } : { code, cells }
}

/** Whether a cell contains consecutive numbers only, as beside code. */
function isNumbering({ lines }: Cell): boolean {
  const numbers = textOf(lines)
    .split('\n')
    .filter((text) => text.trim() !== '')
    .map((text) => (/^\s*\d{1,7}\s*$/.test(text) ? Number(text) : Number.NaN))
  return numbers.length > 0 && numbers.every((number, index) => number === (numbers[0] ?? 0) + index)
}

// White space

function codeIn(pieces: readonly Piece[]): Piece[][] {
  const text = withoutReturns(pieces.map(({ text }) => (text === softBreak ? '\n' : text)).join(''))
  const lines = text.replaceAll('\u00a0', ' ').split('\n')
  while (lines[0]?.trim() === '' && lines.length > 0) lines.shift()
  while (lines.at(-1)?.trim() === '') lines.pop()
  return lines.map((line) => (line === '' ? [] : [{ text: line, marks: {}, keepsSpace: true }]))
}

/** Splits at two consecutive line breaks; removes white space that HTML does not show. */
function shownIn(pieces: readonly Piece[], isItem: boolean): Piece[][] {
  const lines: Piece[][] = [[]]
  for (const piece of pieces) {
    if (isBreak(piece)) lines.push([])
    else if (!piece.keepsSpace) lines.at(-1)?.push(piece)
    else
      for (const [index, text] of withoutReturns(piece.text).split('\n').entries()) {
        if (index > 0) lines.push([])
        if (text !== '') lines.at(-1)?.push({ ...piece, text })
      }
  }
  const paragraphs: Piece[][] = [[]]
  for (const shown of lines.map(shownSpace)) {
    const current = paragraphs.at(-1) ?? []
    if (shown.length === 0) {
      if (current.length > 0 && !isItem) paragraphs.push([])
    } else if (current.length === 0) current.push(...shown)
    else current.push(breakPiece, ...shown)
  }
  return paragraphs.filter((paragraph) => paragraph.length > 0)
}

/** Collapses a line's white space as a browser does; two or more hard spaces become plain ones. */
function shownSpace(line: readonly Piece[]): Piece[] {
  const shown: Piece[] = []
  let endsInSpace = true
  for (const piece of line) {
    let { text } = piece
    if (!piece.keepsSpace) {
      text = text.replaceAll(/[ \t\r\n\f]+/g, ' ')
      if (endsInSpace && text.startsWith(' ')) text = text.slice(1)
    }
    text = text.replaceAll(/[ \u00a0]{2,}/g, (spaces) => ' '.repeat(spaces.length))
    if (text === '') continue
    endsInSpace = text.endsWith(' ')
    shown.push({ ...piece, text })
  }
  for (let last = shown.pop(); last; last = shown.pop()) {
    const text = last.text.trimEnd()
    if (text !== '') return [...shown, { ...last, text }]
  }
  return []
}

/** Lists that skip a level get the visible depth, except in own HTML that states levels. */
function withDepths(lines: readonly Line[], isOwn: (index: number) => boolean): Line[] {
  const depths = depthsOf(lines)
  return lines.map((line, index) => {
    const list = listOf(line.block)
    return list && !isOwn(index) && list.level !== depths[index]
      ? { ...line, block: `${list.kind}${depths[index]}` }
      : line
  })
}

/** Replaces a line feed and the spaces around it with one space. */
function withoutLayout(text: string): string {
  if (!text.includes('\n')) return text
  const lines = text.split('\n')
  const last = lines.length - 1
  return lines
    .map((line, index) => {
      let start = 0
      let end = line.length
      while (index > 0 && start < end && /[ \t\r]/.test(line[start] ?? '')) start += 1
      while (index < last && end > start && /[ \t\r]/.test(line[end - 1] ?? '')) end -= 1
      return line.slice(start, end)
    })
    .filter((line, index) => line !== '' || index === 0 || index === last)
    .join(' ')
}
