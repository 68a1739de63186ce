// A second host in a network namespace, behind IP packets that are delayed and lost.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { programs } from '../lab/programs.ts'
import type { Order, PathFigures } from './packet-relay.ts'
import type { Profile } from './profiles.ts'

/** Linux's names. */
export type Congestion = 'reno' | 'cubic'

const execute = promisify(execFile)

const tools = { ip: 'iproute2', nsenter: 'util-linux', unshare: 'util-linux', python3: 'python3' }

/** NET_ADMIN and SYS_ADMIN, by linux/capability.h. */
const capabilities = [12n, 21n]

/** Why packets cannot be lost here, and the remedy; null if they can. */
export function whyNoPackets(): string | null {
  if (process.platform !== 'linux') return `it needs Linux, and this is ${process.platform}`
  if (process.getuid?.() !== 0) return 'it needs root: run it with sudo'
  const [, held = '0'] = /CapEff:\s*(\w+)/.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  if (capabilities.some((one) => ((BigInt(`0x${held}`) >> one) & 1n) === 0n))
    return 'it needs the capabilities NET_ADMIN and SYS_ADMIN: give them to the container'
  const missing = Object.entries(tools).find(([tool]) => !isOnPath(tool))
  if (missing) return `it needs ${missing[0]}: install the package ${missing[1]}`
  if (!isThere('/dev/net/tun', constants.R_OK | constants.W_OK))
    return 'it needs /dev/net/tun: load the kernel module tun, or give the container that device'
  return null
}

const isOnPath = (tool: string) =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => isThere(join(folder, tool), constants.X_OK))

