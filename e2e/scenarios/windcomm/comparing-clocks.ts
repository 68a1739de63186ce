// Compares the windows' clocks with the server's in two ways: by exchanges that no link slows down, and by the machine's own clock.

import { readTickOffset } from '../../browser/page-clock.ts'
import { exchangeWithServer } from '../../fleet/clock.ts'
import {
  type CheckedClock,
  type ClockReading,
  checkClocks,
  type FollowedClock,
  followClock,
} from '../../lab/clock.ts'
import { clientsClock, errorOf, refuseWrongClocks } from '../../lab/windcomm/clocks.ts'
import type { ComparedClock } from '../../lab/windcomm/run.ts'
import type { Ground } from './ground.ts'
import type { Page } from './pages.ts'

const ticks = 20

/** A busy moment makes a comparison wide, not wrong: it is made again, and the fastest exchanges of all are kept. */
const mostRounds = 20
const closeEnoughMs = 1

export type CompareClocks = (when: 'before' | 'after') => Promise<readonly ComparedClock[]>

/**
 * The clients' clock is this process's, known by exchanges. Each page has its own; what its exchanges leave open is as wide as
 * a busy browser is slow, so that its stamps are vouched for by the clock that all on this machine share: page to machine,
 * machine to this process, this process to the server. The page's exchanges must agree with that. Rejects when they do not,
 * and when the stamps of any clock may be off by more than the paper allowed.
 */
export function clockComparer({ server, ca }: Ground, pages: readonly Page[]): CompareClocks {
  const clients = followClock(clientsClock, (times) => exchangeWithServer(server.origin['1.1'], ca, times))

  return async (when) => {
    const own = await exchangeClosely(clients)
    const machine = readTickOffset(ticks)
    const found: ComparedClock[] = [{ ...own, errorMs: errorOf(own) }]
    for (const page of pages) {
      const exchanged = await exchange(page.clock)
      const chained = chain(await page.readTicks(), machine, own)
      refuseContradiction(exchanged, chained)
      found.push({ ...exchanged, errorMs: errorOf(chained) })
    }
    refuseWrongClocks(found, when)
    return found
  }
}

async function exchangeClosely(clock: FollowedClock): Promise<CheckedClock> {
  let found = await exchange(clock)
  for (let round = 2; round <= mostRounds && errorOf(found) > closeEnoughMs; round += 1)
    found = await exchange(clock)
  return found
}

/** Not refused by its bound here: what stamps may be wrong by is judged when both ways are known. */
async function exchange(clock: FollowedClock): Promise<CheckedClock> {
  const [found] = await checkClocks([clock], { mostBoundMs: Number.POSITIVE_INFINITY })
  if (!found) throw new Error(`The clock of ${clock.name} was not compared.`)
  return found
}

/** From a page by way of the machine's clock and of this process's to the server's. */
function chain(page: ClockReading, machine: ClockReading, own: ClockReading): ClockReading {
  return {
    offsetMs: page.offsetMs - machine.offsetMs + own.offsetMs,
    boundMs: page.boundMs + machine.boundMs + own.boundMs,
  }
}

function refuseContradiction(exchanged: CheckedClock, chained: ClockReading): void {
  const apartMs = Math.abs(exchanged.offsetMs - chained.offsetMs)
  if (apartMs <= exchanged.boundMs + chained.boundMs) return
  throw new Error(
    `The clock of ${exchanged.name} is ${exchanged.offsetMs.toFixed(2)} ms from the server's by exchanges and ${chained.offsetMs.toFixed(2)} ms by the machine's clock: one of them was set meanwhile. Run it again.`,
  )
}
