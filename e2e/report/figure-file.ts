// A figure as a self-contained SVG file: colours, font and background inside, in light and dark.

import { parsed, window } from './dom.ts'

/**
 * Colours in light and in dark, under the names of the page's CSS variables. No two are equal in
 * light.
 */
export const palette: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  paper: ['#fdfdfb', '#16181b'],
  ink: ['#1d1f21', '#e4e3df'],
  soft: ['#5d6165', '#a3a5a8'],
  line: ['#d9d9d3', '#34373b'],
  fill: ['#f4f4f0', '#1e2124'],
  accent: ['#1f66a6', '#7fb2e5'],
  peer: ['#85693a', '#b9a27a'],
  shade: ['#e6e7e3', '#2a2e33'],
  // Lines that must be distinguishable, after `accent`.
  rust: ['#b04a17', '#f0a06a'],
  green: ['#2a7a3e', '#7dc98f'],
  plum: ['#7a4a9e', '#c5a0e6'],
  teal: ['#0d7377', '#5cc6c8'],
  rose: ['#b2326f', '#f08fbb'],
  olive: ['#6b6a00', '#c6c45a'],
  slate: ['#4a5a8a', '#a2b1dd'],
  brick: ['#a3302c', '#ee8a80'],
}

/** For the line at `place`, from 0; they repeat after nine. */
export function lineColour(index: number): string {
  const names = ['accent', 'rust', 'green', 'plum', 'teal', 'rose', 'olive', 'slate', 'brick']
  return `var(--${names[index % names.length]})`
}

/** Pixels around the figure: labels may extend over its edge. */
const margin = 16

/**
 * `drawn`: an SVG element with the page's variables. Colours become attributes, since programs such
 * as Inkscape do not support CSS variables; a style sheet replaces them in dark viewers.
 */
export function figureFile(drawn: string, title: string, description: string): string {
  const document = parsed(drawn)
  const svg = document.querySelector('svg')
  if (!svg) throw new Error(`The figure "${title}" is not an SVG element.`)
  const [width, height] = ['width', 'height'].map((name) => Number(svg.getAttribute(name) ?? 0))
  const wholeWidth = (width ?? 0) + 2 * margin
  const wholeHeight = (height ?? 0) + 2 * margin
  const frame = { x: -margin, y: -margin, width: wholeWidth, height: wholeHeight }
  const make = (name: string, attributes: Readonly<Record<string, string | number>>, text = '') => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name)
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
    made.textContent = text
    return made
  }
  svg.removeAttribute('aria-hidden')
  svg.setAttribute('role', 'img')
  svg.setAttribute('width', String(wholeWidth))
  svg.setAttribute('height', String(wholeHeight))
  svg.setAttribute('viewBox', Object.values(frame).join(' '))
  svg.setAttribute('color', 'var(--ink)')
  svg.setAttribute('font-family', 'system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif')
  svg.style.removeProperty('font-family')
  svg.style.removeProperty('background')
  svg.prepend(
    make('title', {}, title),
    make('desc', {}, description),
    make('style', {}, `@media (prefers-color-scheme: dark) {\n${darkRules()}\n}`),
    make('rect', { ...frame, fill: 'var(--paper)' }),
  )
  const text = new window.XMLSerializer().serializeToString(svg)
  return `${text.replaceAll(/var\(--(\w+)\)/g, (whole, name: string) => palette[name]?.[0] ?? whole)}\n`
}

function darkRules(): string {
  const rules = Object.values(palette).map(
    ([light, dark]) => `[fill="${light}"] { fill: ${dark} } [stroke="${light}"] { stroke: ${dark} }`,
  )
  return [`svg { color: ${palette.ink?.[1]} }`, ...rules].join('\n')
}

/** Declarations for a style sheet: `--paper: #fdfdfb; …`. */
export function paletteDeclarations(scheme: 'light' | 'dark'): string {
  return Object.entries(palette)
    .map(([name, [light, dark]]) => `--${name}: ${scheme === 'light' ? light : dark};`)
    .join(' ')
}
