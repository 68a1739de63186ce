// Where the text is on screen: rectangles of ranges; scrolling that keeps or reveals a place.

import { type Line, lengthOf } from '../../app/document/rich-text.ts'
import { linesIn } from './edits.ts'
import type { Rendering } from './rendering.ts'

export class Layout {
  readonly #rendering: Rendering
  /** A browser adjusts every range that exists at each change of the DOM. */
  readonly #range = document.createRange()

  constructor(rendering: Rendering) {
    this.#rendering = rendering
    // `show` does this, also where the browser does not.
    rendering.root.style.overflowAnchor = 'none'
  }

  /**
   * Rectangles of a range or caret given by indices in the text; empty when not laid out. Of a long
   * range, those of its first lines: at least `least`.
   */
  rectsOf(from: number, to: number, least = Number.POSITIVE_INFINITY): DOMRect[] {
    const rendering = this.#rendering
    const rects: DOMRect[] = []
    for (const { place, start, line } of linesIn(rendering.lines, { from, to })) {
      if (rects.length >= least) break
      this.#range.setStart(...rendering.positionIn(line, Math.max(0, from - start)))
      this.#range.setEnd(...rendering.positionIn(line, Math.min(to - start, lengthOf(line))))
      const found = [...this.#range.getClientRects()]
      rects.push(...(found.length > 0 ? found : this.#emptyRects(place)))
    }
    return rects
  }

  /** Draws lines. `keepsPlace`: the first visible line stays where it is on the screen. */
  show(lines: readonly Line[], keepsPlace: boolean): void {
    const old = this.#rendering.lines
    let changed = 0
    while (changed < old.length && old[changed] === lines[changed]) changed += 1
    const changedHost = keepsPlace ? this.#rendering.hostAt(changed) : null
    const isBelow = !changedHost || changedHost.getBoundingClientRect().top >= innerHeight
    const seen = isBelow ? null : this.#firstVisible()
    this.#rendering.show(lines)
    if (!seen || changed > seen.place || !seen.host.isConnected) return
    const movedBy = seen.host.getBoundingClientRect().top - seen.top
    if (movedBy !== 0) seen.scroller.scrollBy({ top: movedBy, behavior: 'instant' })
  }

  /** Scrolls to a caret; the browser does so only for its own changes. */
  reveal(index: number): void {
    const rect = this.rectsOf(index, index).at(-1)
    if (!rect) return
    const scroller = scrollerOf(this.#rendering.root)
    const { top, bottom } = visiblePart(scroller)
    const by = rect.bottom > bottom ? rect.bottom - bottom : Math.min(0, rect.top - top)
    if (by !== 0) scroller.scrollBy({ top: by, behavior: 'instant' })
  }

  /** A caret's rectangle where a range has none: in an empty line or beside an image. */
  #emptyRects(place: number): DOMRect[] {
    const host = this.#rendering.hostAt(place)
    const rect = host?.getBoundingClientRect()
    if (!host || !rect || rect.height === 0) return []
    const style = getComputedStyle(host)
    const height = Number.parseFloat(style.lineHeight) || rect.height
    const left =
      style.direction === 'rtl'
        ? rect.right - Number.parseFloat(style.paddingRight)
        : rect.left + Number.parseFloat(style.paddingLeft)
    return [new DOMRect(left, rect.top + Number.parseFloat(style.paddingTop), 0, height)]
  }

  /** Null while the document's beginning is visible. */
  #firstVisible(): { scroller: Element; host: HTMLElement; place: number; top: number } | null {
    const { root } = this.#rendering
    const scroller = scrollerOf(root)
    const { top: edge } = visiblePart(scroller)
    if (root.getBoundingClientRect().top >= edge) return null
    const topOf = (place: number) => this.#rendering.hostAt(place)?.getBoundingClientRect().top ?? 0
    let above = 0
    let below = this.#rendering.lines.length
    while (below - above > 1) {
      const middle = (above + below) >> 1
      if (topOf(middle) < edge) above = middle
      else below = middle
    }
    // Prefers the first whole line: others may be changing the one above it.
    const place = Math.min(below, this.#rendering.lines.length - 1)
    const host = this.#rendering.hostAt(place)
    return host && { scroller, host, place, top: topOf(place) }
  }
}

function scrollerOf(root: HTMLElement): Element {
  for (let element: Element | null = root; element; element = element.parentElement) {
    if (element === document.scrollingElement || element === document.body) break
    if (
      element.scrollHeight > element.clientHeight &&
      /auto|scroll/.test(getComputedStyle(element).overflowY)
    )
      return element
  }
  return document.scrollingElement ?? document.documentElement
}

/** Top and bottom of a scroller's visible area, without its scroll padding. */
function visiblePart(scroller: Element): { top: number; bottom: number } {
  const style = getComputedStyle(scroller)
  const above = Number.parseFloat(style.scrollPaddingTop)
  const below = Number.parseFloat(style.scrollPaddingBottom)
  const rect =
    scroller === document.scrollingElement
      ? { top: 0, bottom: innerHeight }
      : scroller.getBoundingClientRect()
  return { top: rect.top + (above || 0), bottom: rect.bottom - (below || 0) }
}
