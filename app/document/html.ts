// HTML: read as a document's lines, however malformed, and written from lines.

import { type Token, Tokenizer, TokenizerMode } from 'parse5'
import { withoutHalves } from '../../protocol/graphemes.ts'
import { escapeHtml } from '../../protocol/html-text.ts'
import { ForeignReader } from './foreign-reader.ts'
import {
  blockTags,
  headings,
  type LineReader,
  type Reading,
  voidTags,
  withoutReturns,
  words,
} from './line-reader.ts'
import {
  formatOf,
  type InlineNode,
  inlineNodes,
  type Line,
  type ListPart,
  listOf,
  partsOf,
  sameFormat,
  softBreak,
  textOf,
} from './rich-text.ts'

interface ReadingOptions {
  /**
   * Whether the HTML is a document's own, from an editor or an export: text is read unchanged, and
   * empty blocks are empty lines. Other HTML may contain such a part, below an element with the
   * attribute `data-crosswind`.
   */
  readonly isOwn?: boolean
}

/** Takes linear time and memory, however malformed the HTML is. */
export function readHtml(html: string, options: ReadingOptions = {}): Reading {
  const reader = new ForeignReader(options.isOwn ?? false)
  const tags = new TagBalancer(reader)
  const take = ({ chars }: { readonly chars: string }) => tags.text(chars)
  const ignore = () => undefined
  const tokenizer: Tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: false },
    {
      onCharacter: take,
      onWhitespaceCharacter: take,
      onNullCharacter: ignore,
      onComment: ignore,
      onDoctype: ignore,
      onEof: ignore,
      onStartTag(tag) {
        tags.start(tag)
        if (rawTags.has(tag.tagName)) tokenizer.state = TokenizerMode.RAWTEXT
      },
      onEndTag: ({ tagName }) => tags.end(tagName),
    },
  )
  tokenizer.write(withoutHalves(html).replaceAll('\0', ''), true)
  tags.endAll()
  return reader.finish()
}

/** Elements whose content is not markup (WHATWG HTML, 13.2.6.4). */
const rawTags = words('iframe noembed noframes noscript script style template textarea title xmp')

// Tags

/**
 * Start tags that end an open element, and the elements that limit the search for it (WHATWG HTML,
 * 13.1.2.4).
 */
const ended: readonly (readonly [
  by: ReadonlySet<string>,
  tags: ReadonlySet<string>,
  within: ReadonlySet<string>,
])[] = [
  [words('li'), words('li'), words('ul ol menu table td th')],
  [words('dt dd'), words('dt dd'), words('dl table td th')],
  [words('td th'), words('td th'), words('tr table')],
  [words('tr'), words('tr'), words('table')],
  [words('thead tbody tfoot caption'), words('thead tbody tfoot caption tr'), words('table')],
  [words('a'), words('a'), words('table td th')],
  [blockTags, words('p'), words('table td th li dd dt blockquote div section article')],
]
const cellTags = words('table td th caption')
const tableTags = words('table caption thead tbody tfoot tr td th')
const outerTable = words('table')
/**
 * Elements that continue after the end of a block in which they were left open (WHATWG HTML,
 * 13.2.4.3).
 */
const formattingTags = words('a b big code em font i s small strike strong sub sup tt u')

/**
 * Maximum number of open elements: of deeper ones only the text is read, which bounds the time per
 * tag.
 */
const maxOpen = 100
const maxReopened = 8

interface OpenTag {
  readonly tag: string
  readonly attribute: (name: string) => string | null
}

/**
 * Turns a sequence of tags into a tree: closes elements that others end, and repairs crossed tags.
 */
class TagBalancer {
  readonly #reader: LineReader
  readonly #open: OpenTag[] = []
  /** The first line feed within `pre` is ignored. */
  #isAfterPre = false

  constructor(reader: LineReader) {
    this.#reader = reader
  }

