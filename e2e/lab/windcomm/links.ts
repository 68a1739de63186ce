// What the links of a run carried, and whether they kept to the networks that they stand for.

import type { LinkFigures } from '../../network/link.ts'

/** The stretch of network of one method at one site, from its start to the end of the run. */
export interface LinkUse extends LinkFigures {
  readonly site: string
  readonly mode: string
  /** Mean over both ways of what left while readings counted: when it left, minus when it was due. */
  readonly lateMs: number
}

/** Later than this on average, ms, and a link makes another network than its profile says: a machine's timers are about so exact. */
export const mostLateMs = 1

/** Mean lateness over both ways of what left between two looks at a link; 0 where nothing did. */
export function lateBetween(before: LinkFigures, after: LinkFigures): number {
  const [one, other] = [totalOf(before), totalOf(after)]
  const left = other.left - one.left
  return left === 0 ? 0 : (other.lateMs - one.lateMs) / left
}

/** Of the link that was late most, ms. */
export function largestLatenessMs(links: readonly LinkUse[]): number {
  return Math.max(0, ...links.map(({ lateMs }) => lateMs))
}

function totalOf({ up, down }: LinkFigures) {
  // While nothing has left there is no mean.
  const ways = [up, down].filter(({ n }) => n > 0)
  return {
    left: ways.reduce((sum, { n }) => sum + n, 0),
    lateMs: ways.reduce((sum, { n, meanMs }) => sum + n * meanMs, 0),
  }
}
