// Shared by dial and history: sharp canvases, visible-only redrawing and page colours.

import type { Cancel } from '../../protocol/time.ts'

/** In CSS pixels. */
export interface CanvasSize {
  readonly width: number
  readonly height: number
}

/**
 * Device resolution, with CSS pixels as drawing units. Calls `onSize` at first and after each
 * change, which clears the canvases. Returns the stop function.
 */
export function keepSharp(
  contexts: readonly [CanvasRenderingContext2D, ...CanvasRenderingContext2D[]],
  onSize: (size: CanvasSize) => void,
): () => void {
  const observer = new ResizeObserver((entries) => {
    const entry = entries.at(-1)
    if (!entry || entry.contentRect.width <= 0) return
    const { width, height } = entry.contentRect
    const rounded = Math.round(width * devicePixelRatio)
    const counted = entry.devicePixelContentBoxSize?.[0]?.inlineSize ?? rounded
    // On an emulated screen Chromium counts the real screen's pixels.
    const ratio = (Math.abs(counted - rounded) <= 1 ? counted : rounded) / width
    for (const context of contexts) {
      context.canvas.width = Math.round(width * ratio)
      context.canvas.height = Math.round(height * ratio)
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
    }
    onSize({ width, height })
  })
  const [{ canvas }] = contexts
  try {
    // Exact device pixels, even when zoomed; missing in Safari.
    observer.observe(canvas, { box: 'device-pixel-content-box' })
  } catch {
    observer.observe(canvas)
  }
  return () => observer.disconnect()
}

/** Where an element is displayed: it is hidden outside the viewport and with the page. */
export interface Display {
  readonly isHidden: () => boolean
  /** Returns the stop function. */
  readonly onSeen: (listener: () => void) => () => void
  /** Calls back once, in the first frame after the delay; `now`: the frame's time, ms. */
  readonly requestFrame: (run: (now: number) => void, afterMs: number) => Cancel
}

export function displayOf(element: Element): Display {
  let isWithin = true
  const isHidden = () => document.hidden || !isWithin
  return {
    isHidden,
    onSeen(listener) {
      const ending = new AbortController()
      const tell = () => {
        if (!isHidden()) listener()
      }
      const observer = new IntersectionObserver((entries) => {
        isWithin = entries.at(-1)?.isIntersecting ?? true
        tell()
      })
      observer.observe(element)
      document.addEventListener('visibilitychange', tell, { signal: ending.signal })
      return () => {
        observer.disconnect()
        ending.abort()
      }
    },
    requestFrame(run, afterMs) {
      let frame = 0
      let timer: ReturnType<typeof setTimeout> | undefined
      const ask = () => {
        frame = requestAnimationFrame(run)
      }
      // A timer, since even empty animation frames cost CPU.
      if (afterMs > 0) timer = setTimeout(ask, afterMs)
      else ask()
      return () => {
        clearTimeout(timer)
        cancelAnimationFrame(frame)
      }
    },
  }
}

/**
 * Draws at most once a frame, only after `plan` and only while visible. `draw` gets the frame's time and
 * returns the delay until its next call, both ms; null to wait for `plan`.
 */
export function createRedrawing(draw: (now: number) => number | null, display: Display) {
  let cancel: Cancel | null = null
  let isDue = false

  function request(afterMs: number): void {
    if (cancel !== null || display.isHidden()) return
    cancel = display.requestFrame(run, afterMs)
  }

  function run(now: number): void {
    cancel = null
    if (display.isHidden()) return
    const againInMs = draw(now)
    isDue = againInMs !== null
    if (againInMs !== null) request(againInMs)
  }

  const stopWatching = display.onSeen(() => {
    if (isDue) request(0)
  })
  return {
    plan(): void {
      isDue = true
      cancel?.()
      cancel = null
      request(0)
    },
    stop(): void {
      stopWatching()
      cancel?.()
    },
  }
}

export type Look<Properties> = Readonly<Record<keyof Properties, string>>

/** Reads custom properties of the element, which a canvas does not track itself. */
export function lookOf<Properties extends Record<string, string>>(
  element: Element,
  properties: Properties,
): Look<Properties> {
  const style = getComputedStyle(element)
  const read = (property: string) => style.getPropertyValue(property).trim()
  const entries = Object.entries(properties).map(([part, property]) => [part, read(property)])
  return Object.fromEntries(entries) as Look<Properties>
}

const lookQueries = ['(prefers-color-scheme: dark)', '(forced-colors: active)']

/** Returns the stop function. */
export function onLookChange(listener: () => void): () => void {
  const ending = new AbortController()
  const options = { signal: ending.signal }
  for (const query of lookQueries) matchMedia(query).addEventListener('change', listener, options)
  return () => ending.abort()
}

export function stroke(context: CanvasRenderingContext2D, colour: string, width: number): void {
  context.strokeStyle = colour
  context.lineWidth = width
  context.stroke()
}
