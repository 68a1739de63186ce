// A WindComm run on real machines: a server with its own sensor, windows that reach it directly.

import { z } from 'zod'
import { type ClockReading, combine, type Mode, type Polling } from '../../client/wire.ts'
import { readClocks } from '../browser/typing.ts'
import { flag } from '../lab/flags.ts'
import { type MachineOptions, Machines, machineFlags, refuseMachines } from '../lab/machines.ts'
import { requireModes } from '../lab/mode-names.ts'
import { programs } from '../lab/programs.ts'
import type { Lab } from '../lab/run-sessions.ts'
import {
  findFreePorts,
  joinServer,
  type MeasuredServer,
  makeServerFolder,
  startServerProcess,
} from '../lab/server-process.ts'
import { listed } from '../report/section.ts'
import { paperPace } from './windcomm-paper.ts'
import {
  type Access,
  type Arrangement,
  addClocks,
  type ComparedClock,
  followOwnClock,
  type ListeningWindow,
  type MachineSite,
  newSmallWindow,
  openClient,
  openPage,
  openReferenceClient,
  type Page,
  settingsFor,
  type Testbed,
} from './windcomm-testbed.ts'

/** The server's settings of the port; it refuses a wrong value. */
const portSetting = (value: string, meaning: string, initial?: string) =>
  flag(z.string().min(1).optional(), value, meaning, initial)

const portFlags = {
  'sensor-path': portSetting('FILE', 'serial port of the WindSonic, such as /dev/ttyUSB0'),
  'sensor-baud-rate': portSetting('N', 'bit rate of the serial port', '9600'),
  'sensor-parity': portSetting('NAME', 'parity of the serial port, with 8 data bits', 'none'),
  'sensor-mode': portSetting('NAME', 'continuous, or polled', 'continuous'),
  'sensor-node': portSetting('LETTER', 'the sensor that a poll asks, A to Z', 'Q'),
}

const portNames = Object.keys(portFlags) as readonly (keyof typeof portFlags)[]

export const realMachineFlags = {
  ...machineFlags({ remote: 'windows there, a site', join: 'each is a site' }),
  sensor: flag(
    z.enum(['simulated', 'serial'], 'there are simulated, serial').optional(),
    'NAME',
    'of the server that the lab starts: simulated, or serial, a WindSonic on the port --sensor-path',
    'simulated',
  ),
  ...portFlags,
}

interface Given extends z.output<z.ZodObject<typeof realMachineFlags>> {
  readonly sites?: readonly string[] | undefined
  readonly faster: number
  readonly rate?: number | undefined
  readonly hold?: number | undefined
  readonly interval?: number | undefined
}

export type RealMachines = NonNullable<ReturnType<typeof readMachines>>

/**
 * Null for simulated sites. Pace is null where it is that of the sensor or of a running server.
 * Throws one sentence for flags that exclude or need each other.
 */
export function readMachines(given: Given) {
  refuseMachines(given)
  const { server, remote, join, host, sensor, rate, hold, interval } = given
  const port = portNames.filter((name) => given[name] !== undefined)
  const named = (names: readonly (string | false)[]) => names.filter((name) => name !== false)
  const refuse = (wrong: readonly string[], why: string, instead: readonly string[]) => {
    if (wrong.length > 0 && instead.length > 0)
      throw new Error(`${why}: leave out ${listed(wrong)}, or ${listed(instead)}.`)
  }
  const isSerial = sensor === 'serial'
  const isPolled = given['sensor-mode'] === 'polled'
  const ofSensor = named([sensor !== undefined && '--sensor', ...port.map((name) => `--${name}`)])
  const ofPace = named([
    rate !== undefined && '--rate',
    hold !== undefined && '--hold',
    interval !== undefined && '--interval',
  ])
  refuse(server === undefined ? [] : ['--server'], 'a running server has its own sensor and pace', [
    ...ofSensor,
    ...ofPace,
  ])
  const [first] = port
  if (first && !isSerial)
    throw new Error(`--${first} is of --sensor serial: add that, or leave out --${first}.`)
  const real = named([
    server !== undefined && '--server',
    remote.length > 0 && '--remote',
    join > 0 && '--join',
    host !== undefined && '--host',
    isSerial && '--sensor serial',
  ])
  refuse(
    given.sites === undefined ? [] : ['--sites'],
    '--sites names networks that are simulated on this machine',
    real,
  )
  refuse(
    given.faster === 1 ? [] : ['--faster'],
    '--faster speeds up simulated networks, not real ones and no sensor',
    real,
  )
  if (isSerial && given['sensor-path'] === undefined)
    throw new Error(
      '--sensor serial needs --sensor-path, such as /dev/ttyUSB0; npm run sensor -- --list shows the ports.',
    )
  refuse(
    isSerial && !isPolled && rate !== undefined ? ['--rate'] : [],
    'the sensor sends at its own rate unless it is polled',
    ['add --sensor-mode polled'],
  )
  if (real.length === 0) return null
  const isOwn = server === undefined
  const rateHz = isOwn && (isPolled || !isSerial) ? (rate ?? paperPace.rateHz) : null
  return {
    given: given as MachineOptions,
    rateHz,
    /** Null for that of the running server. */
    polling: isOwn
      ? { holdMs: hold ?? paperPace.holdMs, intervalMs: interval ?? paperPace.intervalMs }
      : null,
    /** Settings of the server that the lab starts. */
    sensor: {
      'sensor-source': sensor ?? 'simulated',
      ...Object.fromEntries(port.map((name) => [name, given[name] ?? ''])),
      ...(rateHz !== null && { 'sensor-rate-hz': rateHz }),
    },
  }
}

