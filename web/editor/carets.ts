// Draws the other windows' carets and selections beside the text, never inside it.

import type { Cancel, Timers } from '../../protocol/time.ts'
import { inNextFrame } from '../frames.ts'
import type { DrawnText } from './drawn-text.ts'
import type { Caret } from './presence.ts'

interface CaretsParts {
  /** The editable element; the layer becomes its preceding sibling. */
  readonly root: HTMLElement
  readonly rectsOf: DrawnText['rectsOf']
  readonly carets: () => readonly Caret[]
  readonly timers: Timers
}

/** How long a name is shown after its caret has moved. */
const flagMs = 3000

/** Distance from a caret at which the pointer shows its name, px. */
const nearPx = 8

/** Rectangles per selection; a longer one is drawn in part. */
const maxRects = 200

type Rect = Pick<DOMRect, 'left' | 'top' | 'width' | 'height'>

interface Drawn {
  readonly box: HTMLElement
  readonly caret: HTMLElement
  readonly flag: HTMLElement
  readonly ranges: HTMLElement[]
  movedAt: number
  /** Viewport coordinates at the last frame, relative to the layer. */
  place: Rect
}

export class Carets {
  readonly #parts: CaretsParts
  readonly #layer = element('carets')
  readonly #drawn = new Map<string, Drawn>()
  readonly #ending = new AbortController()
  readonly #resizes = new ResizeObserver(() => this.redraw())
  #cancelFrame: Cancel | null = null
  #stopFlags: Cancel | null = null
  #pointer: { readonly x: number; readonly y: number } | null = null

  constructor(parts: CaretsParts) {
    const { root } = parts
    this.#parts = parts
    // The list in the header already says who is here.
    this.#layer.setAttribute('aria-hidden', 'true')
    root.before(this.#layer)
    const passive = { signal: this.#ending.signal, passive: true }
    const onPointer = (event: PointerEvent) => this.#pointed(event)
    for (const type of ['pointermove', 'pointerleave'] as const)
      root.addEventListener(type, onPointer, passive)
    const redraw = () => this.redraw()
    // Nothing was drawn while the page was hidden; fonts and images move lines.
    document.addEventListener('visibilitychange', redraw, passive)
    document.fonts.addEventListener('loadingdone', redraw, passive)
    root.addEventListener('load', redraw, { ...passive, capture: true })
    this.#resizes.observe(root)
    this.redraw()
  }

  /** Draws in the next frame; in a hidden page, once it is shown. */
  redraw(): void {
    if (this.#ending.signal.aborted) return
    this.#cancelFrame ??= inNextFrame(() => {
      this.#cancelFrame = null
      this.draw()
    })
  }

  stop(): void {
    this.#cancelFrame?.()
    this.#stopFlags?.()
    this.#ending.abort()
    this.#resizes.disconnect()
    this.#layer.remove()
  }

  /** At once, unless the page is hidden. */
  draw(): void {
    if (document.hidden) return
    const { root, rectsOf, carets } = this.#parts
    const now = carets()
    const origin = this.#layer.getBoundingClientRect()
    const relative = ({ left, top, width, height }: DOMRect) => ({
      left: left - origin.left,
      top: top - origin.top,
      width,
      height,
    })
    // All reads come before all writes, so that the page is laid out once.
    const places = now.map(({ anchor, head }) => ({
      head: rectsOf(head, head).slice(0, 1).map(relative)[0],
      ranges:
        anchor === head
          ? []
          : rectsOf(Math.min(anchor, head), Math.max(anchor, head), maxRects)
              .slice(0, maxRects)
              .filter(({ width }) => width > 0)
              .map(relative),
    }))
    const widest = root.getBoundingClientRect().right - origin.left
    const here = new Set(now.map(({ window }) => window))
    for (const [window, { box }] of this.#drawn) {
      if (here.has(window)) continue
      box.remove()
      this.#drawn.delete(window)
    }
    for (const [index, caret] of now.entries()) {
      const place = places[index]
      if (place) this.#drawOne(caret, place.head, place.ranges, widest)
    }
    this.#showFlags()
  }

  #drawOne(caret: Caret, head: Rect | undefined, ranges: readonly Rect[], widest: number): void {
    const known = this.#drawn.get(caret.window) ?? this.#create(caret.window)
    const { box, flag } = known
    box.hidden = head === undefined
    if (!head) return
    box.dataset.colour = String(caret.colour)
    known.movedAt = caret.movedAt
    known.place = head
    if (flag.textContent !== caret.name) flag.textContent = caret.name
    // A name near the right edge extends to the left.
    box.toggleAttribute('data-left', head.left > widest - 120)
    put(known.caret, { ...head, width: 0 })
    while (known.ranges.length > ranges.length) known.ranges.pop()?.remove()
    for (const [index, rect] of ranges.entries()) {
      known.ranges[index] ??= box.insertBefore(element('caret-range'), known.caret)
      put(known.ranges[index], rect)
    }
  }

  #create(window: string): Drawn {
    const box = element('caret-of')
    const caret = element('caret')
    const flag = element('caret-flag')
    flag.dir = 'auto'
    caret.append(flag)
    box.append(caret)
    this.#layer.append(box)
    const place = { left: 0, top: 0, width: 0, height: 0 }
    const created = { box, caret, flag, ranges: [], movedAt: 0, place }
    this.#drawn.set(window, created)
    return created
  }

  /** Shows names after a movement, and near the pointer. */
  #showFlags(): void {
    this.#stopFlags?.()
    this.#stopFlags = null
    const { timers } = this.#parts
    const now = timers.now()
    const pointer = this.#pointer
    const origin = pointer && this.#layer.getBoundingClientRect()
    let next = Number.POSITIVE_INFINITY
    for (const { box, movedAt, place } of this.#drawn.values()) {
      const isNew = movedAt + flagMs > now
      if (isNew) next = Math.min(next, movedAt + flagMs)
      const isNear =
        pointer !== null &&
        origin !== null &&
        Math.abs(pointer.x - origin.left - place.left) <= nearPx &&
        pointer.y - origin.top >= place.top &&
        pointer.y - origin.top <= place.top + place.height
      box.toggleAttribute('data-named', isNew || isNear)
    }
    if (next < Number.POSITIVE_INFINITY) this.#stopFlags = timers.later(() => this.#showFlags(), next - now)
  }

  #pointed(event: PointerEvent): void {
    this.#pointer = event.type === 'pointermove' ? { x: event.clientX, y: event.clientY } : null
    if (this.#drawn.size > 0) this.#showFlags()
  }
}

function element(className: string): HTMLElement {
  const created = document.createElement('div')
  created.className = className
  return created
}

/** Uses CSSOM, which the page's policy allows, unlike a style attribute. */
function put({ style }: HTMLElement, { left, top, width, height }: Rect): void {
  style.transform = `translate(${left}px, ${top}px)`
  style.width = `${width}px`
  style.height = `${height}px`
}
