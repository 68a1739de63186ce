// The document's lines as DOM: draws minimal changes, maps positions both ways.

import { LineReader } from '../../app/document/line-reader.ts'
import {
  depthsOf,
  findIn,
  type InlineNode,
  inlineNodes,
  type Line,
  type ListPart,
  lengthOf,
  listOf,
  partsOf,
  softBreak,
  startOfLine,
  type TextRange,
} from '../../app/document/rich-text.ts'
import { commonEnds } from '../../app/document/text-diff.ts'
import { withoutHalves } from '../../protocol/graphemes.ts'

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
  /** The root's child that contains each host. */
  readonly #topOfHost = new WeakMap<Node, Node>()
  /** Draws the line of each host, while it is shown. */
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
    const { start: from, end: same } = commonEnds(old, lines)
    this.#lines = lines
    if (from === old.length && from === lines.length) return
    const before = old.slice(from, old.length - same)
    const after = lines.slice(from, lines.length - same)
    if (before.length === after.length && before.every((line, place) => isAlike(line, after[place]))) {
      // Collected first: an old line may also be a new one elsewhere, and get another host on the
      // way.
      const hosts = before.map((line) => this.#hosts.get(line))
      for (const [place, line] of after.entries()) {
        const host = hosts[place]
        if (host && before[place] !== line) this.#fill(host, line)
      }
      return
    }
    this.#replace(old, from, old.length - same, lines.length - same)
  }

  /** Draws everything again, whatever state the DOM is in. */
  redraw(lines: readonly Line[]): void {
    this.root.replaceChildren()
    this.#lines = lines
    this.#replace([], 0, 0, lines.length)
  }

  /**
   * Draws `lines` in place of what is shown; the elements of old lines in `changed` may be
   * anything.
   */
  repair(lines: readonly Line[], changed: TextRange): void {
    const old = this.#lines
    let from = 0
    while (from < changed.from && old[from] === lines[from]) from += 1
    const most = Math.min(old.length - changed.to, lines.length - from)
    let same = 0
    while (same < most && old[old.length - 1 - same] === lines[lines.length - 1 - same]) same += 1
    this.#lines = lines
    this.#replace(old, from, old.length - same, lines.length - same)
  }

  /**
   * Replaces everything between the elements of old lines before `from` and after `oldTo` with new
   * lines up to `newTo`.
   */
  #replace(old: readonly Line[], from: number, oldTo: number, newTo: number): void {
    const lines = this.#lines
    // Lists are drawn as a whole.
    const isItem = (line: Line | undefined) => line !== undefined && listOf(line.block) !== null
    let start = from
    while (start > 0 && isItem(lines[start - 1])) start -= 1
    let oldEnd = oldTo
    let newEnd = newTo
    while (newEnd < lines.length && isItem(lines[newEnd])) {
      oldEnd += 1
      newEnd += 1
    }
    const kept = new Set(lines.slice(start, newEnd))
    const unused = old
      .slice(start, oldEnd)
      .filter((line) => !kept.has(line))
      .flatMap((line) => this.#hosts.get(line) ?? [])
    // The first one of each kind comes last, to be taken first.
    const free = Map.groupBy(unused.reverse(), (host) => host.localName)
    const topAt = (place: number): Node | null => {
      const line = lines[place]
      const host = line && this.#hosts.get(line)
      return host ? this.#topOf(host) : null
    }
    const before = topAt(start - 1)
    const next = topAt(newEnd)
    const hostFor = (line: Line): HTMLElement => {
      const own = this.#hosts.get(line)
      if (own && this.#shown.get(own) === line) return this.#fill(own, line)
      const tag = listOf(line.block) ? 'li' : line.block
      return this.#fill(free.get(tag)?.pop() ?? createHost(tag), line)
    }
    const drawList = ({ kind, start, items }: ListPart): HTMLElement => {
      const list = document.createElement(kind)
      if (start !== 1 && list instanceof HTMLOListElement) list.start = start
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
    const wanted = new Set<Node>(drawn)
    const first = () => (before ? before.nextSibling : this.root.firstChild)
    for (let node = first(); node && node !== next; ) {
      const following: ChildNode | null = node.nextSibling
      if (!wanted.has(node)) node.remove()
      node = following
    }
    let place = first()
    for (const node of drawn) {
      if (node === place) place = node.nextSibling
      else this.root.insertBefore(node, place)
    }
    for (const line of lines.slice(start, newEnd)) {
      const host = this.#hosts.get(line)
      if (host) this.#topOfHost.set(host, this.#topOf(host))
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
    for (const name of host.getAttributeNames()) if (!hostAttributes.has(name)) host.removeAttribute(name)
    // Not by the attribute, which the page's policy forbids.
    const style = line.align === null ? '' : `text-align: ${line.align};`
    if ((host.getAttribute('style') ?? '') !== style) host.style.cssText = style
    if (style === '') host.removeAttribute('style')
    if (line.language === undefined) host.removeAttribute('data-language')
    else host.dataset.language = line.language
    patch(host, nodes)
    return host
  }

  /** The host that contains this node, if it is drawn. */
  hostOf(node: Node): HTMLElement | null {
    for (let at: Node | null = node; at && at !== this.root; at = at.parentNode)
      if (this.#shown.has(at)) return at as HTMLElement
    return null
  }

  hostAt(place: number): HTMLElement | null {
    const line = this.#lines[place]
    return (line && this.#hosts.get(line)) ?? null
  }

  /** The index of the host's line; −1 if it is not shown. */
  placeOf(host: Node): number {
    const line = this.#shown.get(host)
    return line ? this.#lines.indexOf(line) : -1
  }

  /** The text index of a DOM position; null outside the document. */
  indexOf(node: Node, offset: number): number | null {
    if (!this.root.contains(node)) return null
    const host = this.hostOf(node)
    const isBehindLists = node === host && Array.from(host.childNodes).slice(0, offset).some(isList)
    if (!host || isList(node) || isBehindLists) return this.#indexBetween(node, offset)
    return startOfLine(this.#lines, this.placeOf(host)) + offsetIn(host, node, offset)
  }

  /** For positions between hosts: in the root, in a list, or behind the lists of an item. */
  #indexBetween(node: Node, offset: number): number {
    const { root } = this
    for (let at = nodeAt(root, node, offset); at; at = at.firstChild ?? nodeAfter(root, at)) {
      const place = this.#shown.has(at) ? this.placeOf(at) : -1
      if (place >= 0) return startOfLine(this.#lines, place)
    }
    return startOfLine(this.#lines, this.#lines.length) - 1
  }

  /** The DOM position of a text index. */
  positionOf(index: number): [node: Node, offset: number] {
    const { line, offset } = findIn(this.#lines, index)
    return this.positionIn(line, offset)
  }

  /** The DOM position of an offset in a line. */
  positionIn(line: Line, offset: number): [node: Node, offset: number] {
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

  /**
   * Reads what the root shows, however it got there. `changed`: nodes changed from outside. Lines
   * from `from` to `to` are now `lines`; the others are as they were drawn. `indices` are those of
   * `points` in the text that the root shows.
   */
  read(changed: readonly Node[], points: readonly (readonly [node: Node, offset: number])[]) {
    const { root } = this
    const tops = this.#tops()
    const isListAt = (place: number) => /^[UO]L$/.test(tops[place]?.node.nodeName ?? '')
    const children = [...root.childNodes]
    const changedTops = new Set<Node>()
    for (const node of [...changed, ...points.map(([node]) => node)])
      if (node !== root && root.contains(node)) changedTops.add(this.#topOf(node))
    const isDrawn = (child: Node | undefined, top: { node: Node } | undefined) =>
      child !== undefined && child === top?.node && !changedTops.has(child)
    const most = Math.min(tops.length, children.length)
    let before = 0
    while (before < most && isDrawn(children[before], tops[before])) before += 1
    let behind = 0
    while (behind < most - before && isDrawn(children.at(-1 - behind), tops.at(-1 - behind))) behind += 1
    // Numbers and levels depend on adjacent lists.
    while (before > 0 && isListAt(before - 1)) before -= 1
    while (behind > 0 && isListAt(tops.length - behind)) behind -= 1
    const from = tops[before]?.from ?? this.#lines.length
    const to = tops[tops.length - behind]?.from ?? this.#lines.length
    const tree = new TreeReader(root, points, (node) => this.#shown.has(node))
    tree.readChildren(before, children.length - behind)
    const { lines: read, hosts, places } = tree.finish()
    const lines = this.#withLevels(read, hosts).map((line) => ({
      ...line,
      runs: line.runs.map(({ text, marks }) => ({ text: withoutHalves(text), marks })),
    }))
    const indices = places.map((place, index) => {
      const [node, offset] = points[index] ?? [null, 0]
      if (place === null && node !== root) return null
      // Elsewhere between the root's children.
      const top = tops[offset < before ? offset : offset - children.length + tops.length]
      if (place === null) return startOfLine(this.#lines, top?.from ?? this.#lines.length)
      const shown = [...this.#lines.slice(0, from), ...lines, ...this.#lines.slice(to)]
      const line = shown[from + place.line]
      const start = startOfLine(shown, from + place.line)
      return line ? start + Math.min(lengthBefore(read[place.line], place.offset), lengthOf(line)) : start - 1
    })
    return { from, to, lines, indices }
  }

  /** The root's children as they were drawn, with their first lines. */
  #tops(): { readonly node: Node; readonly from: number }[] {
    const tops: { node: Node; from: number }[] = []
    for (const [from, line] of this.#lines.entries()) {
      const host = this.#hosts.get(line)
      const node = host && this.#topOfHost.get(host)
      if (node && tops.at(-1)?.node !== node) tops.push({ node, from })
    }
    return tops
  }

  /**
   * A level says more than an item's visible depth: items keep their levels if all are seen at the
   * same depths.
   */
  #withLevels(lines: readonly Line[], hosts: ReadonlyMap<number, Node>): Line[] {
    const kept = lines.map((line, place) => {
      const old = this.#shown.get(hosts.get(place) ?? this.root)
      const isItem = listOf(line.block) && listOf(line.block)?.kind === listOf(old?.block ?? '')?.kind
      return old && isItem ? { ...line, block: old.block } : line
    })
    const depths = depthsOf(kept)
    const read = depthsOf(lines)
    return depths.every((depth, place) => depth === read[place]) ? kept : [...lines]
  }
}

/** UTF-16 units kept of those before an offset. */
function lengthBefore(line: Line | undefined, offset: number): number {
  let left = offset
  let length = 0
  for (const { text } of line?.runs ?? []) {
    const before = Math.min(left, text.length)
    // Halves of surrogate pairs.
    const halves = [...text.matchAll(/\p{Surrogate}/gu)].filter(({ index }) => index < before)
    length += before - halves.length
    left -= before
  }
  return length
}

/** Whether two lines are drawn by the same elements around their content. */
const isAlike = (one: Line, other: Line | undefined) =>
  one.block === other?.block && one.start === other.start

const hostAttributes: ReadonlySet<string> = new Set(['data-language', 'dir', 'style'])

/** Each block has the direction of its own text (HTML, 3.2.6.4). */
function createHost(tag: string): HTMLElement {
  const host = document.createElement(tag)
  host.dir = 'auto'
  return host
}

/** Feeds a tree to the HTML reader, and records where points in the tree are in the lines. */
class TreeReader {
  readonly #reader = new LineReader()
  readonly #root: Node
  readonly #points: readonly (readonly [node: Node, offset: number])[]
  readonly #isHost: (node: Node) => boolean
  readonly #places: ({ readonly line: number; readonly offset: number } | null)[]
  readonly #hosts = new Map<number, Node>()

  constructor(
    root: Node,
    points: readonly (readonly [node: Node, offset: number])[],
    isHost: (node: Node) => boolean,
  ) {
    this.#root = root
    this.#points = points
    this.#places = points.map(() => null)
    this.#isHost = isHost
  }

  /** Reads children of the root. */
  readChildren(from: number, to: number): void {
    this.#readChildren(this.#root, from, to)
  }

  /** `hosts`: of the lines that have one. Places of points that were not read are null. */
  finish() {
    return { lines: [...this.#reader.finish().lines], hosts: this.#hosts, places: this.#places }
  }

  #readChildren(node: Node, from: number, to: number): void {
    for (let index = from; index < to; index += 1) {
      this.#note(node, index)
      const child = node.childNodes[index]
      if (child) this.#read(child)
    }
    this.#note(node, to)
  }

  #read(node: Node): void {
    if (node instanceof Text) this.#readText(node)
    if (!(node instanceof Element)) return
    if (isLeaf(node)) this.#noteWithin(node)
    this.#reader.open(node.localName, (name) => node.getAttribute(name))
    if (this.#isHost(node)) this.#hosts.set(this.#reader.place.line, node)
    if (!isLeaf(node)) this.#readChildren(node, 0, node.childNodes.length)
    this.#reader.close(node.localName)
  }

  #readText(node: Text): void {
    const offsets = this.#points.filter(([one]) => one === node).map(([, offset]) => offset)
    let read = 0
    for (const offset of offsets.sort((a, b) => a - b)) {
      this.#reader.text(node.data.slice(read, offset))
      this.#note(node, offset)
      read = offset
    }
    this.#reader.text(node.data.slice(read))
  }

  /** Firefox puts carets into breaks. */
  #noteWithin(leaf: Node): void {
    for (const [index, [node]] of this.#points.entries())
      if (leaf.contains(node)) this.#places[index] ??= this.#reader.place
  }

  #note(node: Node, offset: number): void {
    for (const [index, [one, at]] of this.#points.entries())
      if (one === node && at === offset) this.#places[index] ??= this.#reader.place
  }
}

/** Number of a host's characters before a DOM position in it. */
function offsetIn(host: HTMLElement, node: Node, offset: number): number {
  const leaves = leavesOf(host)
  const next = leafAt(host, node, offset)
  const leaf = leaves.find(({ node }) => node === next)
  if (leaf)
    return leaf.start + (leaf.node === node && node instanceof Text ? Math.min(offset, leaf.length) : 0)
  const last = leaves.at(-1)
  return last ? last.start + last.length : 0
}

/** The leaf that a DOM position in a host is in, or else the next one; null behind the last. */
function leafAt(host: HTMLElement, node: Node, offset: number): Node | null {
  let around: Node | null = null
  // Firefox puts carets into breaks.
  for (let at: Node | null = node; at && at !== host; at = at.parentNode) if (isLeaf(at)) around = at
  if (around) return around
  let at = nodeAt(host, node, offset)
  while (at && !isLeaf(at)) at = (isList(at) ? null : at.firstChild) ?? nodeAfter(host, at)
  return at
}

// Walks step from node to node: to compare two nodes, a browser walks over all their siblings.

/** The node at a DOM position, or else the next one in the root's order; null at its end. */
function nodeAt(root: Node, node: Node, offset: number): Node | null {
  return node instanceof Text ? node : (node.childNodes[offset] ?? nodeAfter(root, node))
}

/** The first node behind this one and everything in it; null at the root's end. */
function nodeAfter(root: Node, node: Node): Node | null {
  for (let at: Node | null = node; at && at !== root; at = at.parentNode)
    if (at.nextSibling) return at.nextSibling
  return null
}

// By names and types, which cost less than `instanceof`: a line may have thousands of nodes, and each key asks them all.

const isText = (node: Node): node is Text => node.nodeType === 3

const isList = ({ nodeName }: Node) => nodeName === 'UL' || nodeName === 'OL'

/** A host's children without nested lists. */
function contentOf(host: HTMLElement): Node[] {
  return Array.from(host.childNodes).filter((node) => !isList(node))
}

const isAtom = (node: Node) =>
  node.nodeName === 'IMG' || (node.nodeType === 1 && (node as Element).hasAttribute('data-image'))

const isLeaf = (node: Node) => isText(node) || node.nodeName === 'BR' || isAtom(node)

function leavesOf(host: HTMLElement): Leaf[] {
  const leaves: Leaf[] = []
  let start = 0
  const add = (node: Node, length: number) => {
    leaves.push({ node, start, length })
    start += length
  }
  const visitChildren = (parent: Node) => {
    for (let node = parent.firstChild; node; node = node.nextSibling)
      if (isLeaf(node)) add(node, isText(node) ? node.data.length : 1)
      else if (parent !== host || !isList(node)) visitChildren(node)
  }
  visitChildren(host)
  const last = leaves.at(-1)
  if (last?.node.nodeName === 'BR') leaves[leaves.length - 1] = { ...last, length: 0 }
  return leaves
}

/** Makes the inline content of `parent` match `nodes`, keeping what already fits. */
function patch(parent: HTMLElement, nodes: readonly InlineNode[]): void {
  let child = parent.firstChild
  for (const node of nodes) {
    if (child && fits(child, node)) {
      if ('text' in node) replaceText(child as Text, node.text)
      else if ('children' in node) patch(child as HTMLElement, node.children)
      child = child.nextSibling
    } else parent.insertBefore(create(node), child)
  }
  // An item's nested lists are hosts of other lines.
  const isItem = parent instanceof HTMLLIElement
  while (child) {
    const next: ChildNode | null = child.nextSibling
    if (!isItem || !isList(child)) child.remove()
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
  const attributes = node.href === null ? 0 : 3
  return (
    child.localName === node.tag &&
    child.getAttribute('href') === node.href &&
    child.attributes.length === attributes
  )
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
  const { start, end } = commonEnds(old, text)
  node.replaceData(start, old.length - start - end, text.slice(start, text.length - end))
}
