// Keeps a selection where it was, in the words that it was in, while the content around it is replaced.

import { mapOffset } from './offset.ts'

interface Place {
  readonly node: Node
  readonly offset: number
  /** The node's own text, where it is a text node. */
  readonly text: string | null
  /** Counted from the start of the whole content, for when the node is gone. */
  readonly offsetInAll: number
}

interface Remembered {
  readonly anchor: Place
  readonly focus: Place
  readonly all: string
}

/** Runs `change`, which may replace anything inside `root`, and puts the selection back, its direction kept. */
export function keepSelection(root: HTMLElement, change: () => void): void {
  const remembered = remember(root)
  change()
  if (remembered) restore(root, remembered)
}

function remember(root: HTMLElement): Remembered | null {
  const selection = root.ownerDocument.getSelection()
  const { anchorNode, focusNode } = selection ?? {}
  if (!selection || !anchorNode || !focusNode) return null
  if (!root.contains(anchorNode) || !root.contains(focusNode)) return null
  return {
    anchor: place(root, anchorNode, selection.anchorOffset),
    focus: place(root, focusNode, selection.focusOffset),
    all: root.textContent ?? '',
  }
}

function place(root: HTMLElement, node: Node, offset: number): Place {
  const before = root.ownerDocument.createRange()
  before.setStart(root, 0)
  before.setEnd(node, offset)
  return { node, offset, text: textOf(node), offsetInAll: before.toString().length }
}

function restore(root: HTMLElement, { anchor, focus, all }: Remembered): void {
  const selection = root.ownerDocument.getSelection()
  const [from, fromOffset] = find(root, anchor, all)
  const [to, toOffset] = find(root, focus, all)
  const isThere =
    selection?.anchorNode === from &&
    selection.anchorOffset === fromOffset &&
    selection.focusNode === to &&
    selection.focusOffset === toOffset
  if (!isThere) selection?.setBaseAndExtent(from, fromOffset, to, toOffset)
}

function find(root: HTMLElement, { node, offset, text, offsetInAll }: Place, all: string): [Node, number] {
  if (root.contains(node)) {
    const now = textOf(node)
    if (text !== null && now !== null) return [node, mapOffset(text, now, offset)]
    return [node, Math.min(offset, node.childNodes.length)]
  }
  return atOffset(root, mapOffset(all, root.textContent ?? '', offsetInAll))
}

/** The text node that holds that offset of the whole content; the end of the content when there is none. */
function atOffset(root: HTMLElement, offset: number): [Node, number] {
  const texts = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  let left = offset
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const { length } = textOf(node) ?? ''
    if (left <= length) return [node, left]
    left -= length
  }
  return [root, root.childNodes.length]
}

function textOf(node: Node): string | null {
  return node.nodeType === Node.TEXT_NODE ? node.nodeValue : null
}