interface Options {
  readonly modes: readonly string[]
  readonly browsersAt: string | null
  readonly machines: RealMachines
}

/** Waits for the devices that join. */
export async function onMachines(
  { modes, browsersAt, machines: { given, polling: own, sensor } }: Options,
  lab: Lab,
  opened: AsyncDisposableStack,
): Promise<Arrangement> {
  const { server } = given
  const polling = own ?? (await pollingOf(String(server)))
  const machines = await Machines.gather(given, lab, opened)
  const here = browsersAt === null ? 'client' : 'browser'
  const plan = { server, sensor, polling, here, modes: requireModes(modes) } as const
  const where = machines.reach ? 'over its network address' : 'its log in SQLite'
  return {
    sites: machineSites(machines, here),
    polling,
    server: server ?? `a process of its own on this machine, ${where}`,
    parameters: { sensor: server === undefined ? String(sensor['sensor-source']) : 'that of the server' },
    open: (_, opened, signal) => {
      machines.say('Receiving wind')
      return openMachines(plan, machines, opened, signal)
    },
    end: () => machines.end(),
  }
}

interface MachinePlan {
  /** A running one; undefined for one that is started, with `sensor`. */
  readonly server: string | undefined
  readonly sensor: RealMachines['sensor']
  readonly modes: readonly Mode[]
  readonly polling: Polling
  readonly here: MachineSite['windows']
}

/** `here`, the WebDrivers and the joined devices. */
export function machineSites(
  { browsers, devices }: Pick<Machines, 'browsers' | 'devices'>,
  here: MachineSite['windows'],
): readonly MachineSite[] {
  const opened = browsers.map(
    (machine, place): MachineSite =>
      place === 0
        ? { name: 'here', profile: null, windows: here, machine }
        : { name: machine, profile: null, windows: 'browser', machine: 'one with a WebDriver' },
  )
  const joined = devices.map(
    ({ name, agent }): MachineSite => ({ name, profile: null, windows: 'browser', machine: agent }),
  )
  return [...opened, ...joined]
}

/** Reads the polling settings of a running server. Rejects if it has no sensor. */
async function pollingOf(server: string): Promise<Polling> {
  const { polling, hasSensor } = await joinServer(server)
  if (hasSensor) return polling
  throw new Error(
    `The server at ${server} has no sensor: start it with another --sensor-source, or leave out --server.`,
  )
}

