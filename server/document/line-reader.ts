// Reads HTML elements in document order as a document's lines, from a DOM or from a text's tags.

import { cutText, excerptOf, withoutHalves } from '../wire/graphemes.ts'
import { callOf, isCallSign, noteCalledAt, noteNamed, replaceCalls, startOfNote } from './footnotes.ts'
import { FormulaReader, texIn } from './mathml.ts'
import {
  deepestLevel,
  depthsOf,
  formatOf,
  imageCharacter,
  type Line,
  listOf,
  type Marks,
  type Run,
  safeImage,
  safeLink,
  sameMarks,
  softBreak,
  textOf,
} from './rich-text.ts'

export interface Reading {
  readonly lines: Line[]
  /**
   * What was kept only as words, or not at all: names of images and files, "the columns of a
   * table".
   */
  readonly unkept: readonly string[]
}

export const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))

export const voidTags = words('area base br col embed hr img input link meta param source track wbr')
const skippedTags = words(
  `annotation annotation-xml area base button canvas col colgroup datalist head link map meta noembed noframes noscript
  object param script select source style svg template textarea title track xmp`,
)
export const blockTags = words(
  `address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer form
  h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre search section summary table tbody td tfoot th
  thead tr ul`,
)
/** The word that stands for each in the text. */
const media: ReadonlyMap<string, string> = new Map([
  ['video', 'video'],
  ['audio', 'audio'],
  ['iframe', 'page'],
  ['embed', 'file'],
])
export const headings = words('h1 h2 h3 h4 h5 h6')
const cellTags = words('td th')
/** Elements that may be a footnote. */
const noteTags = words('aside dd div li p')

type BlockTag = 'p' | 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6' | 'blockquote' | 'pre' | 'ul' | 'ol'

interface Kind {
  readonly tag: BlockTag
  /** Level of a list item, from 1; otherwise 0. */
  readonly level: number
  readonly align: string | null
  readonly language: string | null
  /** Number of an `ol` item, if the source gives one. */
  readonly number: number | null
  /** Set for text inside a list item. */
  readonly item?: { hasLine: boolean }
}

interface Piece {
  readonly text: string
  readonly marks: Marks
  /** CSS `white-space: pre` or `pre-wrap`. */
  readonly keepsSpace: boolean
}

/** An element that begins. */
interface Opening {
  readonly tag: string
  readonly attribute: (name: string) => string | null
  readonly styles: ReadonlyMap<string, string>
}

interface Context {
  readonly tag: string
  readonly marks: Marks
  readonly kind: Kind
  /** Depth of the surrounding lists. */
  readonly depth: number
  readonly keepsSpace: boolean
  readonly isHidden: boolean
  readonly isOwn: boolean
  readonly isBlock: boolean
  /** Whether it is in a code block, but outside its `code` element. */
  readonly isBesideCode: boolean
  /** Whether a `code` element began in this `pre`. */
  hasCode: boolean
  /** Number of lines when it opened. */
  readonly before: number
  /** For an `ol`: the number of its next item. */
  next: number | null
  /** For a `tr`. */
  readonly cells: Cell[] | null
  /** Whether a cell of line numbers began this `tr`. */
  isNumbered: boolean
  /** Text of a Word list item's marker, or of a link to a footnote. */
  marker: string | null
  readonly noteLink: NoteLink | null
}

interface Cell {
  readonly lines: readonly Line[]
  /** Whether the cell itself is code by its style, its class or its table's place. */
  readonly isCode: boolean
}

/** A link to a footnote, or from it back to its call. */
interface NoteLink {
  readonly label: string
  readonly isCall: boolean
  readonly href: string
}

const paragraph: Kind = { tag: 'p', level: 0, align: null, language: null, number: null }
const isList = ({ tag }: Kind) => tag === 'ul' || tag === 'ol'
const breakPiece: Piece = { text: softBreak, marks: {}, keepsSpace: false }
const isBreak = (piece: Piece | undefined) => piece?.text === softBreak

const mostUnkept = 50
const columns = 'the columns of a table'
const innerLinks = 'links to places within the text'
const comments = 'comments'

/** More pieces in a line are not looked through again, to take linear time. */
const mostBlankPieces = 20

/** UTF-16 units of a code block's heading and buttons. */
const mostHeading = 100

