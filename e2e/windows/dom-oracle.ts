// Finds the visible text of a contenteditable from computed styles; shares no code with the binding.

/** A visible line: its kind, and its text in pieces of one look. */
export interface SeenLine {
  readonly block: string
  readonly align: string
  readonly pieces: readonly (readonly [text: string, look: string])[]
}

export interface Seen {
  readonly lines: readonly SeenLine[]
  /** The caret's line and the UTF-16 units before it there; null outside. */
  readonly caret: { readonly line: number; readonly offset: number } | null
}

/**
 * Browser quirks that a document does not reproduce: the oracle reads these as the document has
 * them, and everything else as visible.
 */
export const quirks = {
  'half of a character': {
    shown: 'Both browsers keep one half of a surrogate pair that a script or a command cut, and show U+FFFD.',
    kept: 'Nothing.',
    example: '<p>a\uD83Db</p>',
  },
  'a level without an item': {
    shown: 'Both browsers put a list directly into a list to indent items, also where no item is above them.',
    kept: 'Items are one level below the item above them.',
    example: '<ul><ul><li>a</li></ul></ul>',
  },
  'a seventh level': {
    shown: 'Both browsers indent lists without a limit.',
    kept: 'Six levels.',
    example: `${'<ul><li>a'.repeat(7)}${'</li></ul>'.repeat(7)}`,
  },
  'a horizontal rule': {
    shown: 'Both browsers insert a rule on request.',
    kept: 'The end of the line before it.',
    example: '<p>a</p><hr><p>b</p>',
  },
  'a table': {
    shown: 'Both browsers draw cells beside each other.',
    kept: 'A line for each row, with “ | ” between its cells.',
    example: '<table><tr><td>a</td><td>b</td></tr></table>',
  },
} as const

export type Quirk = keyof typeof quirks

interface OpenLine {
  readonly element: Element
  text: [string, string][]
  /** The pieces before it. */
  caret: number | null
}

/** `anchor` and `offset`: a position in the DOM. `copied`: a quirk that is read as visible. */
export function readSeen(root: HTMLElement, anchor: Node | null, offset: number, copied?: Quirk): Seen {
  const lines: SeenLine[] = []
  let open: OpenLine | null = null
  let caret: Seen['caret'] = null
  /** A caret between lines belongs to the next one. */
  let isWaiting = false

  const lengthOf = (pieces: SeenLine['pieces']) => pieces.reduce((sum, [text]) => sum + text.length, 0)

  function begin(element: Element): OpenLine {
    open ??= { element, text: [], caret: null }
    if (isWaiting) open.caret ??= open.text.length
    isWaiting = false
    return open
  }

  function end(): void {
    if (!open) return
    // A line's last break is its placeholder.
    const last = open.text.at(-1)
    if (last?.[0] === '\u2028') open.text.pop()
    const text = copied === 'half of a character' ? open.text : wholeCharacters(open.text)
    if (open.caret !== null) {
      const before = open.text.slice(0, open.caret).filter((unit) => text.includes(unit))
      caret = { line: lines.length, offset: lengthOf(before) }
    }
    const pieces: [string, string][] = []
    for (const [unit, look] of text) {
      const before = pieces.at(-1)
      if (before?.[1] === look) before[0] += unit
      else pieces.push([unit, look])
    }
    const { block, align } = kindOf(root, open.element)
    lines.push({ block, align, pieces })
    open = null
  }

  function note(node: Node, at: number): void {
    if (node !== anchor || at !== offset) return
    if (open) open.caret = open.text.length
    else isWaiting = true
  }

  function visit(node: Node, block: Element): void {
    if (node instanceof Text) {
      const parent = node.parentElement ?? root
      const look = lookOf(parent, block)
      if (node.data !== '') begin(block)
      for (let at = 0; at <= node.data.length; at += 1) {
        note(node, at)
        const unit = node.data[at]
        if (unit === undefined) break
        if (unit === '\n' && kindOf(root, block).block === 'pre') {
          begin(block)
          end()
        } else begin(block).text.push([unit === '\n' ? '\u2028' : unit, look])
      }
    } else if (node instanceof Element) visitElement(node, block)
  }

  function visitElement(element: Element, block: Element): void {
    // A caret inside these counts as before them.
    if (/^(br|img)$/.test(element.localName)) note(element, 0)
    if (element.localName === 'br') {
      begin(block).text.push(['\u2028', lookOf(element.parentElement ?? root, block)])
      return
    }
    if (element.localName === 'img') {
      begin(block).text.push(['\uFFFC', lookOf(element.parentElement ?? root, block)])
      return
    }
    if (element.localName === 'hr' && copied !== 'a horizontal rule') {
      end()
      return
    }
    const display = getComputedStyle(element).display
    const isTable = copied !== 'a table' && /^table(-row(-group)?)?$/.test(display)
    const isBlock = display === 'block' || display === 'list-item' || isTable
    if (isBlock) end()
    if (copied !== 'a table' && display === 'table-cell' && open)
      open.text.push([' | ', lookOf(element.parentElement ?? root, block)])
    const before = lines.length
    const isList = /^[uo]l$/.test(element.localName)
    for (const [index, child] of [...element.childNodes].entries()) {
      note(element, index)
      visit(child, isBlock ? element : block)
    }
    note(element, element.childNodes.length)
    if (!isBlock) return
    if (lines.length === before && !isList) begin(element)
    end()
  }

  for (const [index, child] of [...root.childNodes].entries()) {
    note(root, index)
    visit(child, root)
  }
  note(root, root.childNodes.length)
  end()
  // An empty document is an empty line.
  if (lines.length === 0) lines.push({ block: 'p', align: '', pieces: [] })
  if (isWaiting) {
    const last = lines.length - 1
    caret = { line: last, offset: lengthOf(lines[last]?.pieces ?? []) }
  }
  const deep = copied === 'a seventh level' ? lines : withoutDeepLevels(lines)
  return { lines: copied === 'a level without an item' ? deep : withDepths(deep), caret }
}

