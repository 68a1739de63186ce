// The systems of a session: Crosswind's modes and peers in one form, behind networks.

import { z } from 'zod'
import { type ByHttp, createSeededRandom, type WindowMode, windowHttpVersions } from '../../client/wire.ts'
import type { Figures } from '../../scripts/process.ts'
import type { Http3Opening } from '../browser/browser.ts'
import { type Link, meanLateness, startLink } from '../network/delay-link.ts'
import { PacketNetwork } from '../network/packet-network.ts'
import { type Profile, profiles, readProfile } from '../network/profiles.ts'
import type { Ready, Starting } from '../peers/adapter-process.ts'
import { imitatedModes, nameOfPeer, type Peer, type PeerFacts, peerLabel } from '../peers/peers.ts'
import { flag, wordsOnce } from './flags.ts'
import { type FrontPorts, startFront } from './front.ts'
import { type EditorName, labelOf, requireMode } from './mode-names.ts'
import { type NetworkUse, packetUse } from './network-report.ts'
import { readUse } from './process-recorder.ts'
import { programs } from './programs.ts'
import {
  type CertificateFiles,
  findFreePorts,
  freePortsFor,
  type MeasuredServer,
  makeServerFolder,
  type Ports,
  type StartedServer,
  startServerProcess,
} from './server-process.ts'

/** A server's mode, as used by a measurement. */
export interface System {
  /** `sse/2`, with several editors or settings `sse/2 mirror`; for a peer `bare:sse/2`. */
  readonly name: string
  readonly mode: WindowMode
  readonly editor: EditorName
  readonly server: Pick<MeasuredServer, 'origin' | 'stages'> & {
    readonly figures: () => Promise<Pick<Figures, 'cpuMs' | 'rssBytes'>>
  }
  /** Between the windows and the server, if there is one. */
  readonly front?: MeasuredFront | undefined
  /** Its pages, an adapter's, open without content: the lab fills each with the content so far. */
  readonly forgets: boolean
  /** Only for a peer. */
  readonly peer?: StartedPeer
}

interface MeasuredFront {
  readonly use: () => Promise<Use>
}

interface StartedPeer {
  /** `bare+5ms`. */
  readonly name: string
  /** It loses and repeats messages on purpose. */
  readonly isSpoiled: boolean
  /** A sentence if one of its processes has ended, else null. */
  readonly end: () => string | null
  readonly close: () => Promise<void>
}

const profileNames = Object.keys(profiles).join(', ')

export const profileName = z
  .string()
  .refine(
    (words) => readProfile(words) !== null,
    `there are ${profileNames}, each also with a loss of packets of up to 50 %, such as wan+1%, and wan+1%x4 for bursts of 4`,
  )

const networkWords = `a simulated network between windows and server: ${profileNames}; wan+1% also loses one packet in a hundred, wan+1%x4 in bursts of 4 (Linux, root)`

export const profileFlag = flag(profileName.transform((one) => [one]).default([]), 'NAME', networkWords)

export const profilesFlag = flag(
  wordsOnce.pipe(z.array(profileName)).default([]),
  'LIST',
  `${networkWords}; several are compared with the first`,
)

/** Where other machines reach a server. */
interface Endpoint {
  /** The name in its addresses, and the address it listens on. */
  readonly host: string
  readonly listen: string
  readonly certificate: CertificateFiles
  readonly ports: Ports
  /** Origins whose pages may use it, besides its own. */
  readonly origins: readonly string[]
}

/** How its process is started. */
interface How {
  /** Modules that it loads first, by URL. */
  readonly imports?: readonly string[]
  /** Precedes the program and its arguments. */
  readonly through?: readonly string[]
}

interface NetworkOptions {
  /** Servers are reached over each. */
  readonly profile: readonly string[]
  readonly seed: number
  /** Servers are reached through Caddy. */
  readonly front?: boolean
}

/** A server over one network. */
export interface ReachedServer extends MeasuredServer {
  readonly front?: MeasuredFront | undefined
}

/** The server's host behind networks, one of which loses packets. */
interface FarHost {
  readonly network: PacketNetwork
  /** In order of the profiles. */
  readonly paths: Awaited<ReturnType<PacketNetwork['addPath']>>[]
}

type Origins = readonly ByHttp<string>[]

type Settings = Readonly<Record<string, string | number>>

