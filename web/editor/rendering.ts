// The document's lines as DOM: draws them with the least change, finds positions both ways.

import {
  type InlineNode,
  imageCharacter,
  inlineNodes,
  type Line,
  type ListPart,
  lengthOf,
  listOf,
  type Marks,
  marksOfElement,
  partsOf,
  type Run,
  safeImage,
  safeLink,
  softBreak,
} from '../../server/document/rich-text.ts'

/** A piece of a line's content that text offsets count: a text node, a break or an image. */
interface Leaf {
  readonly node: Node
  readonly start: number
  readonly length: number
}

/**
 * Each line has one element, its host: `p`, `h1` to `h6`, `blockquote`, `pre` or `li`. A host holds the line's
 * content, then, in an `li`, nested lists. A `<br>` at the end of an empty line, or after a soft break, gives the
 * caret a place and counts as no character.
 */
export class Rendering {
  readonly root: HTMLElement
  #lines: readonly Line[] = []
  readonly #hosts = new WeakMap<Line, HTMLElement>()
  /** The line of each host, while it is shown. */
  readonly #shown = new WeakMap<Node, Line>()

  constructor(root: HTMLElement) {
    this.root = root
    root.replaceChildren()
  }

  get lines(): readonly Line[] {
    return this.#lines
  }

  /** Draws `lines` in place of what is shown. Corrects the content of changed lines only. */
  show(lines: readonly Line[]): void {
    const old = this.#lines
    const most = Math.min(old.length, lines.length)
    let from = 0
    while (from < most && old[from] === lines[from]) from += 1
    let same = 0
    while (same < most - from && old[old.length - 1 - same] === lines[lines.length - 1 - same]) same += 1
    this.#lines = lines
    if (from === old.length && from === lines.length) return
    const before = old.slice(from, old.length - same)
    const after = lines.slice(from, lines.length - same)
    if (before.length === after.length && before.every(({ block }, place) => block === after[place]?.block)) {
      // All first: an old line may be a new one too, elsewhere, and so get another host on the way.
      const hosts = before.map((line) => this.#hosts.get(line))
      for (const [place, line] of after.entries()) {
        const host = hosts[place]
        if (host && before[place] !== line) this.#fill(host, line)
      }
      return
    }
    this.#replace(old, from, old.length - same, lines.length - same)
  }

  /** Draws everything anew, whatever the DOM has become. */
  redraw(lines: readonly Line[]): void {
    this.root.replaceChildren()
    this.#lines = lines
    this.#replace([], 0, 0, lines.length)
  }

  /** Corrects these lines' content, which somebody else changed in the DOM. */
  correct(hosts: Iterable<HTMLElement>): void {
    for (const host of hosts) {
      const line = this.#shown.get(host)
      if (line) this.#fill(host, line)
    }
  }

  /** Exchanges the elements of old lines from `from` to `oldTo` for those of the new ones up to `newTo`. */
  #replace(old: readonly Line[], from: number, oldTo: number, newTo: number): void {
    const lines = this.#lines
    // Lists are drawn as a whole.
    const isItem = (line: Line | undefined) => line !== undefined && listOf(line.block) !== null
    let start = from
    while (start > 0 && isItem(lines[start - 1])) start -= 1
    let [oldEnd, newEnd] = [oldTo, newTo]
    while (newEnd < lines.length && isItem(lines[newEnd])) [oldEnd, newEnd] = [oldEnd + 1, newEnd + 1]
    const kept = new Set(lines.slice(start, newEnd))
    const free: HTMLElement[] = []
    const stale = new Set<Node>()
    for (const line of old.slice(start, oldEnd)) {
      const host = this.#hosts.get(line)
      if (!host) continue
      stale.add(this.#topOf(host))
      if (!kept.has(line)) free.push(host)
    }
    const nextLine = lines[newEnd]
    const nextHost = nextLine && this.#hosts.get(nextLine)
    const next = nextHost ? this.#topOf(nextHost) : null
    const hostFor = (line: Line): HTMLElement => {
      const own = this.#hosts.get(line)
      if (own && this.#shown.get(own) === line) return own
      const tag = listOf(line.block) ? 'li' : line.block
      const place = free.findIndex((host) => host.localName === tag)
      const host = place < 0 ? document.createElement(tag) : free.splice(place, 1)[0]
      return this.#fill(host ?? document.createElement(tag), line)
    }
    const drawList = ({ kind, items }: ListPart): HTMLElement => {
      const list = document.createElement(kind)
      for (const { line, lists } of items) {
        const host = hostFor(line)
        for (const nested of host.querySelectorAll(':scope > ul, :scope > ol')) nested.remove()
        host.append(...lists.map(drawList))
        list.append(host)
      }
      return list
    }
    const drawn = partsOf(lines.slice(start, newEnd)).map((part) =>
      'line' in part ? hostFor(part.line) : drawList(part),
    )
    let place: Node | null = this.root.firstChild
    const [firstStale] = stale
    if (firstStale?.parentNode === this.root) place = firstStale
    else place = next
    const wanted = new Set<Node>(drawn)
    for (const node of stale) {
      if (wanted.has(node)) continue
      if (node === place) place = node.nextSibling
      if (node.parentNode === this.root) this.root.removeChild(node)
    }
    for (const node of drawn) {
      if (node === place) place = node.nextSibling
      else this.root.insertBefore(node, place)
    }
  }

  #topOf(host: Node): Node {
    let node = host
    while (node.parentNode && node.parentNode !== this.root) node = node.parentNode
    return node
  }

  #fill(host: HTMLElement, line: Line): HTMLElement {
    this.#hosts.set(line, host)
    this.#shown.set(host, line)
    const nodes = inlineNodes(line.runs)
    const last = line.runs.at(-1)?.text
    if (last === undefined || last.endsWith(softBreak)) nodes.push({ lineBreak: true })
    // Not an attribute, which the page's policy forbids.
    if (host.style.textAlign !== (line.align ?? '')) host.style.textAlign = line.align ?? ''
    patch(host, nodes)
    return host
  }

