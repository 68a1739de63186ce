// The pictures of the tools, and the platform whose keys they name.

import type { ReactNode } from 'react'

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

const lines = (path: string) => (
  <svg className="line-icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={path} />
  </svg>
)
/** Drawn by the style sheet: as text it would be a second name. */
const letter = (name: string, words: string) => (
  <span className={`letter letter-${name}`} data-letter={words} aria-hidden="true" />
)

const indented = 'M2 3h12M8 6.5h6M8 9.5h6M2 13h12'

export const icons: Readonly<Record<string, ReactNode>> = {
  undo: lines('M6 2.5 2.5 6 6 9.5M2.5 6h7.25a3.75 3.75 0 0 1 0 7.5H6'),
  redo: lines('M10 2.5 13.5 6 10 9.5M13.5 6H6.25a3.75 3.75 0 0 0 0 7.5H10'),
  bold: letter('bold', 'B'),
  italic: letter('italic', 'I'),
  underline: letter('underline', 'U'),
  strike: letter('strike', 'S'),
  code: lines('M5 4 1.5 8 5 12M11 4l3.5 4L11 12'),
  h1: letter('h1', 'H1'),
  h2: letter('h2', 'H2'),
  h3: letter('h3', 'H3'),
  blockquote: lines('M3 4v4h3v1q0 2-2 3M9.5 4v4h3v1q0 2-2 3'),
  pre: lines('M1.75 2.5h12.5v11H1.75zM6.5 5.75 4.5 8l2 2.25M9.5 5.75l2 2.25-2 2.25'),
  ul: lines('M2.5 4h0M2.5 8h0M2.5 12h0M6 4h8M6 8h8M6 12h8'),
  ol: lines('M1.75 2.75 3 2v4M1.6 10.4q.2-.9 1.2-.9t1 .8q0 .6-2.2 2.7h2.4M7 4h7M7 8h7M7 12h7'),
  outdent: lines(`${indented}M5 6 3 8l2 2`),
  indent: lines(`${indented}M3 6l2 2-2 2`),
  link: lines('M6.5 9.5l3-3M7 5l2-2a2.8 2.8 0 0 1 4 4l-2 2M9 11l-2 2a2.8 2.8 0 0 1-4-4l2-2'),
  shortcuts: lines('M1.5 4h13v8.5h-13zM4 6.75h0M6.7 6.75h0M9.3 6.75h0M12 6.75h0M5 9.75h6'),
  more: lines('M3 8h0M8 8h0M13 8h0'),
}
