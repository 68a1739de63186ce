// The machines of a run: this one, WebDrivers', joined devices'; where they reach the lab's server.

import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { loadCertificate } from '../../certs/certificate.ts'
import { isLoopback } from '../../scripts/addresses.ts'
import { type Browser, type Http3Opening, startBrowser } from '../browser/browser.ts'
import { DeviceListener, type JoinedDevice } from '../browser/joined-devices.ts'
import type { ClockMethod } from './clock.ts'
import { file, flag, whole } from './flags.ts'
import type { Lab } from './run-sessions.ts'
import { type CertificateFiles, certificateIn, findFreePorts, type Ports } from './server-process.ts'

const hostName = z
  .string()
  .regex(/^[\w.:-]+$/, 'must be a name or address of this machine, lab.local or 192.168.1.5')
  .optional()

/** Completes the help texts of the flags for other machines. */
interface MachineWords {
  /** Follows `a WebDriver on another machine that opens`. */
  readonly remote: string
  /** Follows `waits for N other devices, which open the link that it prints`. */
  readonly join: string
  /** The part of a run that needs more than three ports. */
  readonly ports?: string
}

export const machineFlags = ({ remote, join, ports }: MachineWords) => ({
  server: flag(
    z.url({ protocol: /^https$/, error: 'must be an https address, https://host:8443' }).optional(),
    'URL',
    'a running server',
    'one started for the run',
  ),
  remote: flag(
    z
      .array(z.url({ protocol: /^https?$/, error: 'must be a WebDriver address, http://laptop:4444' }))
      .default([]),
    'URL',
    `a WebDriver on another machine that opens ${remote}; repeatable`,
  ),
  join: flag(
    whole(0, 50).default(0),
    'N',
    `waits for N other devices, which open the link that it prints; ${join}`,
  ),
  host: flag(hostName, 'NAME', 'name or address by which other machines reach this one', 'its first address'),
  listen: flag(hostName, 'ADDRESS', 'address to listen on', 'the host'),
  port: flag(
    whole(1, 65_000).optional(),
    'N',
    `first of three ports for other machines${ports ? `, or ${ports}` : ''}`,
    'free ones',
  ),
  'tls-cert-file': flag(file, 'FILE', 'your own certificate', 'the one from npm start'),
  'tls-key-file': flag(file, 'FILE', 'and its key'),
})

export type MachineOptions = z.output<z.ZodObject<ReturnType<typeof machineFlags>>>

/** Throws one sentence for flags that exclude or need each other. */
export function refuseMachines(given: MachineOptions): void {
  const { server, join, host } = given
  if (server !== undefined && (join > 0 || host !== undefined))
    throw new Error('the lab starts the server that devices join: leave out --server, or --join and --host.')
  if ((given['tls-cert-file'] === undefined) !== (given['tls-key-file'] === undefined))
    throw new Error('--tls-cert-file and --tls-key-file belong together.')
}

/** Lasts the whole run; each session has its own browsers, and devices stay. */
export class Machines {
  readonly devices: readonly JoinedDevice[]
  /** Machines with browsers: this one, then the WebDrivers'. */
  readonly browsers: readonly string[]
  /** Windows of several machines are compared with the server's clock. */
  readonly method: ClockMethod
  /** Null if only this machine's windows take part. */
  readonly reach: Awaited<ReturnType<typeof openReach>> | null
  readonly #remote: readonly string[]
  readonly #listener: DeviceListener | null

  /** Waits for the devices. */
  static async gather(options: MachineOptions, lab: Lab, opened: AsyncDisposableStack): Promise<Machines> {
    const { join: expected, remote, server, host, listen, port } = options
    const isElsewhere = remote.some((address) => !isLoopback(new URL(address).hostname))
    if (expected === 0 && host === undefined && (!isElsewhere || server !== undefined))
      return new Machines(options, null, null, [])
    const files = { certFile: options['tls-cert-file'], keyFile: options['tls-key-file'] }
    const reach = await openReach({ host, listen, port, ...files })
    if (expected === 0) return new Machines(options, reach, null, [])
    const { cert, key } = reach.certificate
    const place = { host: reach.host, listen: reach.listen, port: reach.joinPort }
    const listener = await DeviceListener.start({ ...place, cert, key, expected })
    opened.defer(() => listener.end('ended'))
    lab.progress.say(
      `Open this link on ${expected === 1 ? 'one device' : `${expected} devices`}: ${listener.link}`,
    )
    if (reach.authorityFile !== null)
      lab.progress.say(
        `They must trust ${reach.authorityFile}; docs/operating.md explains how, under Certificates.`,
      )
    const devices = await listener.gather(lab.signal, ({ name, agent }) =>
      lab.progress.say(`Joined, ${name}: ${agent}.`),
    )
    return new Machines(options, reach, listener, devices)
  }

  private constructor(
    { remote, join }: MachineOptions,
    reach: Machines['reach'],
    listener: DeviceListener | null,
    devices: readonly JoinedDevice[],
  ) {
    this.reach = reach
    this.devices = devices
    this.browsers = ['this machine', ...remote.map((_, index) => `WebDriver ${index + 1}`)]
    this.method = remote.length > 0 || join > 0 ? 'server exchange' : 'one machine'
    this.#remote = remote
    this.#listener = listener
  }

  /** One for each of `browsers`; without `isHere` not on this machine. */
  async startBrowsers(
    opened: AsyncDisposableStack,
    { headed = false, isHere = true, http3 = null as Http3Opening | null } = {},
  ): Promise<readonly Browser[]> {
    const browsers: Browser[] = []
    for (const remote of [...(isHere ? [undefined] : []), ...this.#remote]) {
      const browser = await startBrowser({ headed, remote, http3 })
      opened.defer(browser.quit)
      browsers.push(browser)
    }
    return browsers
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

  async end(): Promise<void> {
    await this.#listener?.end('done')
  }
}

/** Reports are published: without this machine's name. */
export const withoutHost = (command: string) => command.replaceAll(/(--(?:host|listen)[ =])\S+/g, '$1HOST')

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
  const choose = async (index: number): Promise<Ports> => {
    if (port === undefined) return findFreePorts()
    return { '2': port + 1 + 2 * index, '1.1': port + 2 + 2 * index }
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
    portsOf: (index: number) => chosen.getOrInsertComputed(index, choose),
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
