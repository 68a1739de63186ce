// The browser's selection as text indices, and as places that stay at their text.

import * as Y from 'yjs'
import type { Selected } from './edits.ts'
import type { Rendering } from './rendering.ts'

/** A selection that stays at its text while others edit. */
export interface SelectedText {
  readonly anchor: Y.RelativePosition
  readonly head: Y.RelativePosition
}

export class EditorSelection {
  readonly #rendering: Rendering
  readonly #text: Y.Text

  constructor(rendering: Rendering, text: Y.Text) {
    this.#rendering = rendering
    this.#text = text
  }

  /** Anchor and head in the DOM, anywhere on the page; empty without a selection. */
  ends(): readonly (readonly [node: Node, offset: number])[] {
    const { anchorNode, anchorOffset = 0, focusNode, focusOffset = 0 } = getSelection() ?? {}
    if (!anchorNode || !focusNode) return []
    return [
      [anchorNode, anchorOffset],
      [focusNode, focusOffset],
    ]
  }

  /** In the drawn lines; null outside the document. */
  read(): Selected | null {
    const { anchorNode, anchorOffset = 0, focusNode, focusOffset = 0 } = getSelection() ?? {}
    if (!anchorNode || !focusNode) return null
    const anchor = this.#rendering.indexOf(anchorNode, anchorOffset)
    if (anchor === null) return null
    if (anchorNode === focusNode && anchorOffset === focusOffset) return { anchor, head: anchor }
    const head = this.#rendering.indexOf(focusNode, focusOffset)
    return head === null ? null : { anchor, head }
  }

  select({ anchor, head }: Selected): void {
    const selection = getSelection()
    const [anchorNode, anchorOffset] = this.#rendering.positionOf(anchor)
    const [headNode, headOffset] =
      anchor === head ? [anchorNode, anchorOffset] : this.#rendering.positionOf(head)
    const isThere =
      selection?.anchorNode === anchorNode &&
      selection.anchorOffset === anchorOffset &&
      selection.focusNode === headNode &&
      selection.focusOffset === headOffset
    // Chromium's own selection may differ from the one it reports, except for a caret in text.
    const isSure = anchor === head && anchorNode instanceof Text
    if (isThere && (isSure || document.activeElement !== this.#rendering.root)) return
    selection?.setBaseAndExtent(anchorNode, anchorOffset, headNode, headOffset)
  }

  /**
   * After `focus()` or Tab, Chromium keeps its caret at the root's start, not in the text that it
   * reports.
   */
  repeat(): void {
    const [anchor, head] = this.ends()
    if (anchor && head && this.#rendering.root.contains(anchor[0]))
      getSelection()?.setBaseAndExtent(...anchor, ...head)
  }

  /** From indices in the text. */
  relative({ anchor, head }: Selected): SelectedText {
    const relative = (index: number) => Y.createRelativePositionFromTypeIndex(this.#text, index, -1)
    const place = relative(anchor)
    return { anchor: place, head: anchor === head ? place : relative(head) }
  }

  /** Null if the text no longer has that place. */
  absolute(text: SelectedText | null): Selected | null {
    const { doc } = this.#text
    if (!text || !doc) return null
    const indexOf = (position: Y.RelativePosition) =>
      Y.createAbsolutePositionFromRelativePosition(position, doc)?.index ?? null
    const anchor = indexOf(text.anchor)
    const head = text.head === text.anchor ? anchor : indexOf(text.head)
    return anchor === null || head === null ? null : { anchor, head }
  }
}
