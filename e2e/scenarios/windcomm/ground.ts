// What a run stands on: a server of its own with a simulated sensor, and a stretch of network for each method at each site.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureCertificate } from '../../../certs/certificate.ts'
import type { Mode } from '../../../server/wire/modes.ts'
import { createSeededRandom } from '../../../server/wire/random.ts'
import type { Polling } from '../../../server/wire/settings.ts'
import { type Ports, type StartedServer, startServerProcess } from '../../lab/server-process.ts'
import { type LinkUse, lateBetween } from '../../lab/windcomm/links.ts'
import type { Site } from '../../lab/windcomm/run.ts'
import { type Link, type LinkFigures, startLink } from '../../network/link.ts'
import { findFreePorts } from '../../resilience/free-ports.ts'

export interface GroundPlan {
  readonly sites: readonly Site[]
  readonly modes: readonly Mode[]
  readonly rateHz: number
  readonly polling: Polling
}

export interface Ground {
  readonly server: StartedServer
  /** The certificate to trust, PEM. */
  readonly ca: string
  readonly polling: Polling
  /** Where the server is for that method at that site, through its link. */
  readonly originOf: (site: string, mode: string) => string
  /** From now on readings count. Returns what tells of the links, when they do no more. */
  readonly watchLinks: () => () => readonly LinkUse[]
}

const root = join(import.meta.dirname, '../../..')

/** Whatever is opened is deferred to be closed. */
export async function openGround(
  { sites, modes, rateHz, polling }: GroundPlan,
  opened: AsyncDisposableStack,
): Promise<Ground> {
  // A log of its own: neither what somebody wrote before nor a server that runs already has part in the run.
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-windcomm-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const certs = join(folder, 'certs')
  const { cert } = await ensureCertificate({ directory: certs, now: new Date() })
  // The server has to know the links' origins, and the links its ports: so these are chosen first.
  const ports = await findFreePorts()
  const stretches = await startLinks(sites, modes, ports, opened)
  const settings = {
    host: 'localhost',
    port: ports['2'],
    'http1-port': ports['1.1'],
    'tls-cert-file': join(certs, 'server.pem'),
    'tls-key-file': join(certs, 'server.key'),
    'data-folder': join(folder, 'data'),
    // Pages set their clocks against the server's own port, which is another origin than that of their link.
    'allowed-origins': stretches.map(({ origin }) => origin).join(','),
    share: 'none',
    'polling-interval-ms': polling.intervalMs,
    'polling-hold-ms': polling.holdMs,
    'drain-ms': 1000,
    'sensor-source': 'simulated',
    'sensor-rate-hz': rateHz,
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = await startServerProcess(join(root, 'server/main.ts'), flags)
  opened.defer(server.close)
  return { server, ca: cert, polling, originOf: originIn(stretches), watchLinks: () => watch(stretches) }
}

interface Stretch {
  readonly site: string
  readonly mode: string
  readonly link: Link
  readonly origin: string
}

/**
 * One for each method, so that none waits behind another's bytes and an HTTP/2 connection is not shared. All at one time and
 * with one seed for a site: every method there meets the same queues and stalls at the same moments.
 */
async function startLinks(
  sites: readonly Site[],
  modes: readonly Mode[],
  ports: Ports,
  opened: AsyncDisposableStack,
): Promise<readonly Stretch[]> {
  const started = sites.flatMap(({ name: site, profile, seed }) =>
    modes.map(async (mode): Promise<Stretch> => {
      const link = await startLink({
        targetPort: ports[mode.http],
        profile,
        random: createSeededRandom(seed),
      })
      opened.defer(link.close)
      return { site, mode: mode.name, link, origin: `https://localhost:${link.port}` }
    }),
  )
  return Promise.all(started)
}

function originIn(stretches: readonly Stretch[]): Ground['originOf'] {
  return (site, mode) => {
    const found = stretches.find((stretch) => stretch.site === site && stretch.mode === mode)
    if (!found) throw new Error(`There is no link for ${mode} at ${site}.`)
    return found.origin
  }
}

function watch(stretches: readonly Stretch[]): () => readonly LinkUse[] {
  const before = stretches.map(({ link }) => link.figures())
  return () => stretches.map((stretch, place) => useOf(stretch, before[place]))
}

function useOf({ site, mode, link }: Stretch, before: LinkFigures | undefined): LinkUse {
  const after = link.figures()
  return { site, mode, ...after, lateMs: before ? lateBetween(before, after) : 0 }
}
