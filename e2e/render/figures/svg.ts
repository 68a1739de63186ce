// The door to Observable Plot: draws without a browser, in the page's own colours.

import * as Plot from '@observablehq/plot'
import { JSDOM } from 'jsdom'

const { document } = new JSDOM('').window

/** The figure as an SVG element. Colours are the page's CSS variables, so that it follows light and dark. */
export function svg(options: Plot.PlotOptions): string {
  const drawn = Plot.plot({
    document,
    style: { fontFamily: 'inherit', fontSize: '12.5px', background: 'none' },
    ...options,
  })
  // The page describes the figure; its bits read out one by one would only be noise.
  drawn.setAttribute('aria-hidden', 'true')
  return drawn.outerHTML
}

/**
 * For a dot mark: all dots as one path of short strokes with round ends. A circle for each would make a report of
 * some thousand samples ten times as large.
 */
export function asOnePath(colour: string, diameter: number, opacity: number): Plot.RenderFunction {
  return (index, _scales, { x, y }, _dimensions, { document: owner }) => {
    if (x === undefined || y === undefined) return null
    const path = owner.createElementNS('http://www.w3.org/2000/svg', 'path')
    const at = (place: number) => `M${Number(x[place]).toFixed(1)} ${Number(y[place]).toFixed(1)}h0`
    path.setAttribute('d', Array.from(index, at).join(''))
    path.setAttribute('fill', 'none')
    path.setAttribute('stroke', colour)
    path.setAttribute('stroke-width', String(diameter))
    path.setAttribute('stroke-linecap', 'round')
    path.setAttribute('stroke-opacity', String(opacity))
    return path
  }
}
