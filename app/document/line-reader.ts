// Reads HTML elements in document order as a document's lines: those of its own editor.

import { excerptOf, withoutHalves } from '../../protocol/graphemes.ts'
import {
  deepestLevel,
  formatOf,
  imageCharacter,
  type Line,
  listOf,
  type Marks,
  safeImage,
  safeLink,
  sameMarks,
  softBreak,
  type TextRun,
} from './rich-text.ts'

export interface Reading {
  readonly lines: Line[]
  /** Content kept only as words, or not at all: names of images and files, "the columns of a table". */
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
export const headings = words('h1 h2 h3 h4 h5 h6')

type BlockTag = 'p' | 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6' | 'blockquote' | 'pre' | 'ul' | 'ol'

export interface Kind {
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

export interface Piece {
  readonly text: string
  readonly marks: Marks
  /** CSS `white-space: pre` or `pre-wrap`. */
  readonly keepsSpace: boolean
}

/** An element that begins. */
export interface Opening {
  readonly tag: string
  readonly attribute: (name: string) => string | null
  readonly styles: ReadonlyMap<string, string>
}

export interface Context {
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

export interface Cell {
  readonly lines: readonly Line[]
  /** Whether the cell itself is code by its style, its class or its table's place. */
  readonly isCode: boolean
}

/** A link to a footnote, or from it back to its call. */
export interface NoteLink {
  readonly label: string
  readonly isCall: boolean
  readonly href: string
}

export const paragraph: Kind = { tag: 'p', level: 0, align: null, language: null, number: null }
export const isList = ({ tag }: Kind) => tag === 'ul' || tag === 'ol'
export const isBreak = (piece: Piece | undefined) => piece?.text === softBreak

const maxUnkept = 50

/**
 * Accepts elements and text in document order. By itself it reads an editor's DOM, where text between blocks is
 * never just the source's layout.
 */
export class LineReader {
  protected readonly stack: Context[]
  /** Lines read so far; innermost last: those of table cells. */
  protected readonly sinks: Line[][] = [[]]
  readonly #unkept = new Set<string>()
  /** Numbers of `ol` items in the source. */
  readonly #numbers = new Map<Line, number>()
  protected kind: Kind = paragraph
  protected pieces: Piece[] = []
  protected isOwnBlock: boolean

