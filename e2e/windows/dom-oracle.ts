// What a person sees in a contenteditable, read from computed styles: shares no code with the binding.

/** A line as it is seen: its kind, and its text in pieces of one look. */
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

interface OpenLine {
  readonly element: Element
  text: [string, string][]
  caret: number | null
}

/** `anchor` and `offset`: a position in the DOM. */
export function readSeen(root: HTMLElement, anchor: Node | null, offset: number): Seen {
  const lines: SeenLine[] = []
  let open: OpenLine | null = null
  let caret: Seen['caret'] = null
  /** A caret between lines belongs to the next one. */
  let isWaiting = false

  const lengthOf = (line: OpenLine) => line.text.reduce((sum, [text]) => sum + text.length, 0)

  function begin(element: Element): OpenLine {
    open ??= { element, text: [], caret: null }
    if (isWaiting) open.caret ??= lengthOf(open)
    isWaiting = false
    return open
  }

  function end(): void {
    if (!open) return
    // The last break of a line is its placeholder.
    const last = open.text.at(-1)
    if (last?.[0] === '\u2028') open.text.pop()
    if (open.caret !== null) caret = { line: lines.length, offset: Math.min(open.caret, lengthOf(open)) }
    const pieces: [string, string][] = []
    for (const [text, look] of wholeCharacters(open.text)) {
      const before = pieces.at(-1)
      if (before?.[1] === look) before[0] += text
      else pieces.push([text, look])
    }
    const { block, align } = kindOf(root, open.element)
    lines.push({ block, align, pieces })
    open = null
  }

  function note(node: Node, at: number): void {
    if (node !== anchor || at !== offset) return
    if (open) open.caret = lengthOf(open)
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
    if (element.localName === 'br') {
      begin(block).text.push(['\u2028', lookOf(element.parentElement ?? root, block)])
      return
    }
    if (element.localName === 'img') {
      begin(block).text.push(['\uFFFC', lookOf(element.parentElement ?? root, block)])
      return
    }
    const display = getComputedStyle(element).display
    const isBlock = display === 'block' || display === 'list-item'
    if (isBlock) end()
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
  if (isWaiting && lines.length > 0) {
    const last = lines.length - 1
    caret = { line: last, offset: (lines[last]?.pieces ?? []).reduce((sum, [text]) => sum + text.length, 0) }
  }
  return { lines: withDepths(lines), caret }
}

/** No document holds a half of a surrogate pair. */
function wholeCharacters(units: readonly (readonly [string, string])[]): (readonly [string, string])[] {
  return units.filter(([unit, look], place) => {
    const [before, after] = [units[place - 1], units[place + 1]]
    if (/[\uD800-\uDBFF]/.test(unit)) return after?.[1] === look && /[\uDC00-\uDFFF]/.test(after[0])
    if (/[\uDC00-\uDFFF]/.test(unit)) return before?.[1] === look && /[\uD800-\uDBFF]/.test(before[0])
    return true
  })
}

/** Items nest in items: one whose list lies deeper, without an item around it, is not indented in a document. */
function withDepths(lines: readonly SeenLine[]): SeenLine[] {
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
  return { block: /^[uo]l$/.test(block) ? block + Math.min(depth, 6) : block, align }
}

function lookOf(element: Element, nearest: Element): string {
  // A block within a mark has its look.
  let block = nearest
  for (let at = nearest; at.parentElement && !at.hasAttribute('contenteditable'); at = at.parentElement)
    if (getComputedStyle(at.parentElement).display === 'inline')
      block = at.parentElement.parentElement ?? block
  const [own, around] = [getComputedStyle(element), getComputedStyle(block)]
  const looks = new Set<string>()
  // A heading is bold by itself, wherever it stands.
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
