// The simulated networks of a run, as summary and report describe them.

import { meanLateness } from '../network/delay-link.ts'
import type { PathFigures } from '../network/packet-relay.ts'
import { type Loss, lossVariance, noLoss, readProfile } from '../network/profiles.ts'
import type { Network, PacketCounts, Packets } from './run-environment.ts'
import { rounded, roundedInterval, shareInterval } from './statistics.ts'

type Counted = Pick<PacketCounts, 'sent' | 'lost' | 'overflowed'>

export interface NetworkUse {
  /** Mean lateness added by the simulated network itself. */
  readonly lateMs: number
  readonly packets?: Readonly<Record<'up' | 'down', Counted>>
}

export function packetUse(paths: readonly PathFigures[]): NetworkUse {
  const lateMs = meanLateness(paths.map(({ up, down }) => ({ up: up.late, down: down.late })))
  const all = (way: 'up' | 'down') => countedTogether(paths.map((path) => path[way]))
  return { lateMs, packets: { up: all('up'), down: all('down') } }
}

function countedTogether(each: readonly Counted[]): Counted {
  const sum = (name: keyof Counted) => each.reduce((total, counts) => total + counts[name], 0)
  return { sent: sum('sent'), lost: sum('lost'), overflowed: sum('overflowed') }
}

/** `uses`: one per session. */
export function describeNetwork(
  name: string,
  uses: readonly NetworkUse[],
  congestion = 'cubic',
): { readonly network?: Network } {
  const profile = readProfile(name)
  if (profile === null) return {}
  const lateMs = rounded(Math.max(...uses.map((use) => use.lateMs)))
  const network = { profile: profile.name, source: profile.source, lateMs }
  const counted = uses.flatMap(({ packets }) => packets ?? [])
  if (counted.length === 0) return { network }
  return { network: { ...network, packets: describePackets(profile.loss ?? noLoss, counted, congestion) } }
}

/** For a report; of each session, the use of every network. */
export function describeNetworks(
  names: readonly string[],
  sessions: readonly (readonly NetworkUse[])[],
): { readonly network?: Network; readonly networks?: readonly Network[] } {
  const networks = names.flatMap((name, index) => {
    const { network } = describeNetwork(
      name,
      sessions.flatMap((uses) => uses[index] ?? []),
    )
    return network ?? []
  })
  const [network] = networks
  return networks.length > 1 ? { networks } : { ...(network && { network }) }
}

/** `alike`: that many paths drew the same losses. */
export function describePackets(
  loss: Loss,
  uses: readonly Readonly<Record<'up' | 'down', Counted>>[],
  congestion: string,
  alike = 1,
): Packets {
  const all = (way: 'up' | 'down'): PacketCounts => {
    const counted = countedTogether(uses.map((use) => use[way]))
    const { sent, lost } = counted
    const share = sent === 0 ? { lostShare: null, lostShareCi95: null } : lostShareOf(lost, sent, loss, alike)
    return { ...counted, ...share }
  }
  const planted = { plantedShare: loss.share, burst: rounded(loss.burst) }
  return { congestion, ...planted, up: all('up'), down: all('down') }
}

export function lostShareOf(lost: number, sent: number, loss: Loss, alike = 1) {
  const interval = shareInterval(lost, sent, alike * lossVariance(loss))
  return { lostShare: rounded(lost / sent), lostShareCi95: roundedInterval(interval) }
}

export function describePlace(profiles: readonly string[]): string {
  const networks = profiles.length > 1 ? 'simulated networks' : 'a simulated network'
  const where = profiles.length > 0 ? `behind ${networks} (${profiles.join(', ')})` : 'over loopback'
  return `a process of its own on this machine, ${where}`
}