  /** The host that holds this node, if it is drawn. */
  hostOf(node: Node): HTMLElement | null {
    for (let at: Node | null = node; at && at !== this.root; at = at.parentNode)
      if (this.#shown.has(at)) return at as HTMLElement
    return null
  }

  hostAt(place: number): HTMLElement | null {
    const line = this.#lines[place]
    return (line && this.#hosts.get(line)) ?? null
  }

  /** The place among the lines of the one whose host this is; −1 if it is not shown. */
  placeOf(host: HTMLElement): number {
    const line = this.#shown.get(host)
    return line ? this.#lines.indexOf(line) : -1
  }

  startOf(place: number): number {
    let start = 0
    for (let at = 0; at < place; at += 1) start += lengthOf(this.#lines[at] as Line) + 1
    return start
  }

  /** The line that contains an index, and the offset there. */
  find(index: number): { place: number; line: Line; offset: number } {
    let offset = Math.max(0, index)
    for (const [place, line] of this.#lines.entries()) {
      const length = lengthOf(line)
      if (offset <= length || place === this.#lines.length - 1)
        return { place, line, offset: Math.min(offset, length) }
      offset -= length + 1
    }
    throw new Error('The editor shows no line.')
  }

  /** The text index of a DOM position; null outside the document. */
  indexOf(node: Node, offset: number): number | null {
    if (!this.root.contains(node)) return null
    const host = this.hostOf(node)
    if (!host) return this.#indexBetween(node, offset)
    return this.startOf(this.placeOf(host)) + offsetIn(host, node, offset)
  }

  /** For positions between hosts: in the root or in a list. */
  #indexBetween(node: Node, offset: number): number {
    const boundary = node.childNodes[offset]
    for (const [place, line] of this.#lines.entries()) {
      const host = this.#hosts.get(line)
      if (!host) continue
      const isAfter = boundary
        ? boundary.contains(host) || isBefore(boundary, host)
        : !node.contains(host) && isBefore(node, host)
      if (isAfter) return this.startOf(place)
    }
    return this.startOf(this.#lines.length) - 1
  }

  /** The DOM position of a text index. */
  positionOf(index: number): [node: Node, offset: number] {
    const { line, offset } = this.find(index)
    const host = this.#hosts.get(line)
    if (!host) return [this.root, 0]
    for (const { node, start, length } of leavesOf(host)) {
      if (node instanceof Text) {
        if (offset <= start + length) return [node, offset - start]
      } else if (offset <= start && node.parentNode)
        return [node.parentNode, Array.prototype.indexOf.call(node.parentNode.childNodes, node)]
    }
    return [host, contentOf(host).length]
  }

  /** The text that a host shows, also while somebody else changes it. */
  textOf(host: HTMLElement): string {
    return leavesOf(host)
      .map(({ node, length }) => {
        if (node instanceof Text) return node.data.replaceAll('\n', softBreak)
        return length === 0 ? '' : node instanceof HTMLBRElement ? softBreak : imageCharacter
      })
      .join('')
  }
}

/** How many characters of a host come before a DOM position in it. */
export function offsetIn(host: HTMLElement, node: Node, offset: number): number {
  const boundary = node instanceof Text ? null : (node.childNodes[offset] ?? null)
  let end = 0
  for (const leaf of leavesOf(host)) {
    if (leaf.node === node) return leaf.start + (node instanceof Text ? Math.min(offset, leaf.length) : 0)
    if (leaf.node.contains(node)) return leaf.start
    const isBehind = boundary
      ? boundary.contains(leaf.node) || isBefore(boundary, leaf.node)
      : !node.contains(leaf.node) && isBefore(node, leaf.node)
    if (isBehind) return leaf.start
    end = leaf.start + leaf.length
  }
  return end
}

function isBefore(a: Node, b: Node): boolean {
  return (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0
}

const isList = (node: Node) => node instanceof HTMLUListElement || node instanceof HTMLOListElement

/** A host's children without nested lists. */
function contentOf(host: HTMLElement): Node[] {
  return Array.from(host.childNodes).filter((node) => !isList(node))
}

function isAtom(node: Node): boolean {
  return node instanceof HTMLElement && (node.localName === 'img' || node.hasAttribute('data-image'))
}

function leavesOf(host: HTMLElement): Leaf[] {
  const leaves: Leaf[] = []
  let start = 0
  const add = (node: Node, length: number) => {
    leaves.push({ node, start, length })
    start += length
  }
  const visit = (node: Node) => {
    if (node instanceof Text) add(node, node.data.length)
    else if (node instanceof HTMLBRElement || isAtom(node)) add(node, 1)
    else for (const child of node.childNodes) visit(child)
  }
  for (const node of contentOf(host)) visit(node)
  const last = leaves.at(-1)
  if (last?.node instanceof HTMLBRElement) leaves[leaves.length - 1] = { ...last, length: 0 }
  return leaves
}

/** Makes the inline content of `parent` what `nodes` say, keeping what already fits. */
function patch(parent: HTMLElement, nodes: readonly InlineNode[]): void {
  let child = parent.firstChild
  for (const node of nodes) {
    if (child && fits(child, node)) {
      if ('text' in node) replaceText(child as Text, node.text)
      else if ('children' in node) patch(child as HTMLElement, node.children)
      child = child.nextSibling
    } else parent.insertBefore(create(node), child)
  }
  while (child && !isList(child)) {
    const next: ChildNode | null = child.nextSibling
    child.remove()
    child = next
  }
}

function fits(child: Node, node: InlineNode): boolean {
  if ('text' in node) return child instanceof Text
  if (!(child instanceof HTMLElement)) return false
  if ('lineBreak' in node) return child.localName === 'br'
  if ('image' in node) {
    const { src, alt } = node.image
    return src === ''
      ? child.dataset.image === alt && child.textContent === `[${alt}]`
      : child.localName === 'img' && child.getAttribute('src') === src && child.getAttribute('alt') === alt
  }
  return child.localName === node.tag && child.getAttribute('href') === node.href
}

function create(node: InlineNode): Node {
  if ('text' in node) return document.createTextNode(node.text)
  if ('lineBreak' in node) return document.createElement('br')
  if ('image' in node) {
    const { src, alt } = node.image
    const element = document.createElement(src === '' ? 'span' : 'img')
    if (element instanceof HTMLImageElement) Object.assign(element, { src, alt })
    else {
      element.dataset.image = alt
      element.contentEditable = 'false'
      element.textContent = `[${alt}]`
    }
    return element
  }
  const element = document.createElement(node.tag)
  if (element instanceof HTMLAnchorElement && node.href !== null) {
    element.setAttribute('href', node.href)
    element.target = '_blank'
    element.rel = 'noopener noreferrer'
  }
  for (const child of node.children) element.append(create(child))
  return element
}

function replaceText(node: Text, text: string): void {
  const old = node.data
  if (old === text) return
  const most = Math.min(old.length, text.length)
  let from = 0
  while (from < most && old.charCodeAt(from) === text.charCodeAt(from)) from += 1
  let same = 0
  while (
    same < most - from &&
    old.charCodeAt(old.length - 1 - same) === text.charCodeAt(text.length - 1 - same)
  )
    same += 1
  node.replaceData(from, old.length - from - same, text.slice(from, text.length - same))
}

// Content from elsewhere

const blockElements = /^(p|div|h[1-6]|blockquote|pre|ul|ol|li|hr)$/

/**
 * Reads elements as lines, here or pasted; unknown elements by their content. Outside `pre`, white space with a
 * newline in it is one space.
 */
export function linesFrom(content: Node): Line[] {
  const lines: Line[] = []
  let runs: Run[] | null = null
  let [block, align]: [string, string | null] = ['p', null]

  function open(): Run[] {
    runs ??= []
    return runs
  }

  function close(): void {
    if (!runs) return
    // A break at the end of a block shows nothing.
    const last = runs.at(-1)
    if (last?.text.endsWith(softBreak)) {
      runs.pop()
      if (last.text.length > 1) runs.push({ ...last, text: last.text.slice(0, -1) })
    }
    lines.push({ runs, block, align })
    runs = null
  }

  function readText(text: string, marks: Marks): void {
    if (block === 'pre') {
      for (const [place, piece] of text.split(/\r?\n/).entries()) {
        if (place > 0) {
          open()
          close()
        }
        if (piece !== '') open().push({ text: piece, marks })
      }
      return
    }
    const flat = text.replaceAll(/[ \t]*[\r\n][ \t\r\n]*/g, runs ? ' ' : '')
    if (flat !== '') open().push({ text: flat, marks })
  }

  function read(node: Node, marks: Marks, level: number): void {
    if (node instanceof Text) readText(node.data, marks)
    else if (!(node instanceof HTMLElement)) for (const child of node.childNodes) read(child, marks, level)
    else if (node.localName === 'br') open().push({ text: softBreak, marks })
    else if (isAtom(node)) {
      const [src, alt] = [node.getAttribute('src'), node.getAttribute('alt') ?? node.dataset.image]
      const image = safeImage({ src: src ?? '', alt: alt ?? '' })
      if (image) open().push({ text: imageCharacter, marks: { ...marks, image } })
    } else if (blockElements.test(node.localName)) readBlock(node, marks, level)
    else {
      const link = node.localName === 'a' ? safeLink(node.getAttribute('href')) : null
      const mark = block === 'pre' && node.localName === 'code' ? {} : marksOfElement[node.localName]
      const own = { ...marks, ...mark, ...(link === null ? {} : { link }) }
      for (const child of node.childNodes) read(child, own, level)
    }
  }

  function readBlock(element: HTMLElement, marks: Marks, level: number): void {
    close()
    const [outerBlock, outerAlign] = [block, align]
    const name = element.localName
    const isContainer = name === 'ul' || name === 'ol'
    const isItem = name === 'li'
    if (isItem) {
      const kind = element.parentElement?.localName === 'ol' ? 'ol' : 'ul'
      block = `${kind}${Math.min(Math.max(level, 1), 6)}`
    } else if (/^(h[1-6]|blockquote|pre)$/.test(name)) block = name
    const own = element.style.textAlign || element.getAttribute('align') || ''
    if (own !== '') align = /^(center|right|justify)$/.test(own) ? own : null
    const before = lines.length
    for (const child of element.childNodes) read(child, marks, isContainer ? level + 1 : level)
    // Empty blocks are empty lines.
    if (!isContainer && lines.length === before) open()
    close()
    ;[block, align] = [outerBlock, outerAlign]
  }

  read(content, {}, 0)
  close()
  return lines
}
