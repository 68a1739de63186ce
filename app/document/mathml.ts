// MathML as text: its TeX source if it has one, otherwise its symbols on one line.

interface Element {
  readonly tag: string
  /** Text of each child, in order. */
  readonly parts: string[]
}

/** Elements with text of their own; elsewhere in MathML, text is the source's layout. */
const tokens: ReadonlySet<string> = new Set(['mi', 'mn', 'mo', 'ms', 'mtext', 'annotation'])

/** Reads the content of a `math` element. */
export class FormulaReader {
  readonly #open: Element[] = [{ tag: 'math', parts: [] }]
  #tex: string | null

  /** `source`: the attribute `alttext`. */
  constructor(source: string | null) {
    this.#tex = source
  }

  /** Void elements are not opened. */
  open(tag: string, attribute: (name: string) => string | null): void {
    const isTex = tag === 'annotation' && /tex/i.test(attribute('encoding') ?? '')
    this.#open.push({ tag: isTex ? 'tex' : tag, parts: [] })
  }

  text(chars: string): void {
    const { tag, parts } = this.#open.at(-1) as Element
    if (tag === 'tex' || tokens.has(tag)) parts.push(chars)
  }

  /** Whether the formula ends. */
  close(tag: string): boolean {
    const open = this.#open.at(-1) as Element
    if (open.tag !== tag && !(open.tag === 'tex' && tag === 'annotation')) return false
    if (this.#open.length === 1) return true
    this.#open.pop()
    if (open.tag === 'tex') this.#tex = open.parts.join('')
    else this.#open.at(-1)?.parts.push(textOf(open))
    return false
  }

  finish(): string {
    for (let last = this.#open.at(-1); this.#open.length > 1; last = this.#open.at(-1))
      this.close(last?.tag ?? '')
    const tex = texIn(this.#tex ?? '')
    return tex === '' ? (this.#open[0]?.parts.join('').trim() ?? '') : tex
  }
}

/** TeX on one line, without the wrapper that MediaWiki adds. */
export function texIn(source: string): string {
  const tex = source.replaceAll(/\s+/g, ' ').trim()
  return /^\{\\(?:display|text)style (.*)\}$/.exec(tex)?.[1]?.trim() ?? tex
}

/** Invisible operators. Function application, U+2061, is not among them, because it separates words. */
const invisible = /[\u2062-\u2064\u200b]/g

function textOf({ tag, parts }: Element): string {
  const [first = '', second = '', third = ''] = parts
  if (tokens.has(tag)) {
    const text = parts
      .join('')
      .replaceAll(invisible, '')
      .replaceAll(/[\s\u2061]+/g, ' ')
    if (tag === 'annotation') return ''
    return tag === 'mtext' || text === ' ' ? text : text.trim()
  }
  switch (tag) {
    case 'annotation-xml':
    case 'mphantom':
      return ''
    case 'semantics':
      return first
    case 'msup':
    case 'mover':
      return `${grouped(first)}^${grouped(second)}`
    case 'msub':
    case 'munder':
      return `${grouped(first)}_${grouped(second)}`
    case 'msubsup':
    case 'munderover':
      return `${grouped(first)}_${grouped(second)}^${grouped(third)}`
    case 'mfrac':
      return `${grouped(first)}/${grouped(second)}`
    case 'msqrt':
      return `√${grouped(parts.join(''))}`
    case 'mroot':
      return `root_${grouped(second)}${grouped(first, true)}`
    case 'mfenced':
      return `(${parts.join(', ')})`
    case 'mspace':
      return ' '
    case 'mtd':
      return parts.join('')
    case 'mtr':
      return parts.join(', ')
    case 'mtable':
      return parts.join('; ')
    default:
      return parts.join('')
  }
}

/** In parentheses unless it is a single number, name or sign. */
function grouped(text: string, isAlways = false): string {
  const isSingle = /^(?:[\p{N}.,]+|\p{L}\p{M}*|[^\p{L}\p{N}]?|\([^()]*\))$/u.test(text)
  return isSingle && !isAlways ? text : `(${text})`
}
