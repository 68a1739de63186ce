// Text indices and DOM positions of an editable, counted without the binding so that its mistakes
// show.

import * as Y from 'yjs'
import { linesOf } from '../../app/document/rich-text.ts'

interface Shown {
  readonly root: HTMLElement
  readonly text: Y.Text
}

const hostNames = 'p, h1, h2, h3, h4, h5, h6, blockquote, pre, li'

/** Text nodes, breaks and images of a host, in order. */
function leavesOf(host: Element): Node[] {
  const leaves: Node[] = []
  const visit = (node: Node) => {
    if (node.nodeName === 'UL' || node.nodeName === 'OL') return
    if (node.nodeType === Node.TEXT_NODE || /^(BR|IMG)$/.test(node.nodeName)) leaves.push(node)
    else for (const child of node.childNodes) visit(child)
  }
  for (const child of host.childNodes) visit(child)
  return leaves
}

export function positionOf({ root, text }: Shown, index: number): [Node, number] {
  let offset = index
  const hosts = root.querySelectorAll(hostNames)
  for (const [index, line] of linesOf(text).entries()) {
    const length = line.runs.reduce((sum, { text }) => sum + text.length, 0)
    const host = hosts[index]
    if (offset <= length && host) {
      for (const leaf of leavesOf(host)) {
        const size = leaf instanceof Text ? leaf.data.length : 1
        if (leaf instanceof Text && offset <= size) return [leaf, offset]
        if (offset < size)
          return [
            leaf.parentNode ?? host,
            [...(leaf.parentNode ?? host).childNodes].indexOf(leaf as ChildNode),
          ]
        offset -= size
      }
      return [host, 0]
    }
    offset -= length + 1
  }
  throw new Error(`There is no position ${index}.`)
}

export function indexOf({ root }: Pick<Shown, 'root'>, node: Node, offset: number): number | null {
  if (!root.contains(node)) return null
  const range = document.createRange()
  range.setStart(node, offset)
  let index = 0
  for (const host of root.querySelectorAll(hostNames)) {
    const leaves = leavesOf(host)
    for (const [place, leaf] of leaves.entries()) {
      if (leaf === node) return index + offset
      const isBehind =
        range.comparePoint(
          leaf.parentNode ?? host,
          [...(leaf.parentNode ?? host).childNodes].indexOf(leaf as ChildNode),
        ) >= 0
      if (isBehind) return index
      index +=
        leaf instanceof Text
          ? leaf.data.length
          : leaf.nodeName === 'BR' && place === leaves.length - 1
            ? 0
            : 1
    }
    const nested = [...host.childNodes].findIndex(({ nodeName }) => /^[UO]L$/.test(nodeName))
    const end = range.comparePoint(host, nested < 0 ? host.childNodes.length : nested)
    if (end >= 0) return index
    index += 1
  }
  return index - 1
}

/**
 * Returns a function that says where the character left of an index is now; null if that is
 * undetermined.
 */
export function trackIndex(doc: Y.Doc, text: Y.Text, index: number): () => number | null {
  const position = Y.createRelativePositionFromTypeIndex(text, index, -1)
  return () => {
    const item = position.item && Y.getItem(doc.store, position.item)
    // Text that was deleted and restored may reappear behind it.
    if (item?.deleted && item instanceof Y.Item && item.redone) return null
    const now = Y.createAbsolutePositionFromRelativePosition(position, doc)?.index ?? -1
    // No line begins after the end of the last one.
    return now === text.length && now > 0 && text.toString().endsWith('\n') ? now - 1 : now
  }
}