function wholeCharacters(units: readonly (readonly [string, string])[]): (readonly [string, string])[] {
  return units.filter(([unit, look], index) => {
    const before = units[index - 1]
    const after = units[index + 1]
    if (/[\uD800-\uDBFF]/.test(unit)) return after?.[1] === look && /[\uDC00-\uDFFF]/.test(after[0])
    if (/[\uDC00-\uDFFF]/.test(unit)) return before?.[1] === look && /[\uD800-\uDBFF]/.test(before[0])
    return true
  })
}

function withoutDeepLevels(lines: readonly SeenLine[]): readonly SeenLine[] {
  return lines.map((line) => ({
    ...line,
    block: line.block.replace(/(?<=[uo]l)\d+/, (level) => String(Math.min(Number(level), 6))),
  }))
}

function withDepths(lines: readonly SeenLine[]): readonly SeenLine[] {
  let open: number[] = []
  return lines.map((line) => {
    const level = /^[uo]l/.test(line.block) ? Number(line.block.slice(2)) : 0
    open = open.filter((outer) => outer < level)
    if (level === 0) return line
    open.push(level)
    return { ...line, block: line.block.slice(0, 2) + open.length }
  })
}

function kindOf(root: Element, element: Element): { block: string; align: string } {
  const shown = getComputedStyle(element).textAlign.replace(/^-\w+-/, '')
  const align = shown === 'center' || shown === 'right' || shown === 'justify' ? shown : ''
  let depth = 0
  let block = 'p'
  for (let at: Element | null = element; at && at !== root; at = at.parentElement) {
    const name = at.localName
    if (name === 'ul' || name === 'ol') {
      depth += 1
      if (depth === 1 && block === 'p') block = name
    } else if (block === 'p' && /^(h[1-6]|blockquote|pre)$/.test(name)) block = name
  }
  return { block: /^[uo]l$/.test(block) ? block + depth : block, align }
}

function lookOf(element: Element, nearest: Element): string {
  // A block within a mark has the mark's look.
  let block = nearest
  for (let at = nearest; at.parentElement && !at.hasAttribute('contenteditable'); at = at.parentElement)
    if (getComputedStyle(at.parentElement).display === 'inline')
      block = at.parentElement.parentElement ?? block
  const own = getComputedStyle(element)
  const around = getComputedStyle(block)
  const looks = new Set<string>()
  // A heading is bold by itself, wherever it is.
  const heading = element.closest('h1, h2, h3, h4, h5, h6')
  const usual = heading ? getComputedStyle(heading).fontWeight : around.fontWeight
  if (Number(own.fontWeight) > Number(usual)) looks.add('bold')
  if (own.fontStyle === 'italic' && around.fontStyle !== 'italic') looks.add('italic')
  for (let at: Element | null = element; at && at !== block; at = at.parentElement) {
    const style = getComputedStyle(at)
    if (at.localName !== 'a' && style.textDecorationLine.includes('underline')) looks.add('underline')
    if (style.textDecorationLine.includes('line-through')) looks.add('strike')
    if (/^(sub|super)$/.test(style.verticalAlign)) looks.add(style.verticalAlign)
    if (at.localName === 'code') looks.add('code')
  }
  const link = element.closest('a')
  if (link && block.contains(link)) looks.add(`link ${link.getAttribute('href')}`)
  return [...looks].sort().join(' ')
}
