// A run's windows (this machine's, WebDrivers', joined devices'), their clocks and missed turns.

import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { loadCertificate } from '../../certs/certificate.ts'
import { isLoopback } from '../../scripts/addresses.ts'
import type { Browser } from '../browser/browser.ts'
import { DeviceListener, type JoinedDevice } from '../browser/joined-devices.ts'
import { openWindows, type RecordingWindow } from '../browser/typing.ts'
import { count, figure, type Section, table } from '../report/section.ts'
import type { ClockReading } from './clock.ts'
import type { Lab } from './experiment.ts'
import { file, flag, whole } from './flags.ts'
import { labelOf } from './mode-names.ts'
import { hasArrived, medianMs, type Sample } from './samples.ts'
import { type CertificateFiles, certificateIn, findFreePorts, type Ports } from './server-process.ts'
import { rounded } from './statistics.ts'
import type { ClockMethod } from './testbed.ts'

const hostName = z
  .string()
  .regex(/^[\w.:-]+$/, 'must be a name or address of this machine, lab.local or 192.168.1.5')
  .optional()

export const participantFlags = {
  windows: flag(whole(1, 50).default(5), 'N', 'simultaneously open windows'),
  remote: flag(
    z
      .array(z.url({ protocol: /^https?$/, error: 'must be a WebDriver address, http://laptop:4444' }))
      .default([]),
    'URL',
    'a WebDriver on another machine that opens a share of the windows; repeatable',
  ),
  join: flag(
    whole(0, 50).default(0),
    'N',
    'waits for N other devices, which open the link that it prints; each is an additional window',
  ),
  host: flag(hostName, 'NAME', 'name or address by which other machines reach this one', 'its first address'),
  listen: flag(hostName, 'ADDRESS', 'address to listen on', 'the host'),
  port: flag(
    whole(1, 65_000).optional(),
    'N',
    'first of three ports for other machines, or of five with two editors',
    'free ones',
  ),
  'tls-cert-file': flag(file, 'FILE', 'your own certificate', 'the one from npm start'),
  'tls-key-file': flag(file, 'FILE', 'and its key'),
}

interface Options extends z.output<z.ZodObject<typeof participantFlags>> {
  /** A server that is already running. */
  readonly server?: string | undefined
}

export interface RunWindow {
  readonly receiver: number
  /** Such as `window 2, this machine` or `device 1, Chrome 156 on Android`. */
  readonly name: string
  /** Largest error of its clock against the server's. */
  readonly boundMs: number
  /** Turns whose samples are excluded, each with the reason. */
  readonly missed: readonly string[]
}

/** Lasts the whole run; each session opens its own windows, and devices stay. */
export class Participants {
  readonly devices: readonly JoinedDevice[]
  /** Windows of several machines are compared with the server's clock. */
  readonly method: ClockMethod
  /** Null if only this machine's windows take part. */
  readonly reach: Awaited<ReturnType<typeof openReach>> | null
  readonly #listener: DeviceListener | null
  readonly #own: number
  readonly #seen: { readonly name: string; boundMs: number; readonly missed: string[] }[]

  /** Waits for the devices. */
  static async gather(options: Options, lab: Lab, opened: AsyncDisposableStack): Promise<Participants> {
    const { join: expected, remote, server, host, listen, port } = options
    const isElsewhere = remote.some((address) => !isLoopback(new URL(address).hostname))
    if (expected === 0 && host === undefined && (!isElsewhere || server !== undefined))
      return new Participants(options, null, null, [])
    const files = { certFile: options['tls-cert-file'], keyFile: options['tls-key-file'] }
    const reach = await openReach({ host, listen, port, ...files })
    if (expected === 0) return new Participants(options, reach, null, [])
    const { cert, key } = reach.certificate
    const place = { host: reach.host, listen: reach.listen, port: reach.joinPort }
    const listener = await DeviceListener.start({ ...place, cert, key, expected })
    opened.defer(() => listener.end('ended'))
    lab.say(`Open this link on ${expected === 1 ? 'one device' : `${expected} devices`}: ${listener.link}`)
    if (reach.authorityFile !== null)
      lab.say(`They must trust ${reach.authorityFile}; docs/operating.md explains how, under Certificates.`)
    const devices = await listener.gather(lab.signal, ({ name, agent }) =>
      lab.say(`Joined, ${name}: ${agent}.`),
    )
    return new Participants(options, reach, listener, devices)
  }

  private constructor(
    { windows, remote, join }: Options,
    reach: Participants['reach'],
    listener: DeviceListener | null,
    devices: readonly JoinedDevice[],
  ) {
    this.reach = reach
    this.devices = devices
    this.method = remote.length > 0 || join > 0 ? 'server exchange' : 'one machine'
    this.#listener = listener
    this.#own = windows
    // Window 1 types; browsers open the windows in rotation.
    const own = Array.from({ length: windows }, (_, place) => {
      const browser = place % (remote.length + 1)
      const where = browser === 0 ? 'this machine' : `WebDriver ${browser}`
      return `window ${place + 1}, ${where}${place === 0 ? ', types' : ''}`
    })
    const names = [...own, ...devices.map(({ name, agent }) => `${name}, ${agent}`)]
    this.#seen = names.map((name) => ({ name, boundMs: 0, missed: [] }))
  }

  /** For the report. */
  get windows(): readonly RunWindow[] {
    return this.#seen.map((window, place) => ({ receiver: place + 1, ...window }))
  }

