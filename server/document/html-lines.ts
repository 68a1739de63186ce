// The lines of a mirrored page's HTML, however malformed; what the model does not have is dropped.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Token, Tokenizer, TokenizerMode } from 'parse5'
import {
  deepestLevel,
  imageCharacter,
  type Line,
  type Marks,
  marksOfElement,
  type Run,
  safeImage,
  safeLink,
  sameMarks,
  softBreak,
} from './rich-text.ts'

const blockTags = words('p div h1 h2 h3 h4 h5 h6 blockquote pre ul ol li hr table tr section article')
const hiddenTags = words('script style template title textarea iframe noscript noembed noframes xmp')

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '))
}

const pieceLength = 8192
/** Of the parsed HTML before others get their turn: a few ms. */
const piecesPerTurn = 16

/** Deeper elements are not distinguished: the time per tag stays bounded. */
const mostOpen = 50

export async function linesOfHtml(html: string): Promise<Line[]> {
  const builder = new LineBuilder()
  const tokenizer: Tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: false },
    {
      onCharacter: ({ chars }) => builder.text(chars),
      onWhitespaceCharacter: ({ chars }) => builder.text(chars),
      onNullCharacter: ignore,
      onComment: ignore,
      onDoctype: ignore,
      onEof: ignore,
      onStartTag(tag) {
        builder.start(tag)
        if (hiddenTags.has(tag.tagName)) tokenizer.state = TokenizerMode.RAWTEXT
      },
      onEndTag: ({ tagName }) => builder.end(tagName),
    },
  )
  for (let place = 0, pieces = 1; place < html.length; place += pieceLength, pieces += 1) {
    tokenizer.write(html.slice(place, place + pieceLength), place + pieceLength >= html.length)
    if (pieces % piecesPerTurn === 0) await nextTurn()
  }
  return builder.lines()
}

const ignore = () => undefined

class LineBuilder {
  readonly #lines: Line[] = []
  #runs: Run[] = []
  /** Whether a block has begun of which no line is there yet. */
  #isOpen = false
  #isHidden = false
  readonly #blocks: string[] = []
  readonly #inline: { readonly tag: string; readonly marks: Marks }[] = []
  /** Of all open elements; null after a change of them. */
  #marks: Marks | null = {}

  text(chars: string): void {
    if (this.#isHidden) return
    if (this.#blocks.includes('pre')) {
      for (const [place, piece] of chars.split('\n').entries()) {
        if (place > 0) this.#endLine(true)
        this.#add(piece)
      }
      return
    }
    const isBetween = this.#runs.length === 0 && chars.trim() === '' && chars.includes('\n')
    if (!isBetween) this.#add(chars.replaceAll(/[ \t]*[\r\n]+[ \t]*/g, ' '))
  }

  start({ tagName, attrs }: Token.TagToken): void {
    this.#isHidden = hiddenTags.has(tagName)
    const attribute = (name: string) => attrs.find((found) => found.name === name)?.value
    if (tagName === 'br') {
      if (this.#blocks.includes('pre')) this.#endLine(true)
      else this.#add(softBreak)
    } else if (tagName === 'img') this.#image(attribute('src') ?? '', attribute('alt') ?? '')
    else if (tagName === 'a') {
      const link = safeLink(attribute('href'))
      this.#open(this.#inline, { tag: 'a', marks: link === null ? {} : { link } })
    } else if (Object.hasOwn(marksOfElement, tagName))
      this.#open(this.#inline, { tag: tagName, marks: marksOfElement[tagName] ?? {} })
    else if (blockTags.has(tagName)) {
      this.#endLine(false)
      if (tagName === 'hr') return
      this.#open(this.#blocks, tagName)
      this.#isOpen = !/^(ul|ol|table|tr|blockquote)$/.test(tagName)
    } else if (tagName === 'td' || tagName === 'th') {
      if (this.#runs.length > 0) this.#add(' | ')
    }
  }

  end(tagName: string): void {
    this.#isHidden = false
    if (blockTags.has(tagName)) {
      this.#endLine(this.#isOpen)
      const place = this.#blocks.lastIndexOf(tagName)
      if (place >= 0) this.#blocks.length = place
    } else {
      const place = this.#inline.findLastIndex(({ tag }) => tag === tagName)
      if (place < 0) return
      this.#inline.splice(place, 1)
      this.#marks = null
    }
  }

  lines(): Line[] {
    this.#endLine(false)
    return this.#lines
  }

  #open<Item>(stack: Item[], item: Item): void {
    if (stack.length >= mostOpen) return
    stack.push(item)
    this.#marks = null
  }

  #image(given: string, alt: string): void {
    const image = safeImage({ src: given, alt })
    if (image?.src) this.#add(imageCharacter, { image })
    else this.#add(`[${alt || 'image'}]`)
  }

  #add(text: string, own: Marks = {}): void {
    if (text === '') return
    this.#marks ??= Object.assign({}, ...this.#inline.map(({ marks }) => marks)) as Marks
    const marks = own.image ? { ...this.#marks, ...own } : this.#marks
    const last = this.#runs.at(-1)
    if (last && sameMarks(last.marks, marks))
      this.#runs[this.#runs.length - 1] = { text: last.text + text, marks }
    else this.#runs.push({ text, marks })
  }

  #endLine(mayBeEmpty: boolean): void {
    if (this.#runs.length === 0 && !mayBeEmpty) return
    // A break at the end of a block is its placeholder.
    const last = this.#runs.at(-1)
    if (last?.text.endsWith(softBreak)) {
      this.#runs.pop()
      const text = last.text.slice(0, -1)
      if (text !== '') this.#runs.push({ ...last, text })
    }
    this.#lines.push({ runs: this.#runs, block: this.#block(), align: null })
    this.#runs = []
    this.#isOpen = false
  }

  #block(): string {
    if (this.#blocks.includes('pre')) return 'pre'
    const kind = this.#blocks.findLast((tag) => /^(h[1-6]|ul|ol|blockquote)$/.test(tag)) ?? 'p'
    if (kind !== 'ul' && kind !== 'ol') return kind
    const level = this.#blocks.filter((tag) => tag === 'ul' || tag === 'ol').length
    return kind + Math.min(level, deepestLevel)
  }
}