/** Defers the closing of everything on `opened`. Rejects on abort. */
export async function openMachines(
  plan: MachinePlan,
  machines: Machines,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Testbed> {
  const { modes, polling, here } = plan
  const server =
    plan.server === undefined ? await startServer(plan, machines, opened) : await joinServer(plan.server)
  const access: Access = { ca: null, polling, opened }
  const sites = machineSites(machines, here)
  const browsers = await machines.startBrowsers(opened, { isHere: here === 'browser' })
  const clients: ListeningWindow[] = []
  const pages: DevicePage[] = []
  for (const [place, { name: site, windows }] of sites.entries()) {
    const at = (mode: Mode) => ({ site, mode, origin: server.origin[mode.http] })
    if (windows === 'client') {
      for (const mode of modes) clients.push(openClient(access, at(mode)))
      continue
    }
    const device = machines.devices[place - machines.browsers.length]
    const browser = browsers[place - (here === 'browser' ? 0 : 1)]
    const frames = device?.frames(modes.length) ?? []
    for (const [order, mode] of modes.entries()) {
      signal.throwIfAborted()
      const window = frames[order] ?? (browser && (await newSmallWindow(browser)))
      if (!window) throw new Error(`There is no browser at ${site}.`)
      const page = await openPage(window, at(mode))
      pages.push(device ? { ...page, miss: (why) => device.miss(why), missed: () => device.missed } : page)
    }
  }
  opened.defer(async () => {
    for (const device of machines.devices)
      for (const frame of device.frames(modes.length)) await frame.close()
  })
  const clocks = new MachineClocks(server.origin, pages, clients)
  const versions = browsers.map(({ version }) => version)
  const agents = machines.devices.map(({ agent }) => agent)
  return {
    windows: [...pages, ...clients],
    pages,
    browser: [...versions, ...agents].join(', ') || 'none',
    reference: openReferenceClient(access, server.origin),
    figures: server.figures,
    isUndisturbed: plan.server === undefined,
    linkFigures: async () => [],
    tlsFigures: () => [],
    compareClocks: () => clocks.compare(),
    offsetMs: (window) => clocks.offsetMs(window),
  }
}

type DevicePage = Page & Pick<ListeningWindow, 'miss' | 'missed'>

async function startServer(
  { polling, sensor }: MachinePlan,
  machines: Machines,
  opened: AsyncDisposableStack,
): Promise<MeasuredServer> {
  const place = await machines.placeOf(0)
  const folder = await makeServerFolder('windcomm', place?.certificate)
  opened.defer(folder.remove)
  const ports = place?.ports ?? (await findFreePorts())
  const flags = folder.flags({
    host: place?.listen ?? 'localhost',
    ...(place && { access: 'open' }),
    port: ports['2'],
    'http1-port': ports['1.1'],
    ...(place && place.origins.length > 0 && { 'allowed-origins': place.origins.join(',') }),
    ...settingsFor(polling),
    ...sensor,
  })
  const server = await startServerProcess(programs.server, flags, { host: place?.host })
  opened.defer(server.close)
  return server
}

/** A window's clock, and that of its machine. */
interface Compared {
  /** The offset to the machine's. */
  readonly own: ClockReading
  /** The machine's offset to the server's. */
  readonly machine: ClockReading
}

const noReading: ClockReading = { offsetMs: 0, boundMs: 0 }

const nameOf = ({ site, mode }: Pick<ListeningWindow, 'site' | 'mode'>) => `${site}, ${mode}`

/**
 * The windows of a machine share its system clock, which is compared with the server's once: by
 * this process on this machine, by the first window on any other. So the difference between two
 * windows of a machine does not depend on how far the server is.
 */
class MachineClocks {
  readonly #pages: readonly Page[]
  readonly #clients: readonly ListeningWindow[]
  readonly #readOwn: ReturnType<typeof followOwnClock>
  /** By window: of the first comparison, then of both together. */
  #compared = new Map<string, Compared>()

  constructor(origin: MeasuredServer['origin'], pages: readonly Page[], clients: readonly ListeningWindow[]) {
    this.#pages = pages
    this.#clients = clients
    this.#readOwn = followOwnClock(origin['1.1'], null)
  }

  async compare(): Promise<readonly ComparedClock[]> {
    const here = await this.#readOwn()
    const found = new Map<string, Compared>()
    for (const [site, pages] of Map.groupBy(this.#pages, (page) => page.site)) {
      const windows = pages.map(({ window }) => window)
      const owns = await readClocks(windows, 'one machine')
      const [first] = pages
      const machine = site === 'here' || !first ? here.machine : await machineBy(first, owns[0] ?? noReading)
      for (const [place, page] of pages.entries())
        found.set(nameOf(page), { own: owns[place] ?? noReading, machine })
    }
    for (const client of this.#clients) found.set(nameOf(client), { own: noReading, machine: here.own })
    const both = new Map(
      [...found].map(([name, after]) => {
        const before = this.#compared.get(name) ?? after
        return [
          name,
          { own: combine(before.own, after.own), machine: combine(before.machine, after.machine) },
        ]
      }),
    )
    this.#compared = both
    return [...found].map(([name, { own, machine }]) => {
      const { offsetMs, boundMs } = addClocks(own, machine)
      const stamps = both.get(name) ?? { own, machine }
      const errorMs = addClocks(stamps.own, stamps.machine).boundMs
      return { name, offsetMs, boundMs, errorMs, withinMs: stamps.own.boundMs }
    })
  }

  offsetMs(window: ListeningWindow): number {
    const { own, machine } = this.#compared.get(nameOf(window)) ?? { own: noReading, machine: noReading }
    return own.offsetMs + machine.offsetMs
  }
}

/** The offset of the window's machine to the server's clock; `own`: the window's to the machine's. */
async function machineBy({ window, origin }: Page, own: ClockReading): Promise<ClockReading> {
  const [exchanged = noReading] = await readClocks([window], 'server exchange', origin)
  return addClocks(exchanged, { offsetMs: -own.offsetMs, boundMs: own.boundMs })
}