  /** A session's windows, in order of `receiver`. */
  async open(browsers: readonly Browser[]): Promise<readonly RecordingWindow[]> {
    return [...(await openWindows(browsers, this.#own)), ...this.devices]
  }

  /**
   * Where devices reach the run's server at this index, from 0; null if all windows are on this
   * machine.
   */
  async placeOf(server: number) {
    const { reach } = this
    if (!reach) return null
    const { host, listen, certificate } = reach
    const origins = this.#listener ? [this.#listener.origin] : []
    return { host, listen, certificate, ports: await reach.portsOf(server), origins }
  }

  /** Shown on the devices. */
  say(words: string): void {
    this.#listener?.say(`${words}: keep this window in front`)
  }

  /** Whether its samples in this turn count. */
  readonly isPresent = (receiver: number): boolean => {
    return (this.devices[receiver - this.#own - 1]?.missed ?? null) === null
  }

  /**
   * Records the clocks of a turn and who missed it; resolves to a sentence for each of the latter.
   */
  noteTurn(turn: string, clocks: readonly ClockReading[]): readonly string[] {
    return clocks.flatMap(({ boundMs }, place) => {
      const window = this.#seen[place]
      if (window && this.isPresent(place + 1)) window.boundMs = Math.max(window.boundMs, boundMs)
      const { name = '', missed = null } = this.devices[place - this.#own] ?? {}
      if (missed === null) return []
      window?.missed.push(`${turn}: ${missed}`)
      return [`without ${name}, which ${missed}`]
    })
  }

  async end(): Promise<void> {
    await this.#listener?.end('done')
  }
}

/** Medians in ms by mode; null without arrivals. */
export function summariseWindow(
  modes: readonly string[],
  samples: readonly Sample[],
  { receiver, name, boundMs, missed }: RunWindow,
) {
  const own = samples.filter((sample) => sample.receiver === receiver)
  const medians = modes.map((name) => [name, medianMs(own.filter(({ mode }) => mode === name))] as const)
  const n = own.filter(hasArrived).length
  const p50Ms = Object.fromEntries(medians)
  return { receiver, name, n, lost: own.length - n, p50Ms, boundMs: rounded(boundMs), missed }
}

const mostNamed = 5

/** Empty if all windows are on this machine. */
export function windowsSections(
  windows: readonly ReturnType<typeof summariseWindow>[],
  modes: readonly string[],
): readonly Section[] {
  if (windows.length === 0) return []
  const absent = windows
    .filter(({ missed }) => missed.length > 0)
    .map(({ name, missed }) => {
      const more = missed.length > mostNamed ? `; and ${count(missed.length - mostNamed)} more` : ''
      return `${name}, missed turns: ${missed.slice(0, mostNamed).join('; ')}${more}. Its samples in these turns are excluded from every figure.`
    })
  return [
    {
      title: 'Window by window',
      tables: [
        table(
          'Median transmission time to each window, and the largest error of its clock, in milliseconds',
          ['Window', ...modes.map(labelOf), 'Clock', 'Received', 'Lost', 'Turns missed'],
          windows.map(({ name, p50Ms, boundMs, n, lost, missed }) => [
            ...[name, ...modes.map((mode) => p50Ms[mode])],
            ...[n + lost === 0 ? '–' : `± ${figure(boundMs)}`, ...[n, lost, missed.length].map(count)],
          ]),
        ),
      ],
      paragraphs: [
        'Over all sessions. A clock’s error is relative to the server’s clock; a time from window 1 to another window is off by at most the sum of both, and one from window 1 to itself by nothing.',
        ...absent,
      ],
    },
  ]
}

interface ReachSettings {
  /** Name or address of this machine; default: its first address not on a loopback interface. */
  readonly host?: string | undefined
  /** Address to listen on; default: the host. */
  readonly listen?: string | undefined
  /** First of the ports; default: free ones. */
  readonly port?: number | undefined
  /** PEM; default: the certificate of `npm start`. */
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
}

const certs = join(import.meta.dirname, '../../certs')

/**
 * Where other machines reach this one. Ports stay the same for the whole run, so that a browser's
 * certificate exception does too.
 */
async function openReach({ host = ownAddress(), listen = host, port, certFile, keyFile }: ReachSettings) {
  const isOwn = certFile !== undefined && keyFile !== undefined
  const certificate: CertificateFiles = isOwn
    ? { ...(await loadCertificate({ certFile, keyFile }, new Date())), certFile, keyFile }
    : await certificateIn(certs, [host])
  const chosen = new Map<number, Promise<Ports>>()
  const choose = async (place: number): Promise<Ports> => {
    if (port === undefined) return findFreePorts()
    return { '2': port + 1 + 2 * place, '1.1': port + 2 + 2 * place }
  }
  return {
    host,
    listen,
    certificate,
    /** The file that devices must trust; null for a certificate of the user's own. */
    authorityFile: isOwn ? null : 'certs/authority.pem',
    /** 0 for a free one. */
    joinPort: port ?? 0,
    /** Ports of the run's server at this index, from 0. */
    portsOf: (place: number) => chosen.getOrInsertComputed(place, choose),
  }
}

function ownAddress(): string {
  const entries = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const found = entries.find(({ internal, family }) => !internal && family === 'IPv4')
  if (found) return found.address
  throw new Error(
    'This machine has no address that others could reach; set one with --host, or use --host 127.0.0.1 for this machine alone.',
  )
}