/** Accepts elements and text in document order, from a tokenizer or from a DOM tree. */
export class LineReader {
  readonly #isTree: boolean
  readonly #stack: Context[]
  /** Lines read so far; innermost last: those of table cells. */
  readonly #sinks: Line[][] = [[]]
  readonly #unkept = new Set<string>()
  /** Lines of own HTML. */
  readonly #own = new Set<Line>()
  /** Numbers of `ol` items in the source. */
  readonly #numbers = new Map<Line, number>()
  #kind: Kind = paragraph
  #pieces: Piece[] = []
  #isOwnBlock: boolean
  #formula: { readonly reader: FormulaReader; readonly context: Context; readonly isBlock: boolean } | null =
    null
  /** Whether the formula that KaTeX draws next has been read. */
  #isFormulaRead = false
  /** Label of the footnote whose text comes next. */
  #startingNote: string | null = null
  readonly #notes = new Set<string>()
  /** By a called footnote's label: the number or sign that the source shows. */
  readonly #calls = new Map<string, string>()

  /** `isTree`: the input is a DOM, where text between blocks is never just the source's layout. */
  constructor({ isOwn, isTree = true }: { isOwn: boolean; isTree?: boolean }) {
    this.#isTree = isTree
    this.#isOwnBlock = isOwn
    this.#stack = [
      {
        tag: '',
        marks: {},
        kind: paragraph,
        depth: 0,
        keepsSpace: isOwn,
        isHidden: false,
        isOwn,
        isBlock: true,
        isBesideCode: false,
        hasCode: false,
        before: 0,
        next: null,
        cells: null,
        isNumbered: false,
        marker: null,
        noteLink: null,
      },
    ]
  }

  /** Position of the next character of own HTML: a line, and the offset in UTF-16 units. */
  get place(): { line: number; offset: number } {
    return { line: this.#lines.length, offset: this.#pieces.reduce((sum, { text }) => sum + text.length, 0) }
  }

  /** `tag` is in lower case. Void elements are not closed. */
  open(tag: string, attribute: Opening['attribute']): void {
    if (this.#formula) {
      if (!voidTags.has(tag)) this.#formula.reader.open(tag, attribute)
      return
    }
    const outer = this.#top
    if (tag === 'br') {
      if (!outer.isHidden && !outer.isBesideCode) this.#break()
      return
    }
    const styles = stylesOf(attribute('style'))
    const opening = { tag, attribute, styles }
    const isOwn = outer.isOwn || attribute('data-crosswind') !== null
    const isHidden =
      outer.isHidden ||
      skippedTags.has(tag) ||
      attribute('hidden') !== null ||
      styles.get('display')?.startsWith('none') ||
      styles.get('mso-hide') === 'all' ||
      this.#isBesideText(opening, outer, isOwn)
    const noteLink = isHidden || isOwn || tag !== 'a' ? null : noteLinkIn(attribute)
    const marks = isHidden || noteLink ? outer.marks : this.#marksIn(opening, outer, isOwn)
    const space = spaceIn(styles)
    const context: Context = {
      tag,
      marks,
      kind: outer.kind,
      depth: outer.depth,
      keepsSpace: isOwn || (space === null ? tag !== 'pre' && outer.keepsSpace : space !== 'normal'),
      isHidden,
      isOwn,
      isBlock: false,
      isBesideCode: outer.isBesideCode && tag !== 'code',
      hasCode: false,
      before: this.#lines.length,
      next: null,
      cells: null,
      isNumbered: false,
      marker: null,
      noteLink: null,
    }
    const push = (more: Partial<Context> = {}) => void this.#stack.push({ ...context, ...more })
    if (isHidden) {
      if (!voidTags.has(tag)) push()
    } else if (noteLink) push({ isHidden: true, marker: '', noteLink })
    else if (tag === 'math' && !this.#isTree) {
      const reader = new FormulaReader(attribute('alttext'))
      this.#formula = { reader, context, isBlock: attribute('display') === 'block' }
    } else if (tag === 'img') this.#image(attribute, context)
    else if (attribute('data-image') !== null) {
      this.#image((name) => (name === 'alt' ? attribute('data-image') : null), context)
      push({ isHidden: true })
    } else if (media.has(tag)) {
      this.#name(media.get(tag) ?? '', nameOf(attribute), context)
      if (!voidTags.has(tag)) push({ isHidden: true })
    } else if (tag === 'input') {
      if (attribute('type')?.toLowerCase() === 'checkbox') this.#box(attribute('checked') !== null, context)
    } else if (tag === 'hr') {
      this.#startBlock(outer.kind, isOwn)
      this.#note('a horizontal rule')
    } else if (voidTags.has(tag)) return
    else if (styles.get('mso-list') === 'ignore') push({ isHidden: true, marker: '' })
    else if (tag === 'q') {
      this.#add('“', context)
      push()
    } else if (tag === 'table' && !isOwn) {
      const kind = kindInTable(outer.kind)
      this.#startBlock(kind, isOwn)
      push({ kind, isBlock: true })
    } else if (tag === 'tr' && !isOwn) push({ kind: kindInTable(outer.kind), cells: [], isBlock: true })
    else if ((tag === 'td' || tag === 'th') && !isOwn) this.#openCell(opening, push)
    else if (tag === 'td' || tag === 'th') {
      if (this.#pieces.length > 0) this.#add(' | ', context)
      push()
    } else if (isBlock(tag, styles.get('display') ?? '')) this.#openBlock(opening, context, push)
    else if (tag === 'code' && outer.kind.tag === 'pre') this.#openCode(attribute, context, push)
    else push()
  }

  close(tag: string): void {
    if (this.#formula) {
      if (this.#formula.reader.close(tag)) this.#endFormula()
      return
    }
    const top = this.#top
    if (top.tag !== tag || this.#stack.length === 1) return
    this.#stack.pop()
    const outer = this.#top
    if (top.noteLink) this.#endNoteLink(top.noteLink, top.marker ?? '')
    else if (top.marker !== null) this.#takeMarker(top.marker)
    if (top.isHidden) return
    if (tag === 'q') this.#add('”', top)
    else if (tag === 'tr' && top.cells) this.#closeRow(top.cells, outer)
    else if ((tag === 'td' || tag === 'th') && !top.isOwn) this.#closeCell(top, outer)
    else if (top.isBlock) this.#closeBlock(top, outer)
  }

  text(chars: string): void {
    if (this.#formula) {
      this.#formula.reader.text(chars)
      return
    }
    const top = this.#top
    if (top.isHidden) {
      const marked = this.#stack.findLast(({ marker }) => marker !== null)
      const all = `${marked?.marker ?? ''}${chars}`
      if (marked) marked.marker = marked.noteLink ? all : cutText(all, 40)
    }
    if (top.isHidden || top.isBesideCode || chars === '') return
    if (!top.isOwn) {
      this.#add(chars, top)
      return
    }
    const isCode = top.kind.tag === 'pre'
    if (!this.#isTree && !isCode) {
      const isBetween = this.#pieces.length === 0 && chars.includes('\n') && chars.trim() === ''
      if (!isBetween) this.#add(withoutLayout(chars), top)
      return
    }
    for (const [place, piece] of withoutReturns(chars).split('\n').entries()) {
      if (place > 0 && isCode) this.#endLine(true)
      else if (place > 0) this.#break()
      if (piece !== '') this.#add(piece, top)
    }
  }

  finish(): Reading {
    this.#endFormula()
    while (this.#stack.length > 1) this.close(this.#top.tag)
    this.#endLine(false)
    const read = this.#lines
    const lines = withDepths(numbered(read, this.#numbers), (place) => this.#own.has(read[place] as Line))
    return { lines: this.#withoutLooseCalls(lines), unkept: [...this.#unkept] }
  }

  get #top(): Context {
    return this.#stack.at(-1) as Context
  }

  get #lines(): Line[] {
    return this.#sinks.at(-1) as Line[]
  }

  #note(words: string): void {
    if (this.#unkept.size < mostUnkept) this.#unkept.add(words)
  }

  /** Whether no text of the line has been read. */
  #isBlank(): boolean {
    return this.#pieces.length < mostBlankPieces && this.#pieces.every(({ text }) => text.trim() === '')
  }

  #add(given: string, { marks, keepsSpace, isOwn }: Pick<Context, 'marks' | 'keepsSpace' | 'isOwn'>): void {
    const isStart = this.#startingNote !== null && given.trim() !== ''
    const text = isStart ? given.trimStart() : given
    if (isStart) this.#startNote()
    if (this.#pieces.length === 0) this.#isOwnBlock = isOwn
    const last = this.#pieces.at(-1)
    if (
      last &&
      last.marks === marks &&
      last.keepsSpace === keepsSpace &&
      !isBreak(last) &&
      text !== softBreak
    )
      this.#pieces[this.#pieces.length - 1] = { ...last, text: last.text + text }
    else this.#pieces.push({ text, marks, keepsSpace })
  }

  /** Code begins after the line that names its note. */
  #startNote(): void {
    const label = this.#startingNote ?? ''
    this.#startingNote = null
    this.#notes.add(label)
    const start = { text: startOfNote(label), marks: {}, keepsSpace: true }
    if (this.#kind.tag === 'pre') this.#push(paragraph, [{ ...start, text: start.text.trimEnd() }])
    else this.#pieces = [start]
  }

  #break(): void {
    const { isOwn, kind, marks } = this.#top
    if (isOwn && kind.tag === 'pre' && !this.#isTree) this.#endLine(true)
    else if (isOwn) this.#add(softBreak, { marks, keepsSpace: true, isOwn })
    else this.#pieces.push(breakPiece)
  }

  // Blocks

  #startBlock(kind: Kind, isOwn: boolean): void {
    this.#endLine(false)
    this.#kind = kind
    this.#isOwnBlock = isOwn
  }

  /** Ends the open line or block of lines. */
  #endLine(mayBeEmpty: boolean): void {
    const pieces = this.#pieces
    const kind = this.#kind
    this.#pieces = []
    if (this.#isOwnBlock) {
      if (pieces.length === 0 && !mayBeEmpty) return
      // A break at the end of a block has no visible effect.
      if (isBreak(pieces.at(-1))) pieces.pop()
      this.#push(kind, pieces)
    } else
      for (const line of kind.tag === 'pre' ? codeIn(pieces) : shownIn(pieces, isList(kind)))
        this.#push(kind, line)
  }

  #push({ tag: given, level, align, language, number, item }: Kind, pieces: readonly Piece[]): void {
    // After code or a heading in an item, the item's text continues without a marker.
    const isContinued = item?.hasLine && !this.#isOwnBlock && !listOf(this.#lines.at(-1)?.block ?? '')
    const tag = isContinued ? 'p' : given
    if (item) item.hasLine = true
    const runs: Run[] = []
    for (const { text, marks } of pieces) {
      const last = runs.at(-1)
      if (last && sameMarks(last.marks, marks)) runs[runs.length - 1] = { text: last.text + text, marks }
      else runs.push({ text, marks })
    }
    const block = tag === 'ul' || tag === 'ol' ? `${tag}${Math.min(Math.max(level, 1), deepestLevel)}` : tag
    const line: Line = { ...formatOf({ block, align, language }), runs }
    if (tag === 'ol' && number !== null) this.#numbers.set(line, number)
    if (this.#isOwnBlock) this.#own.add(line)
    // Further lines of an item have no number.
    if (number !== null) this.#kind = { ...this.#kind, number: null }
    this.#lines.push(line)
  }

  #openBlock(opening: Opening, { isOwn, marks }: Context, push: (more: Partial<Context>) => void): void {
    const { tag, attribute } = opening
    const outer = this.#top
    const note = isOwn || !noteTags.has(tag) ? null : noteNamed(attribute('id') ?? '')
    if (note !== null) {
      this.#startBlock(paragraph, isOwn)
      this.#startingNote = note
      push({ kind: paragraph, isBlock: true })
      return
    }
    const align = alignIn(opening)
    if (tag === 'ul' || tag === 'ol' || tag === 'menu') {
      const list = tag === 'ol' ? 'ol' : 'ul'
      const kind = { ...paragraph, tag: list, level: outer.depth + 1 } as const
      this.#startBlock(kind, isOwn)
      push({
        kind,
        depth: outer.depth + 1,
        next: tag === 'ol' ? numberIn(attribute('start'), 1) : null,
        isBlock: true,
      })
      return
    }
    if (tag === 'li') {
      const list = isList(outer.kind) ? outer.kind : ({ ...paragraph, tag: 'ul', level: 1 } as const)
      const number = outer.next === null ? null : numberIn(attribute('value'), outer.next)
      if (outer.next !== null) outer.next = (number ?? outer.next) + 1
      const level = isOwn ? numberIn(attribute('data-level'), list.level) : list.level
      const kind = { ...list, level, number, align, item: { hasLine: false } }
      this.#startBlock(kind, isOwn)
      push({ kind: { ...kind, number: null }, isBlock: true, before: this.#lines.length })
      if (attribute('role') === 'checkbox') this.#box(attribute('aria-checked') === 'true', this.#top)
      return
    }
    const kind = this.#kindOf(opening, outer.kind, align)
    const isSame = kind.tag === outer.kind.tag && kind.level === outer.kind.level
    if (!isOwn && isSame && (kind.tag === 'pre' || isList(kind))) {
      // Starts another line of the same item or code block.
      if (this.#pieces.length > 0 && !isBreak(this.#pieces.at(-1))) this.#break()
      push({ isBlock: true })
    } else {
      const isUnread = isOwn && isSame && outer.isBlock && this.#pieces.length === 0
      if (isUnread) this.#kind = { ...kind, number: this.#kind.number }
      else this.#startBlock(kind, isOwn)
      push({
        kind,
        isBlock: true,
        before: this.#lines.length,
        ...(tag === 'dt' && { marks: { ...marks, bold: true as const } }),
      })
    }
  }

  #closeBlock(top: Context, outer: Context): void {
    this.#startingNote = null
    if (top.isOwn) {
      const isContainer = /^(ul|ol|menu|table|tbody|thead|tfoot|tr|body|html|dl)$/.test(top.tag)
      const isEmpty = this.#lines.length === top.before && this.#pieces.length === 0
      if (isEmpty && !isContainer) this.#isOwnBlock = true
      this.#endLine(isEmpty && !isContainer)
      this.#kind = outer.kind
    } else if (
      top.kind === outer.kind &&
      outer.isBlock &&
      (top.kind.tag === 'pre' || isList(top.kind)) &&
      top.tag !== 'li'
    ) {
      if (this.#pieces.length > 0 && !isBreak(this.#pieces.at(-1))) this.#break()
    } else {
      this.#endLine(false)
      // An empty item still shows its marker.
      if (top.tag === 'li' && isList(top.kind) && this.#lines.length === top.before) this.#push(top.kind, [])
      this.#startBlock(outer.kind, outer.isOwn)
    }
  }

  #kindOf({ tag, attribute, styles }: Opening, outer: Kind, own: string | null): Kind {
    const align = own ?? outer.align
    const word = /level(\d)/.exec(styles.get('mso-list') ?? '')?.[1]
    // Until the marker shows whether it is numbered.
    if (word) return { ...paragraph, tag: 'ul', level: Math.min(Number(word), deepestLevel), align: own }
    const space = spaceIn(styles) ?? 'normal'
    const isCodeBox =
      space !== 'normal' && /mono|consolas|courier|menlo/.test(styles.get('font-family') ?? '')
    const isCodeCell =
      cellTags.has(tag) &&
      (space === 'pre' || this.#top.isNumbered || codeCells.test(attribute('class') ?? ''))
    if (tag === 'pre' || isCodeBox || isCodeCell)
      return {
        ...paragraph,
        tag: 'pre',
        align: this.#top.isOwn ? align : null,
        language: languageIn(attribute) ?? outer.language,
      }
    const { isOwn } = this.#top
    // Text inside an item or a code block stays part of it.
    if (!isOwn && (isList(outer) || outer.tag === 'pre')) return outer
    const name = attribute('class') ?? ''
    const heading = headings.has(tag)
      ? tag
      : /^MsoTitle/.test(name)
        ? 'h1'
        : /^MsoSubtitle/.test(name)
          ? 'h2'
          : null
    if (heading) return { ...paragraph, tag: heading as BlockTag, align }
    if (tag === 'blockquote' || /^Mso(?:Intense)?Quote/.test(name))
      return { ...paragraph, tag: 'blockquote', align }
    const language = isOwn ? null : languageNamed(name)
    return align === outer.align && language === null ? outer : { ...outer, align, language }
  }

  /**
   * Word writes a list item as a paragraph with `mso-list`, and its marker as a separate element.
   */
  #takeMarker(marker: string): void {
    const number = /^[\s\u00a0]*\(?(?:(\d{1,9})|[a-z]|[ivxlcdm]{1,8})[.)]/i.exec(marker)
    const top = this.#stack.findLast(({ kind, isBlock }) => isBlock && kind.level > 0)
    if (!number || !top) return
    const kind: Kind = { ...top.kind, tag: 'ol' }
    this.#stack[this.#stack.indexOf(top)] = { ...top, kind }
    this.#kind = { ...kind, number: number[1] === undefined ? null : Number(number[1]) }
  }

  // A table row becomes a paragraph, since documents have no tables; one of code, lines of code.

  #openCell(opening: Opening, push: (more: Partial<Context>) => void): void {
    const outer = this.#top
    this.#startBlock(paragraph, false)
    this.#sinks.push([])
    const isHeader = opening.tag === 'th' || this.#stack.at(-2)?.tag === 'thead'
    const kind = this.#kindOf(opening, kindInTable(outer.kind), alignIn(opening))
    this.#kind = kind
    push({ kind, isBlock: true, ...(isHeader && { marks: { ...outer.marks, bold: true as const } }) })
  }

  #closeCell(top: Context, outer: Context): void {
    this.#endLine(false)
    const lines = this.#sinks.length > 1 ? (this.#sinks.pop() ?? []) : []
    if (outer.cells) outer.cells.push({ lines, isCode: top.kind.tag === 'pre' })
    else this.#lines.push(...lines)
    this.#startBlock(outer.kind, false)
  }

  #closeRow(row: readonly Cell[], outer: Context): void {
    this.#startBlock(outer.kind, outer.isOwn)
    const { code, cells } = splitRow(row)
    if (cells.length === 1) this.#lines.push(...(cells[0]?.lines ?? []))
    else if (cells.some(({ lines }) => lines.length > 0)) {
      this.#note(columns)
      const runs = cells.flatMap(({ lines }, index) => [
        ...(index > 0 ? [{ text: ' | ', marks: {} }] : []),
        ...lines.flatMap((line, place) => [
          ...(place > 0 ? [{ text: ' ', marks: {} }] : []),
          ...line.runs.map(({ text, marks }) => ({ text: text.replaceAll(softBreak, ' '), marks })),
        ]),
      ])
      this.#push(paragraph, shownSpace(runs.map((run) => ({ ...run, keepsSpace: false }))))
    }
    // An empty cell is an empty line of code.
    const empty: Line = { ...formatOf({ block: 'pre', language: this.#lines.at(-1)?.language }), runs: [] }
    for (const { lines } of code)
      for (const line of lines.length > 0 ? lines : [empty]) this.#lines.push(line)
  }

  // What is not text, or belongs to no line

  /**
   * Whether it is a comment, a line number, or hidden; or a drawing of something that is read, as
   * the source tells assistive technology.
   */
  #isBesideText({ tag, attribute, styles }: Opening, outer: Context, isOwn: boolean): boolean {
    // In an editor everything is text.
    if (this.#isTree) return false
    const name = attribute('class') ?? ''
    if (/(?:^|\s)katex(?:\s|$)/.test(name)) this.#isFormulaRead = false
    const isOnlyDrawn =
      (tag === 'img' && isFormula(attribute)) ||
      (/(?:^|\s)katex-html(?:\s|$)/.test(name) && !this.#isFormulaRead)
    if (attribute('aria-hidden') === 'true' && !isOnlyDrawn) return true
    if (/^(?:hidden|collapse)/.test(styles.get('visibility') ?? '')) return true
    if (isOwn) return false
    if (/(?:^|\s)(?:MsoComment(?:Text|Subject)|msocomtxt)/.test(name) || isComment(styles)) {
      this.#note(comments)
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
      this.#note(comments)
      const start = this.#stack.findLastIndex(({ isBlock }) => isBlock)
      for (let place = Math.max(start, 1); place < this.#stack.length; place += 1)
        this.#stack[place] = { ...(this.#stack[place] as Context), isHidden: true }
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
    if (language !== null) this.#kind = { ...this.#kind, language }
    if (!isOwn && this.#pieces.length < mostBlankPieces) this.#dropHeading(language ?? kind.language)
    push(language === null ? {} : { kind: { ...kind, language } })
  }

  #dropHeading(language: string | null): void {
    const block = this.#stack.findLastIndex(({ isBlock, tag }) => isBlock && tag === 'pre')
    const pre = this.#stack[block]
    if (pre?.hasCode) return
    if (pre) pre.hasCode = true
    const before = textIn(this.#pieces)
    const last = this.#lines.at(-1)
    const isBoxed = block >= 0 && this.#stack.some(({ isBlock }, place) => place > block && isBlock)
    const isAtStart = textIn(this.#pieces.slice(this.#pieces.findLastIndex(isBreak) + 1)) === ''
    const isHeaded = before === '' ? language !== null : before.length <= mostHeading
    if (isBoxed && isAtStart && isHeaded) {
      this.#pieces = []
      for (let place = block; place < this.#stack.length; place += 1)
        this.#stack[place] = { ...(this.#stack[place] as Context), isBesideCode: true }
    } else if (language !== null && before.toLowerCase() === language.toLowerCase()) this.#pieces = []
    else if (before === '' && last?.block === 'p' && textOf([last]) === language) this.#lines.pop()
  }

  #endFormula(): void {
    if (!this.#formula) return
    const { reader, context, isBlock } = this.#formula
    this.#formula = null
    this.#isFormulaRead = true
    const text = reader.finish()
    if (text === '') return
    if (isBlock && this.#pieces.length > 0 && !isBreak(this.#pieces.at(-1))) this.#break()
    this.#add(text, context)
    if (isBlock) this.#break()
  }

  #endNoteLink({ label, isCall, href }: NoteLink, words: string): void {
    const outer = this.#top
    if (isCall && isCallSign(words)) {
      const marks: { -readonly [Name in keyof Marks]: Marks[Name] } = { ...outer.marks }
      delete marks.script
      this.#calls.set(label, words.trim())
      this.#add(callOf(label), { ...outer, marks })
    } else if (isCall) {
      const link = href.startsWith('#') ? null : safeLink(href)
      if (link === null) this.#note(innerLinks)
      this.#add(words, { ...outer, marks: link === null ? outer.marks : { ...outer.marks, link } })
    } else if (this.#isBlank() && !this.#notes.has(label)) this.#startingNote = label
  }

  /** A call without its note, as in a part of a text, becomes what the source shows. */
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

  // Inline content

  #marksIn({ tag, attribute, styles }: Opening, { marks: outer, kind }: Context, isOwn: boolean): Marks {
    // In a code block, `code` adds no mark but may name the language.
    const isNoMark = kind.tag === 'pre' && tag === 'code' && (!isOwn || languageIn(attribute) !== null)
    const element = isNoMark ? {} : (marksOfElement.get(tag) ?? {})
    const marks: { -readonly [Name in keyof Marks]: Marks[Name] } = { ...outer, ...element }
    const set = (name: 'bold' | 'italic', isOn: boolean) => {
      if (isOn) marks[name] = true
      else delete marks[name]
    }
    const weight = styles.get('font-weight')
    // Headings have weight 700 by default.
    if (weight) set('bold', weightIn(weight) >= (headings.has(kind.tag) ? 701 : 600))
    const slant = styles.get('font-style')
    if (slant) set('italic', /^(?:italic|oblique)/.test(slant))
    const drawn = `${styles.get('text-decoration') ?? ''} ${styles.get('text-decoration-line') ?? ''}`
    if (drawn.includes('line-through')) marks.strike = true
    if (drawn.includes('underline')) marks.underline = true
    const height = styles.get('vertical-align')
    if (height === 'super' || height === 'sub') marks.script = height
    if (tag === 'a') {
      const href = attribute('href')?.trim() ?? ''
      const link = safeLink(href) ?? safeLink(encodeSpaces(href))
      delete marks.link
      // The document has no such places: the address would be that of the page.
      if (href.startsWith('#') && !isOwn) {
        if (href !== '#') this.#note(innerLinks)
      } else if (link !== null) marks.link = link
      else if (href !== '') this.#note(`the address ${excerptOf(href, mostName)}`)
    }
    // Headings are bold in any case.
    if (headings.has(tag)) delete marks.bold
    if (isOwn) return marks
    // Links are underlined in any case.
    if (marks.link !== undefined) delete marks.underline
    if (kind.tag === 'pre' || tag === 'pre') return {}
    return marks
  }

  #image(attribute: Opening['attribute'], context: Context): void {
    const { isOwn, marks } = context
    if (!isOwn && isFormula(attribute)) {
      this.#add(texIn(attribute('alt') ?? ''), context)
      return
    }
    const given = attribute('src') ?? ''
    const image = safeImage({ src: given.replaceAll(/\s/g, ''), alt: attribute('alt') ?? '' })
    if (isOwn && image && (image.src !== '' || given === ''))
      this.#add(imageCharacter, { ...context, marks: { ...marks, image } })
    // Tracking pixels of web pages and mails.
    else if (['width', 'height'].some((side) => Number(attribute(side) ?? 2) <= 1)) return
    else if (image?.src) {
      const alt = shortened(image.alt)
      this.#add(imageCharacter, { ...context, marks: { ...marks, image: { ...image, alt } } })
    } else {
      const link = marks.link ?? (/^https?:/i.test(given) ? safeLink(encodeSpaces(given)) : null)
      this.#name('image', nameOf(attribute), {
        ...context,
        marks: { ...marks, ...(link !== null && { link }) },
      })
    }
  }

  /** Inserts a placeholder for what cannot be kept. */
  #name(what: string, name: string, context: Context): void {
    this.#note(name || what)
    this.#add(name ? `[${what}: ${name}]` : `[${what}]`, context)
  }

  #box(isChecked: boolean, context: Context): void {
    this.#add(isChecked ? '☑ ' : '☐ ', context)
  }
}

/** Marks by element name; links are handled separately. */
const marksOfElement: ReadonlyMap<string, Marks> = new Map(
  Object.entries<Marks>({
    'b strong': { bold: true },
    'i em cite dfn var': { italic: true },
    'u ins': { underline: true },
    's strike del': { strike: true },
    'code kbd samp tt': { code: true },
    sub: { script: 'sub' },
    sup: { script: 'super' },
  }).flatMap(([tags, marks]) => tags.split(' ').map((tag) => [tag, marks] as const)),
)

/** Lists that skip a level get the visible depth, except in own HTML that states levels. */
function withDepths(lines: readonly Line[], isOwn: (place: number) => boolean): Line[] {
  const depths = depthsOf(lines)
  return lines.map((line, place) => {
    const list = listOf(line.block)
    return list && !isOwn(place) && list.level !== depths[place]
      ? { ...line, block: `${list.kind}${depths[place]}` }
      : line
  })
}

/** Gives an `ol` item a start if its number does not follow from the lines before it. */
function numbered(lines: readonly Line[], numbers: ReadonlyMap<Line, number>): Line[] {
  /** For each open list: its level, kind, and the number of its last item. */
  let open: { level: number; kind: string; number: number }[] = []
  return lines.map((line) => {
    const list = listOf(line.block)
    open = open.filter(({ level }) => level <= (list?.level ?? 0))
    if (!list) return line
    const last = open.at(-1)
    const isNext = last?.level === list.level && last.kind === list.kind
    const expected = isNext ? last.number + 1 : 1
    const number = numbers.get(line) ?? expected
    if (last?.level === list.level) open.pop()
    open.push({ level: list.level, kind: list.kind, number })
    return list.kind === 'ol' && number !== expected ? { ...line, start: number } : line
  })
}

/** Chromium makes block elements inline when it inserts them into a line. */
function isBlock(tag: string, display: string): boolean {
  return display.startsWith('block') || (blockTags.has(tag) && !display.startsWith('inline'))
}

/** CSS `font-weight` as a number; NaN for `normal` and the like. */
function weightIn(value: string): number {
  if (value.startsWith('bolder')) return 900
  return value.startsWith('bold') ? 700 : Number.parseInt(value, 10)
}

function numberIn(value: string | null, otherwise: number): number {
  const number = value === null || value.trim() === '' ? Number.NaN : Number(value)
  return Number.isInteger(number) && number >= 0 && number <= 999_999_999 ? number : otherwise
}

function stylesOf(style: string | null): ReadonlyMap<string, string> {
  const styles = new Map<string, string>()
  for (const declaration of style?.toLowerCase().split(';') ?? []) {
    const [name = '', ...value] = declaration.split(':')
    if (name !== '' && value.length > 0) styles.set(name.trim(), value.join(':').trim())
  }
  return styles
}

/** CSS `white-space`, or the properties for which it stands; null if not set. */
function spaceIn(styles: ReadonlyMap<string, string>): 'normal' | 'pre' | 'pre-wrap' | null {
  const value = styles.get('white-space')
  if (value !== undefined) {
    if (value === 'pre') return 'pre'
    return /^(?:pre-wrap|break-spaces)$/.test(value) ? 'pre-wrap' : 'normal'
  }
  const collapse = styles.get('white-space-collapse')
  if (collapse === undefined) return null
  if (!/^(?:preserve|break-spaces)$/.test(collapse)) return 'normal'
  const wrap = styles.get('text-wrap-mode') ?? styles.get('text-wrap') ?? ''
  return wrap.startsWith('nowrap') ? 'pre' : 'pre-wrap'
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
  const place = href.indexOf('#')
  if (place < 0) return ''
  const fragment = href.slice(place + 1)
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

function noteLinkIn(attribute: Opening['attribute']): NoteLink | null {
  const href = attribute('href')?.trim() ?? ''
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
  return numbers.length > 0 && numbers.every((number, place) => number === (numbers[0] ?? 0) + place)
}

/**
 * Also returns `left` and `start`, which a line does not store but which end the surrounding
 * alignment. Null if not set.
 */
function alignIn({ tag, attribute, styles }: Opening): string | null {
  const value = tag === 'center' ? tag : (styles.get('text-align') ?? attribute('align')?.toLowerCase())
  return value && /^(?:left|start|center|right|justify)$/.test(value) ? value : null
}

/**
 * As in highlighters' and Markdown's class names: `language-js`, `lang-js`, `highlight-source-js`;
 * `data-language` in the editor.
 */
function languageIn(attribute: Opening['attribute']): string | null {
  const named = attribute('data-language') ?? attribute('lang')
  return (
    formatOf({ block: 'pre', language: languageNamed(attribute('class') ?? '') ?? named }).language ?? null
  )
}

const languageNamed = (names: string) =>
  /(?:^|\s)(?:language|lang|highlight-source)-([\w+#.-]+)/.exec(names)?.[1] ?? null

const encodeSpaces = (href: string) =>
  /[\p{Cc}]/u.test(href) ? href : href.replaceAll(/[\s\\]/g, encodeURIComponent)

const mostName = 60

/** The description of an image or another medium, or its file's name. */
function nameOf(attribute: Opening['attribute']): string {
  const alt = shortened(attribute('alt') ?? '') || shortened(attribute('title') ?? '')
  if (alt) return alt
  const src = attribute('src') ?? ''
  if (/^(?:data|blob):/i.test(src)) return ''
  const file = src.split(/[?#]/)[0]?.split(/[/\\]/).at(-1) ?? ''
  try {
    return shortened(decodeURIComponent(file))
  } catch {
    return shortened(file)
  }
}

/** A name on one line, of at most 60 UTF-16 units. */
export function shortened(name: string): string {
  const line = withoutHalves(name).replaceAll(/[\s\p{Cc}]+/gu, ' ')
  return excerptOf(line.trim(), mostName)
}

/** Replaces a line feed and the spaces around it with one space. */
function withoutLayout(text: string): string {
  if (!text.includes('\n')) return text
  const lines = text.split('\n')
  const last = lines.length - 1
  return lines
    .map((line, place) => {
      let start = 0
      let end = line.length
      while (place > 0 && start < end && /[ \t\r]/.test(line[start] ?? '')) start += 1
      while (place < last && end > start && /[ \t\r]/.test(line[end - 1] ?? '')) end -= 1
      return line.slice(start, end)
    })
    .filter((line, place) => line !== '' || place === 0 || place === last)
    .join(' ')
}

export const withoutReturns = (text: string) => text.replaceAll(/\r\n?/g, '\n')

// White space of foreign HTML

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