  start({ tagName, attrs }: Token.TagToken): void {
    this.#isAfterPre = false
    const tag = tagName === 'image' ? 'img' : tagName
    const attribute = (name: string) => attrs.find((found) => found.name === name)?.value ?? null
    for (const [by, tags, within] of ended) if (by.has(tag)) this.#endWithin(tags, within)
    if (headings.has(tag) && headings.has(this.#open.at(-1)?.tag ?? '')) this.#pop()
    if (voidTags.has(tag)) this.#reader.open(tag, attribute)
    if (voidTags.has(tag)) return
    if (this.#open.length < maxOpen) {
      this.#open.push({ tag, attribute })
      this.#reader.open(tag, attribute)
    } else if (blockTags.has(tag)) {
      this.#reader.open('div', () => null)
      this.#reader.close('div')
    }
    this.#isAfterPre = tag === 'pre'
  }

  text(chars: string): void {
    const text = this.#isAfterPre ? chars.replace(/^\r?\n/, '') : chars
    this.#isAfterPre = false
    this.#reader.text(text)
  }

  end(tag: string): void {
    this.#isAfterPre = false
    if (tag === 'br') this.#reader.open('br', () => null)
    // An end tag without a start tag is an empty paragraph (WHATWG HTML, 13.2.6.4.7).
    if (tag === 'p' && !this.#open.some((open) => open.tag === 'p')) {
      this.#reader.open('p', () => null)
      this.#reader.close('p')
    }
    if (headings.has(tag)) this.#endWithin(headings, cellTags)
    else this.#endWithin(new Set([tag]), tableTags.has(tag) ? outerTable : cellTags)
  }

  endAll(): void {
    while (this.#open.length > 0) this.#pop()
  }

  /**
   * Ends the innermost element in `tags` and everything open in it, unless one in `within` lies
   * between.
   */
  #endWithin(tags: ReadonlySet<string>, within: ReadonlySet<string>): void {
    let index = this.#open.length - 1
    for (; index >= 0; index -= 1) {
      const tag = this.#open[index]?.tag ?? ''
      if (tags.has(tag)) break
      if (within.has(tag)) return
    }
    if (index < 0) return
    const crossed = this.#open.slice(index + 1)
    while (this.#open.length > index) this.#pop()
    const isCell = [...tags].some((tag) => tableTags.has(tag))
    const reopened = isCell ? [] : crossed.filter(({ tag }) => formattingTags.has(tag)).slice(-maxReopened)
    for (const open of reopened) {
      this.#open.push(open)
      this.#reader.open(open.tag, open.attribute)
    }
  }

  #pop(): void {
    const open = this.#open.pop()
    if (open) this.#reader.close(open.tag)
  }
}

// Writing

/** Writes HTML for other programs: a single paragraph gets no block. */
export function writeFragment(lines: readonly Line[]): string {
  const [line] = lines
  const isInline = lines.length === 1 && line?.block === 'p' && line.align === null
  return isInline ? contentHtml(line) : writeHtml(lines)
}

/** Adjacent quotes become one `blockquote` of paragraphs, adjacent lines of code one `pre`. */
export function writeHtml(lines: readonly Line[]): string {
  return groupsOf(lines)
    .map((group) => {
      if ('items' in group) return listHtml(group)
      const { first, members } = group
      const { block, language } = first
      if (block === 'pre') {
        const code = members.map(contentHtml).join('\n')
        // The first line feed within `pre` is ignored (WHATWG HTML, 13.1.2.5).
        const before = code.startsWith('\n') && language === undefined ? '\n' : ''
        // The last line feed starts no line.
        const content = `${before}${code}${code.endsWith('\n') ? '\n' : ''}`
        return language === undefined
          ? `<pre${attributesHtml(first)}>${content}</pre>`
          : `<pre${attributesHtml(first)}><code class="language-${language}">${content}</code></pre>`
      }
      if (block === 'blockquote')
        return `<blockquote>${members.map((line) => lineHtml('p', line)).join('')}</blockquote>`
      return lineHtml(block, first)
    })
    .join('\n')
}

/** Groups lines into lists, and adjacent lines of one quote or one code block. */
export function groupsOf(lines: readonly Line[]) {
  const groups: (ListPart | { readonly first: Line; readonly members: Line[] })[] = []
  for (const part of partsOf(lines)) {
    const last = groups.at(-1)
    if ('items' in part) groups.push(part)
    else if (last && 'first' in last && isOneBlock(last.first, part.line)) last.members.push(part.line)
    else groups.push({ first: part.line, members: [part.line] })
  }
  return groups
}

function isOneBlock(one: Line, other: Line): boolean {
  return other.block === 'pre'
    ? sameFormat(one, other)
    : other.block === 'blockquote' && one.block === other.block
}

const rightToLeft = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

function attributesHtml({ align, runs }: Line): string {
  const style = align ? ` style="text-align: ${align}"` : ''
  return runs.some(({ text }) => rightToLeft.test(text)) ? `${style} dir="auto"` : style
}

function lineHtml(tag: string, line: Line): string {
  return `<${tag}${attributesHtml(line)}>${contentHtml(line) || '<br>'}</${tag}>`
}

function contentHtml(line: Line): string {
  const content = inlineHtml(inlineNodes(line.runs))
  return line.runs.at(-1)?.text.endsWith(softBreak) ? `${content}<br>` : content
}

function listHtml({ kind, start, items }: ListPart, depth = 1): string {
  const content = items.map(({ line, lists }) => {
    const text = contentHtml(line) || (lists.length > 0 ? '<br>' : '')
    const level = listOf(line.block)?.level ?? depth
    const attributes = `${level === depth ? '' : ` data-level="${level}"`}${attributesHtml(line)}`
    return `<li${attributes}>${text}${lists.map((list) => listHtml(list, depth + 1)).join('')}</li>`
  })
  return `<${kind}${start === 1 ? '' : ` start="${start}"`}>${content.join('')}</${kind}>`
}

function inlineHtml(nodes: readonly InlineNode[]): string {
  return nodes
    .map((node) => {
      if ('text' in node) return escapeHtml(node.text)
      if ('lineBreak' in node) return '<br>'
      if ('image' in node) {
        const { src, alt } = node.image
        return src === ''
          ? `<span data-image="${escapeHtml(alt)}">${escapeHtml(`[${alt}]`)}</span>`
          : `<img src="${escapeHtml(src)}" alt="${escapeHtml(alt)}">`
      }
      const href = node.href === null ? '' : ` href="${escapeHtml(node.href)}"`
      return `<${node.tag}${href}>${inlineHtml(node.children)}</${node.tag}>`
    })
    .join('')
}

/** Reads plain text: an empty line ends a paragraph, a single line feed ends a line in it. */
export function readText(text: string): Reading {
  const lines: Line[] = []
  for (const paragraph of withoutReturns(withoutHalves(text)).split(/\n[ \t]*\n/)) {
    const shown = paragraph.split('\n').map((line) => line.trimEnd())
    while (shown[0] === '') shown.shift()
    while (shown.at(-1) === '') shown.pop()
    if (shown.length > 0) lines.push({ ...formatOf({}), runs: [{ text: shown.join(softBreak), marks: {} }] })
  }
  return { lines, unkept: [] }
}

/**
 * Writes plain text that `readText` reads as paragraphs; list items and lines of code are not
 * separated by blank lines.
 */
export function writeText(lines: readonly Line[]): string {
  let text = ''
  let last = ''
  for (const [index, line] of lines.entries()) {
    const kind = listOf(line.block) ? 'list' : line.block
    const isClose = kind === last && (kind === 'list' || kind === 'pre')
    if (index > 0) text += isClose ? '\n' : '\n\n'
    text += textOf([line])
    last = kind
  }
  return text
}

/** Reads unchanged lines of code, to be inserted into a code block. */
export function readCode(text: string): Line[] {
  return withoutReturns(withoutHalves(text))
    .split('\n')
    .map((line) => ({ ...formatOf({ block: 'pre' }), runs: line === '' ? [] : [{ text: line, marks: {} }] }))
}
