// Icons, hidden from screen readers: adjacent text says the same.

import type { ShownLink, Tone } from '../store.ts'

const wind = ['M6 12.5h13.5a3.25 3.25 0 1 0-3.1-4.2M6 23.5h7.5', 'M6 18h17.2a3.4 3.4 0 1 1-3.2 4.5']

export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d={wind[0]} />
      <path d={wind[1]} />
    </svg>
  )
}

const linkShapes = {
  open: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Z',
  opening: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Zm0 2v8a4 4 0 0 0 0-8Z',
  waiting: 'M8 1.5 15.5 14.5H.5ZM7.1 6v4.2h1.8V6ZM7.1 11.2v1.8h1.8v-1.8Z',
}

/** Disc, half disc or triangle: states differ in shape, not only in colour. */
export function LinkShape({ state, name = 'link-shape' }: { state: ShownLink['state']; name?: string }) {
  return (
    <svg className={name} viewBox="0 0 16 16" aria-hidden="true">
      <path fillRule="evenodd" d={linkShapes[state]} />
    </svg>
  )
}

export function Caution() {
  return <LinkShape state="waiting" name="caution" />
}

/** A tick or an "i" in a disc. */
const noticeShapes = {
  success: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm3.3 3.9-4.4 4.6-2.1-2-1.2 1.3 3.4 3.2 5.6-5.9Z',
  information: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm-.95 2.8v1.9h1.9V3.8Zm0 3.2v5.2h1.9V7Z',
}

export function NoticeIcon({ tone }: { tone: Tone }) {
  if (tone === 'warning') return <Caution />
  return (
    <svg className="caution" viewBox="0 0 16 16" aria-hidden="true">
      <path fillRule="evenodd" d={noticeShapes[tone]} />
    </svg>
  )
}

/** Side length of the view box, and the lines. */
const lineIcons = {
  chevron: [12, 'm2.5 4.5 3.5 3.5 3.5-3.5'],
  more: [16, 'M3 8h.01M8 8h.01M13 8h.01'],
  share: [16, 'M8 10V2M5 4.5l3-3 3 3M3 7.5V14h10V7.5'],
  tick: [16, 'm3 8.5 3.5 3.5L13 4.5'],
  wind: [32, wind.join('')],
} as const

export function LineIcon({ name }: { name: keyof typeof lineIcons }) {
  const [side, lines] = lineIcons[name]
  return (
    <svg className={`line-icon ${name}-icon`} viewBox={`0 0 ${side} ${side}`} aria-hidden="true">
      <path d={lines} />
    </svg>
  )
}