function isThere(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

/** Servers refuse unknown variables that begin with their own prefix. */
const marker = 'LAB_NAMESPACE'

export const isInNamespace = (): boolean => process.env[marker] !== undefined

/**
 * Starts this program again, as the same process, in a network namespace of its own, which ends with
 * it; returns there. Throws one sentence where that is impossible, which begins with `why`.
 */
export function enterNamespace(why: string): void {
  if (isInNamespace()) return
  const reason = whyNoPackets()
  if (reason !== null) throw new Error(`${why}; ${reason}.`)
  process.execve?.(
    '/bin/sh',
    [
      'sh',
      '-c',
      `exec unshare --net sh -c 'ip link set lo up && exec "$0" "$@"' "$0" "$@"`,
      process.execPath,
      ...process.execArgv,
      ...process.argv.slice(1),
    ],
    { ...process.env, [marker]: '1' },
  )
}

/** RFC 2544 reserves 198.18.0.0/15 for measurements like this one. */
const addressOf = (path: number, end: keyof typeof hosts) => `198.18.${path}.${hosts[end]}`
const hosts = { network: 0, near: 1, far: 2 }

/**
 * This process is on the near host, in its own namespace; servers start on the far one. Between the
 * two are a path without loss and any number of others: a relay carries their packets between TUN
 * devices, whose kernels segment by themselves, at an MTU of 1500. Everything ends with the relay,
 * and the relay with this process.
 */
export class PacketNetwork {
  readonly #relay: ChildProcess
  readonly #congestion: Congestion
  readonly #ended: Promise<unknown>
  #paths = 0
  #lastOrder: Promise<unknown> = Promise.resolve()

  private constructor(relay: ChildProcess, congestion: Congestion) {
    this.#relay = relay
    this.#congestion = congestion
    this.#ended = once(relay, 'exit')
  }

  static async open(congestion: Congestion): Promise<PacketNetwork> {
    if (!isInNamespace())
      throw new Error('A packet network needs a namespace of its own: call enterNamespace first.')
    const known = await readFile('/proc/sys/net/ipv4/tcp_available_congestion_control', 'utf8')
    if (!known.split(/\s/).includes(congestion))
      throw new Error(`This kernel's TCP has no ${congestion}, but ${known.trim()}: load tcp_${congestion}.`)
    const relay = spawn(
      'python3',
      [
        join(import.meta.dirname, 'open-tuns.py'),
        process.execPath,
        ...process.execArgv,
        programs.packetRelay,
      ],
      { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] },
    )
    const network = new PacketNetwork(relay, congestion)
    try {
      // Answered once both devices are open.
      await network.figures()
      await network.#connect()
      return network
    } catch (error) {
      await network.close()
      throw error
    }
  }

  async #connect(): Promise<void> {
    const { pid } = this.#relay
    const devices = ['control', 'type', 'veth', 'peer', 'name', 'control', 'netns', `${pid}`]
    await execute('ip', ['link', 'add', ...devices])
    await this.#configure('far', 'ip', 'link', 'set', 'lo', 'up')
    for (const end of ['near', 'far'] as const) {
      // A device gets an address for IPv6 seconds later, at which Chromium aborts its requests.
      for (const device of ['control', end])
        await this.#configure(
          end,
          'sh',
          '-c',
          `cd /proc/sys/net/ipv6/conf/${device} && echo 1 > disable_ipv6 || true`,
        )
      await this.#configure(end, 'ip', 'address', 'add', `${addressOf(0, end)}/30`, 'dev', 'control')
      await this.#configure(end, 'ip', 'link', 'set', 'control', 'up')
      await this.#configure(end, 'ip', 'link', 'set', end, 'txqueuelen', '10000', 'up')
      // Otherwise a connection would begin with what an earlier one has learned about the path.
      await this.#configure(end, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save')
    }
  }

  /** The command that starts a program on the far host: precedes the program and its arguments. */
  get there(): readonly string[] {
    return ['nsenter', `--net=/proc/${this.#relay.pid}/ns/net`]
  }

  /** The far host's address over a path without delay or loss. */
  get control(): string {
    return addressOf(0, 'far')
  }

  /** Resolves to the far host's address over a new path. One seed draws the same delays and losses. */
  async addPath(
    profile: Profile,
    seed: number,
  ): Promise<{ readonly number: number; readonly address: string }> {
    this.#paths += 1
    const number = this.#paths
    for (const end of ['near', 'far'] as const) {
      const own = addressOf(number, end)
      await this.#configure(end, 'ip', 'address', 'add', `${own}/30`, 'dev', end, 'noprefixroute')
      // Set on the route: a namespace may not choose a default that the machine itself does not allow.
      const route = [`${addressOf(number, 'network')}/30`, 'dev', end, 'src', own]
      await this.#configure(end, 'ip', 'route', 'add', ...route, 'congctl', this.#congestion)
    }
    await this.#order({ open: { number, profile, seed } })
    return { number, address: addressOf(number, 'far') }
  }

  /** Whether no path loses or counts packets from now on. */
  async spare(isSparing: boolean): Promise<void> {
    await this.#order({ isSparing })
  }

  /** Figures of all paths since their start. */
  figures(): Promise<readonly PathFigures[]> {
    return this.#order({})
  }

  /** A property, since callers pass it on as a cleanup. */
  readonly close = async (): Promise<void> => {
    this.#relay.kill('SIGKILL')
    await this.#ended
    // Otherwise it stays until the last program on the far host has ended.
    await execute('ip', ['link', 'delete', 'control']).catch(() => undefined)
  }

  /** Sends orders one after the other, because answers have no numbers. */
  #order(order: Order): Promise<readonly PathFigures[]> {
    const answered = this.#lastOrder.then(async () => {
      if (this.#relay.connected) this.#relay.send(order)
      const [figures] = await Promise.race([
        once(this.#relay, 'message'),
        this.#ended.then(() => Promise.reject(new Error('The relay of packets has ended.'))),
      ])
      return figures
    })
    this.#lastOrder = answered.catch(() => undefined)
    return answered
  }

  async #configure(end: 'near' | 'far', ...command: readonly string[]): Promise<void> {
    const [program = '', ...words] = end === 'near' ? command : [...this.there, ...command]
    await execute(program, words)
  }
}