  /** `isOwn`: the outermost elements are the document's own HTML. */
  constructor(isOwn = true) {
    this.isOwnBlock = isOwn
    this.stack = [
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
    return { line: this.lines.length, offset: this.pieces.reduce((sum, { text }) => sum + text.length, 0) }
  }

  /** `tag` is in lower case. Void elements are not closed. */
  open(tag: string, attribute: Opening['attribute']): void {
    const outer = this.top
    if (tag === 'br') {
      if (!outer.isHidden) this.break()
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
      this.isBesideText(opening, outer, isOwn)
    const marks = isHidden ? outer.marks : this.#marksIn(opening, outer, isOwn)
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
      before: this.lines.length,
      next: null,
      cells: null,
      isNumbered: false,
      marker: null,
      noteLink: null,
    }
    const push = (more: Partial<Context> = {}) => void this.stack.push({ ...context, ...more })
    if (isHidden) {
      if (!voidTags.has(tag)) push()
    } else if (this.openForeign(opening, context, push)) return
    else if (tag === 'img') this.#image(attribute, context)
    else if (attribute('data-image') !== null) {
      this.#image((name) => (name === 'alt' ? attribute('data-image') : null), context)
      push({ isHidden: true })
    } else if (tag === 'hr') {
      this.startBlock(outer.kind, isOwn)
      this.note('a horizontal rule')
    } else if (voidTags.has(tag)) return
    else if (tag === 'q') {
      this.add('“', context)
      push()
    } else if (tag === 'td' || tag === 'th') {
      if (this.pieces.length > 0) this.add(' | ', context)
      push()
    } else if (isBlock(tag, styles.get('display') ?? '')) this.#openBlock(opening, context, push)
    else {
      const language = outer.kind.tag === 'pre' && tag === 'code' ? languageIn(attribute) : null
      if (language !== null) this.kind = { ...this.kind, language }
      push(language === null ? {} : { kind: { ...outer.kind, language } })
    }
  }

  close(tag: string): void {
    const top = this.top
    if (top.tag !== tag || this.stack.length === 1) return
    this.stack.pop()
    const outer = this.top
    if (this.closeForeign(top, outer)) return
    if (top.isHidden) return
    if (tag === 'q') this.add('”', top)
    else if (top.isBlock) this.closeBlock(top, outer)
  }

  text(chars: string): void {
    const top = this.top
    if (top.isHidden || chars === '') return
    const isCode = top.kind.tag === 'pre'
    for (const [index, piece] of withoutReturns(chars).split('\n').entries()) {
      if (index > 0 && isCode) this.endLine(true)
      else if (index > 0) this.break()
      if (piece !== '') this.add(piece, top)
    }
  }

  finish(): Reading {
    while (this.stack.length > 1) this.close(this.top.tag)
    this.endLine(false)
    return { lines: numbered(this.lines, this.#numbers), unkept: [...this.#unkept] }
  }

  protected get top(): Context {
    return this.stack.at(-1) as Context
  }

  protected get lines(): Line[] {
    return this.sinks.at(-1) as Line[]
  }

  protected note(words: string): void {
    if (this.#unkept.size < maxUnkept) this.#unkept.add(words)
  }

  protected add(
    text: string,
    { marks, keepsSpace, isOwn }: Pick<Context, 'marks' | 'keepsSpace' | 'isOwn'>,
  ): void {
    if (this.pieces.length === 0) this.isOwnBlock = isOwn
    const last = this.pieces.at(-1)
    if (
      last &&
      last.marks === marks &&
      last.keepsSpace === keepsSpace &&
      !isBreak(last) &&
      text !== softBreak
    )
      this.pieces[this.pieces.length - 1] = { ...last, text: last.text + text }
    else this.pieces.push({ text, marks, keepsSpace })
  }

  protected break(): void {
    const { isOwn, marks } = this.top
    this.add(softBreak, { marks, keepsSpace: true, isOwn })
  }

  // Blocks

  protected startBlock(kind: Kind, isOwn: boolean): void {
    this.endLine(false)
    this.kind = kind
    this.isOwnBlock = isOwn
  }

  /** Ends the open line or block of lines. */
  protected endLine(mayBeEmpty: boolean): void {
    const pieces = this.pieces
    const kind = this.kind
    this.pieces = []
    if (pieces.length === 0 && !mayBeEmpty) return
    // A break at the end of a block has no visible effect.
    if (isBreak(pieces.at(-1))) pieces.pop()
    this.push(kind, pieces)
  }

  protected push({ tag, level, align, language, number }: Kind, pieces: readonly Piece[]): void {
    const runs: TextRun[] = []
    for (const { text, marks } of pieces) {
      const last = runs.at(-1)
      if (last && sameMarks(last.marks, marks)) runs[runs.length - 1] = { text: last.text + text, marks }
      else runs.push({ text, marks })
    }
    const block = tag === 'ul' || tag === 'ol' ? `${tag}${Math.min(Math.max(level, 1), deepestLevel)}` : tag
    const line: Line = { ...formatOf({ block, align, language }), runs }
    if (tag === 'ol' && number !== null) this.#numbers.set(line, number)
    // Further lines of an item have no number.
    if (number !== null) this.kind = { ...this.kind, number: null }
    this.lines.push(line)
  }

  #openBlock(opening: Opening, { isOwn, marks }: Context, push: (more: Partial<Context>) => void): void {
    const { tag, attribute } = opening
    const outer = this.top
    const align = alignIn(opening)
    if (tag === 'ul' || tag === 'ol' || tag === 'menu') {
      const list = tag === 'ol' ? 'ol' : 'ul'
      const kind = { ...paragraph, tag: list, level: outer.depth + 1 } as const
      this.startBlock(kind, isOwn)
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
      this.startBlock(kind, isOwn)
      push({ kind: { ...kind, number: null }, isBlock: true, before: this.lines.length })
      if (attribute('role') === 'checkbox') this.box(attribute('aria-checked') === 'true', this.top)
      return
    }
    const kind = this.kindOf(opening, outer.kind, align)
    const isSame = kind.tag === outer.kind.tag && kind.level === outer.kind.level
    if (!isOwn && isSame && (kind.tag === 'pre' || isList(kind))) {
      // Starts another line of the same item or code block.
      if (this.pieces.length > 0 && !isBreak(this.pieces.at(-1))) this.break()
      push({ isBlock: true })
    } else {
      const isUnread = isOwn && isSame && outer.isBlock && this.pieces.length === 0
      if (isUnread) this.kind = { ...kind, number: this.kind.number }
      else this.startBlock(kind, isOwn)
      push({
        kind,
        isBlock: true,
        before: this.lines.length,
        ...(tag === 'dt' && { marks: { ...marks, bold: true as const } }),
      })
    }
  }

  protected closeBlock(top: Context, outer: Context): void {
    const isContainer = /^(ul|ol|menu|table|tbody|thead|tfoot|tr|body|html|dl)$/.test(top.tag)
    const isEmpty = this.lines.length === top.before && this.pieces.length === 0
    if (isEmpty && !isContainer) this.isOwnBlock = true
    this.endLine(isEmpty && !isContainer)
    this.kind = outer.kind
  }

  protected kindOf({ tag, attribute, styles }: Opening, outer: Kind, own: string | null): Kind {
    const align = own ?? outer.align
    const space = spaceIn(styles) ?? 'normal'
    const isCodeBox =
      space !== 'normal' && /mono|consolas|courier|menlo/.test(styles.get('font-family') ?? '')
    if (tag === 'pre' || isCodeBox)
      return {
        ...paragraph,
        tag: 'pre',
        align: this.top.isOwn ? align : null,
        language: languageIn(attribute) ?? outer.language,
      }
    const { isOwn } = this.top
    // Text inside an item or a code block stays part of it.
    if (!isOwn && (isList(outer) || outer.tag === 'pre')) return outer
    if (headings.has(tag)) return { ...paragraph, tag: tag as BlockTag, align }
    if (tag === 'blockquote') return { ...paragraph, tag: 'blockquote', align }
    const language = isOwn ? null : languageNamed(attribute('class') ?? '')
    return align === outer.align && language === null ? outer : { ...outer, align, language }
  }

  // Content that only other programs' HTML has

  /** Whether an element is not text of the document, although it is shown or might be. */
  protected isBesideText(_opening: Opening, _outer: Context, _isOwn: boolean): boolean {
    return false
  }

  /** Opens an element that only other programs' HTML has in this sense; returns whether it did. */
  protected openForeign(
    _opening: Opening,
    _context: Context,
    _push: (more?: Partial<Context>) => void,
  ): boolean {
    return false
  }

  /** Returns whether it closed the element. */
  protected closeForeign(_top: Context, _outer: Context): boolean {
    return false
  }

  /** The address that a link keeps; null if none. */
  protected linkIn(href: string, _isOwn: boolean): string | null {
    const link = safeLink(href) ?? safeLink(encodeSpaces(href))
    if (link === null && href !== '') this.note(`the address ${excerptOf(href, maxName)}`)
    return link
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
      const link = this.linkIn(href, isOwn)
      delete marks.link
      if (link !== null) marks.link = link
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
    const given = attribute('src') ?? ''
    const image = safeImage({ src: given.replaceAll(/\s/g, ''), alt: attribute('alt') ?? '' })
    if (isOwn && image && (image.src !== '' || given === ''))
      this.add(imageCharacter, { ...context, marks: { ...marks, image } })
    // Tracking pixels of web pages and mails.
    else if (['width', 'height'].some((side) => Number(attribute(side) ?? 2) <= 1)) return
    else if (image?.src) {
      const alt = shortened(image.alt)
      this.add(imageCharacter, { ...context, marks: { ...marks, image: { ...image, alt } } })
    } else {
      const link = marks.link ?? (/^https?:/i.test(given) ? safeLink(encodeSpaces(given)) : null)
      this.name('image', nameOf(attribute), {
        ...context,
        marks: { ...marks, ...(link !== null && { link }) },
      })
    }
  }

  /** Inserts a placeholder for what cannot be kept. */
  protected name(what: string, name: string, context: Context): void {
    this.note(name || what)
    this.add(name ? `[${what}: ${name}]` : `[${what}]`, context)
  }

  protected box(isChecked: boolean, context: Context): void {
    this.add(isChecked ? '☑ ' : '☐ ', context)
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
export function spaceIn(styles: ReadonlyMap<string, string>): 'normal' | 'pre' | 'pre-wrap' | null {
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

/**
 * Also returns `left` and `start`, which a line does not store but which end the surrounding
 * alignment. Null if not set.
 */
export function alignIn({ tag, attribute, styles }: Opening): string | null {
  const value = tag === 'center' ? tag : (styles.get('text-align') ?? attribute('align')?.toLowerCase())
  return value && /^(?:left|start|center|right|justify)$/.test(value) ? value : null
}

/**
 * As in highlighters' and Markdown's class names: `language-js`, `lang-js`, `highlight-source-js`;
 * `data-language` in the editor.
 */
export function languageIn(attribute: Opening['attribute']): string | null {
  const named = attribute('data-language') ?? attribute('lang')
  return (
    formatOf({ block: 'pre', language: languageNamed(attribute('class') ?? '') ?? named }).language ?? null
  )
}

const languageNamed = (names: string) =>
  /(?:^|\s)(?:language|lang|highlight-source)-([\w+#.-]+)/.exec(names)?.[1] ?? null

const encodeSpaces = (href: string) =>
  /[\p{Cc}]/u.test(href) ? href : href.replaceAll(/[\s\\]/g, encodeURIComponent)

const maxName = 60

/** The description of an image or another medium, or its file's name. */
export function nameOf(attribute: Opening['attribute']): string {
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
  return excerptOf(line.trim(), maxName)
}

export const withoutReturns = (text: string) => text.replaceAll(/\r\n?/g, '\n')
