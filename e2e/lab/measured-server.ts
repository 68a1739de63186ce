// Servers and peers that a scenario measures, where asked for behind a simulated network.

import { join } from 'node:path'
import type { Mode } from '../../server/wire/modes.ts'
import { createSeededRandom } from '../../server/wire/time.ts'
import { type Link, startLink } from '../network/delay-link.ts'
import { type ProfileName, profiles } from '../network/profiles.ts'
import {
  type CertificateFiles,
  findFreePorts,
  type MeasuredServer,
  makeServerFolder,
  type Ports,
  serverProgram,
  startServerProcess,
} from './server-process.ts'
import { rounded } from './statistics.ts'

interface Network {
  readonly profile?: ProfileName | undefined
  readonly seed: number
}

/** Of a report, where a network was simulated; `lateMs` is what the relay itself added in each session. */
export function describeNetwork(profile: ProfileName | undefined, lateMs: readonly number[]) {
  if (profile === undefined) return {}
  return { network: { profile, source: profiles[profile].source, lateMs: rounded(Math.max(...lateMs)) } }
}

export function describePlace(profile: ProfileName | undefined): string {
  const where = profile ? `behind a simulated network (${profile})` : 'over loopback'
  return `a process of its own on this machine, ${where}`
}

/** Where other machines reach it. */
interface Place {
  /** In its addresses, and what it listens on. */
  readonly host: string
  readonly listen: string
  readonly certificate: CertificateFiles
  readonly ports: Ports
  /** Whose pages may use it, beside its own. */
  readonly origins: readonly string[]
}

/** It stamps the stages of messages. `opened` closes it; `links` gets the links that this starts. */
export async function startMeasuredServer(
  scenario: string,
  settings: Readonly<Record<string, string | number>>,
  network: Network,
  links: Link[],
  opened: AsyncDisposableStack,
  place?: Place | null,
): Promise<MeasuredServer> {
  const folder = await makeServerFolder(scenario, place?.certificate)
  opened.defer(folder.remove)
  // Chosen first where links are, because server and links need each other's addresses.
  const ports = place?.ports ?? (network.profile ? await findFreePorts() : { '2': 0, '1.1': 0 })
  const origin = await linkTo(ports, network, links, opened)
  const allowed = [...Object.values(origin ?? {}), ...(place?.origins ?? [])]
  const flags = folder.flags({
    ...{ host: place?.listen ?? 'localhost', port: ports['2'], 'http1-port': ports['1.1'] },
    ...settings,
    ...(place && { access: 'open' }),
    ...(allowed.length > 0 && { 'allowed-origins': allowed.join(',') }),
  })
  const started = await startServerProcess(serverProgram, flags, { stages: true, host: place?.host })
  opened.defer(started.close)
  return { ...started, origin: origin ?? started.origin }
}

/** `relay`: its arguments for `peers/relays.ts`. */
export async function startPeer(
  relay: readonly string[],
  network: Network,
  links: Link[],
  opened: AsyncDisposableStack,
): Promise<MeasuredServer> {
  const started = await startServerProcess(join(import.meta.dirname, '../peers/relays.ts'), relay, {
    stages: true,
  })
  opened.defer(started.close)
  const origin = await linkTo(portsOf(started), network, links, opened)
  return { ...started, origin: origin ?? started.origin }
}

/** Of a page that records, in that mode. */
export function recordingAddress({ origin }: Pick<MeasuredServer, 'origin'>, mode: Mode, channel: string) {
  const { transport, http } = mode
  return `${origin[http]}/?${new URLSearchParams({ transport, http, channel, record: '' })}`
}

const portsOf = ({ origin }: Pick<MeasuredServer, 'origin'>): Ports => ({
  '2': Number(new URL(origin['2']).port),
  '1.1': Number(new URL(origin['1.1']).port),
})

/** The addresses of links to these ports; null where no network is simulated. */
async function linkTo(
  ports: Ports,
  { profile, seed }: Network,
  links: Link[],
  opened: AsyncDisposableStack,
): Promise<MeasuredServer['origin'] | null> {
  if (profile === undefined) return null
  const start = async (targetPort: number) => {
    const link = await startLink({ targetPort, profile: profiles[profile], random: createSeededRandom(seed) })
    opened.defer(link.close)
    links.push(link)
    return `https://localhost:${link.port}`
  }
  return { '2': await start(ports['2']), '1.1': await start(ports['1.1']) }
}
