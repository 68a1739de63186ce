// Whether the run can be trusted and reproduces the paper, each point yes or no with its figure.

import { paperBoundMs } from '../clock.ts'
import { rounded } from '../stats/significant.ts'
import { largestErrorMs } from './clocks.ts'
import { largestLatenessMs, mostLateMs } from './links.ts'
import { type Found, paperChecks } from './paper-checks.ts'
import type { WindRun } from './run.ts'

export interface Check {
  /** Null where it is about all sites. */
  readonly site: string | null
  readonly what: string
  /** Short: `2.2–4.5`, `≤ 2 ms`. */
  readonly wanted: string
  /** What `found` is counted in. */
  readonly unit: 'times' | '%' | 'readings' | 'ms'
  readonly found: number | null
  readonly holds: boolean
}

export function checksOf(run: WindRun, found: Found): readonly Check[] {
  const sites = run.sites.map(({ name }) => name)
  return [deliveryCheck(found), clockCheck(run), linksCheck(run), ...paperChecks(found, sites)]
}

function deliveryCheck({ cells }: Found): Check {
  const expected = Math.max(0, ...cells.map((cell) => cell.expected))
  const whole = cells.filter((cell) => cell.n === cell.expected && cell.duplicated + cell.reordered === 0)
  const least = Math.min(...cells.map(({ n }) => n))
  return {
    site: null,
    what: `Readings once and in order, in the least of ${cells.length} cells`,
    wanted: expected.toLocaleString('en-GB'),
    unit: 'readings',
    found: cells.length === 0 ? null : least,
    holds: cells.length > 0 && whole.length === cells.length,
  }
}

function clockCheck(run: WindRun): Check {
  const errorMs = largestErrorMs(run)
  return {
    site: null,
    what: 'Clocks off the server’s, before and after',
    wanted: `≤ ${paperBoundMs} ms`,
    unit: 'ms',
    found: rounded(errorMs),
    holds: errorMs <= paperBoundMs,
  }
}

/** A link that is late makes the network another one than its profile says; the machine had too much to do then. */
function linksCheck({ links }: WindRun): Check {
  const latest = largestLatenessMs(links)
  return {
    site: null,
    what: 'Links late on average',
    wanted: `≤ ${mostLateMs} ms`,
    unit: 'ms',
    found: rounded(latest),
    holds: latest <= mostLateMs,
  }
}