/** Everything that it starts ends with `opened`. */
export class Testbed {
  readonly #scenario: string
  readonly #profiles: readonly Profile[]
  readonly #seed: number
  readonly #hasFront: boolean
  readonly #opened: AsyncDisposableStack
  /** Origins over HTTP/3, and their certificates. */
  readonly #overUdp: { readonly origins: string[]; readonly certificates: string[] } = {
    origins: [],
    certificates: [],
  }
  /** In order of the profiles. */
  readonly #links: Link[][]
  #far: FarHost | null = null

  /** `session`: each loses other packets. */
  constructor(
    scenario: string,
    { profile, seed, front = false }: NetworkOptions,
    session: number,
    opened: AsyncDisposableStack,
  ) {
    this.#scenario = scenario
    this.#profiles = profile.flatMap((words) => readProfile(words) ?? [])
    this.#links = profile.map(() => [])
    this.#seed = (seed + session) % 2 ** 32
    this.#hasFront = front
    this.#opened = opened
  }

  /** HTTP/3 settings for a browser that is to reach the servers that have started. */
  get http3(): Http3Opening | null {
    return this.#overUdp.origins.length === 0 ? null : this.#overUdp
  }

  /** Counts of the simulated networks so far. */
  async networkUses(): Promise<readonly NetworkUse[]> {
    const far = this.#far
    if (!far)
      return this.#links.map((links) => ({ lateMs: meanLateness(links.map((link) => link.figures())) }))
    const figures = await far.network.figures()
    return far.paths.map((path) => packetUse(figures.filter(({ number }) => number === path.number)))
  }

  /**
   * For traffic that is not measured, such as the loading of a page, which takes long if packets are
   * lost.
   */
  async withoutLoss<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#far?.network.spare(true)
    const result = await work()
    await this.#far?.network.spare(false)
    return result
  }

  /**
   * A Crosswind server, which stamps the stages of messages: the same one over each network, or over
   * none.
   */
  async startServer(
    settings: Settings,
    endpoint?: Endpoint | null,
    how: How = {},
  ): Promise<readonly [ReachedServer, ...ReachedServer[]]> {
    const far = await this.#farHost()
    const addresses = far?.paths.map(({ address }) => address) ?? []
    const folder = await makeServerFolder(this.#scenario, endpoint?.certificate, addresses)
    this.#opened.defer(folder.remove)
    // Chosen first, because server and networks need each other's addresses.
    const ports =
      endpoint?.ports ?? (this.#profiles.length > 0 ? await findFreePorts() : { '2': 0, '1.1': 0 })
    const frontPorts = this.#hasFront ? await freePortsFor(windowHttpVersions) : null
    const origins = await this.#reach(frontPorts ?? ports)
    const allowed = [...origins.flatMap((origin) => Object.values(origin)), ...(endpoint?.origins ?? [])]
    const flags = folder.flags({
      host: endpoint?.listen ?? (far ? everywhere : 'localhost'),
      port: ports['2'],
      'http1-port': ports['1.1'],
      'sensor-source': 'none',
      // Behind a front pages offer it only if it is the default.
      ...(frontPorts && { http: '3' }),
      ...settings,
      ...((endpoint || far) && { access: 'open' }),
      ...(allowed.length > 0 && { 'allowed-origins': allowed.join(',') }),
    })
    const { through, ...where } = far ? startingOn(far) : { host: endpoint?.host, through: [] }
    const started = await startServerProcess(programs.server, flags, {
      stages: true,
      imports: how.imports ?? [],
      through: [...through, ...(how.through ?? [])],
      ...where,
    })
    this.#opened.defer(started.close)
    const front = frontPorts ? await this.#startFront(frontPorts, started, folder) : undefined
    const [first = started.origin, ...others] = origins
    const reached = { ...started, front }
    return [{ ...reached, origin: first }, ...others.map((origin) => ({ ...reached, origin }))]
  }

  async #startFront(
    ports: FrontPorts,
    { origin }: Pick<StartedServer, 'origin'>,
    { ca, certFile, keyFile }: Awaited<ReturnType<typeof makeServerFolder>>,
  ): Promise<MeasuredFront> {
    const upstreamPort = Number(new URL(origin['1.1']).port)
    const far = this.#far
    const front = await startFront({
      host: far ? everywhere : 'localhost',
      ports,
      upstreamPort,
      certFile,
      keyFile,
      ...(far && { through: far.network.there, askedAt: far.network.control }),
    })
    this.#opened.defer(front.close)
    this.#overUdp.origins.push(...(await this.#reach(ports)).flatMap((reached) => reached['3'] ?? []))
    this.#overUdp.certificates.push(ca)
    return front
  }

  /** Starts a system for each mode that the peer imitates. Rejects if its adapter fails. */
  async startPeer(
    peer: Peer,
    modes: readonly string[],
  ): Promise<{ readonly systems: readonly System[]; readonly facts: PeerFacts }> {
    const { file, address, fault } = peer
    const { started, ready, origins } = await this.#startAdapter({ file, address, fault })
    const own = imitatedModes(ready.modes, modes)
    if (own.length === 0) throw new Error(`none of its modes is measured: ${ready.modes.join(', ')}`)
    if (ready.address !== null && this.#profiles.length > 0)
      throw new Error(`--profile simulates a network only for systems that use the page’s servers`)
    const { origin: here, figures } = started
    const [origin = here] = origins
    const { pid } = ready
    const use = pid === started.pid ? figures : async () => (pid === null ? unknownUse : readUse(pid))
    const server: System['server'] = {
      origin,
      figures: () => inTime(use()),
      stages: () => inTime(started.stages()),
    }
    const name = nameOfPeer(peer)
    const { close } = started
    const running = { name, isSpoiled: fault === 'faults', close, end: endOf(started, pid) }
    const label = peerLabel(name)
    const transport = own.map(labelOf).join('; ')
    return {
      systems: own.map((mode) => ({
        name: `${name}:${mode}`,
        mode: requireMode(mode),
        editor: 'mirror',
        forgets: true,
        server,
        peer: running,
      })),
      facts: { name, label, transport, version: ready.version, address: ready.address },
    }
  }

  /** The mirror editor: the same one over each network, or over none. */
  async startMirror(how: How = {}): Promise<readonly [ReachedServer, ...ReachedServer[]]> {
    const { started, origins } = await this.#startAdapter({ file: programs.mirror }, how)
    const [first = started.origin, ...others] = origins
    return [{ ...started, origin: first }, ...others.map((origin) => ({ ...started, origin }))]
  }

  /** `origins`: over each network. */
  async #startAdapter(starting: Starting, { imports = [], through = [] }: How = {}) {
    const far = await this.#farHost()
    const given: Starting = { ...starting, ...(far && { host: everywhere }) }
    const where = far ? startingOn(far) : { through: [] }
    const started = await startServerProcess(programs.adapter, [JSON.stringify(given)], {
      stages: true,
      imports,
      ...where,
      through: [...where.through, ...through],
    })
    this.#opened.defer(started.close)
    const portOf = (http: keyof Ports) => Number(new URL(started.origin[http]).port)
    const origins = await this.#reach({ '2': portOf('2'), '1.1': portOf('1.1') })
    return { started, ready: started.more as Ready, origins }
  }

  /** Null unless packets are lost, or datagrams carried. */
  async #farHost(): Promise<FarHost | null> {
    if (!this.#far && this.#profiles.some(({ loss }) => loss || this.#hasFront)) {
      const network = await PacketNetwork.open('cubic')
      this.#opened.defer(network.close)
      const paths: FarHost['paths'] = []
      for (const profile of this.#profiles) paths.push(await network.addPath(profile, this.#seed))
      this.#far = { network, paths }
    }
    return this.#far
  }

  /** The addresses of these ports over each network. */
  async #reach(ports: ByHttp<number>): Promise<Origins> {
    if (this.#far || this.#hasFront) {
      const hosts = this.#far?.paths.map(({ address }) => address) ?? ['localhost']
      return hosts.map((host) => ({
        '2': `https://${host}:${ports['2']}`,
        '1.1': `https://${host}:${ports['1.1']}`,
        ...(ports['3'] && { '3': `https://${host}:${ports['3']}` }),
      }))
    }
    const start = async (profile: Profile, targetPort: number) => {
      const link = await startLink({ targetPort, profile, random: createSeededRandom(this.#seed) })
      this.#opened.defer(link.close)
      this.#links[this.#profiles.indexOf(profile)]?.push(link)
      return `https://localhost:${link.port}`
    }
    const origins: ByHttp<string>[] = []
    for (const profile of this.#profiles)
      origins.push({ '2': await start(profile, ports['2']), '1.1': await start(profile, ports['1.1']) })
    return origins
  }
}

const unknownUse: Use = { cpuMs: Number.NaN, rssBytes: Number.NaN }

/** `pid`: of the system, which may be another process. */
function endOf({ pid: own, exited, errors }: StartedServer, pid: number | null): () => string | null {
  let hasEnded = false
  void exited.then(() => {
    hasEnded = true
  })
  return () => {
    const [last = ''] = errors().trim().split('\n').slice(-1)
    if (hasEnded) return `its process ended${last && `: ${last}`}`
    if (pid === null || pid === own || isRunning(pid)) return null
    return `process ${pid}, which start() named, ended${last && `: ${last}`}`
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const answerWithinMs = 10_000

async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  const { promise, reject } = Promise.withResolvers<never>()
  const late = new Error(`its process did not answer within ${answerWithinMs / 1000} s`)
  const timer = setTimeout(reject, answerWithinMs, late)
  try {
    return await Promise.race([answer, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Where a server on the far host listens. */
export const everywhere = '0.0.0.0'

/** The lab reads its figures beside the lossy path. */
const startingOn = ({ network, paths: [path] }: FarHost) => ({
  host: path?.address,
  askedAt: network.control,
  through: network.there,
})

/** The address of a page that records, in this mode. */
export function recordingAddress(system: Pick<System, 'server' | 'mode'>, channel: string) {
  const { transport, http } = system.mode
  return `${originOf(system)}/?${new URLSearchParams({ transport, http, channel, record: '' })}`
}

export function originOf({ server, mode }: Pick<System, 'server' | 'mode'>): string {
  const origin = server.origin[mode.http]
  if (origin === undefined) throw new Error(`${mode.name} needs a front.`)
  return origin
}

export interface Use {
  readonly cpuMs: number
  readonly rssBytes: number
}
