// The few drawings in the page's frame. All are beside words that say the same, so none is read out.

import type { LinkView } from '../store/store.ts'

/** The project's sign: two gusts. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect className="mark-ground" width="32" height="32" rx="8" />
      <path className="mark-gust" d="M6 12.5h13.5a3.25 3.25 0 1 0-3.1-4.2M6 23.5h7.5" />
      <path className="mark-gust mark-second" d="M6 18h17.2a3.4 3.4 0 1 1-3.2 4.5" />
    </svg>
  )
}

const linkShapes: Record<LinkView['state'], string> = {
  open: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Z',
  opening: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Zm0 2v8a4 4 0 0 0 0-8Z',
  waiting: 'M8 1.5 15.5 14.5H.5ZM7.1 6v4.2h1.8V6ZM7.1 11.2v1.8h1.8v-1.8Z',
}

/** A disc, a half disc or a triangle: the state has a shape of its own, not only a colour. */
export function LinkShape({ state }: { state: LinkView['state'] }) {
  return (
    <svg className="link-shape" viewBox="0 0 16 16" aria-hidden="true">
      <path fillRule="evenodd" d={linkShapes[state]} />
    </svg>
  )
}

/** A triangle with an exclamation mark, for what needs a person's attention. */
export function Caution() {
  return (
    <svg className="caution" viewBox="0 0 16 16" aria-hidden="true">
      <path fillRule="evenodd" d={linkShapes.waiting} />
    </svg>
  )
}

export function Chevron() {
  return (
    <svg className="chevron" viewBox="0 0 12 12" aria-hidden="true">
      <path d="m2.5 4.5 3.5 3.5 3.5-3.5" />
    </svg>
  )
}

export function Tick() {
  return (
    <svg className="tick" viewBox="0 0 16 16" aria-hidden="true">
      <path d="m3 8.5 3.5 3.5L13 4.5" />
    </svg>
  )
}
