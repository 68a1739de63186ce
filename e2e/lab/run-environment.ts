// Environment of a run: machine, versions, commit, load.

import { execFileSync } from 'node:child_process'
import os from 'node:os'

/** The circumstances that a report needs to repeat a run. Moments are ISO 8601. */
export interface Circumstances {
  readonly command: string
  readonly startedAt: string
  readonly finishedAt: string
  /**
   * Absent if the run had all its sessions; `sessions`: the whole ones. `failure`: the reason, if it
   * was not Ctrl-C.
   */
  readonly stopped?: { readonly sessions: number; readonly planned: number; readonly failure?: string }
  /** Sessions that were measured again because the machine stood still. */
  readonly standstills?: number
  readonly environment: Environment
  /** The commit that computed the figures, if it is not the one that measured. */
  readonly analysedBy?: string
  readonly parameters: Readonly<Record<string, string | number | boolean>>
}

/** The simulated network between windows and server. */
export interface Network {
  readonly profile: string
  readonly source: string
  /** Mean lateness added by the relay itself. */
  readonly lateMs: number
  /** If it loses packets. */
  readonly packets?: Packets
}

/** Counts of IP packets, over all sessions. */
export interface Packets {
  readonly congestion: string
  readonly plantedShare: number
  /** Mean number of packets lost in a row. */
  readonly burst: number
  readonly up: PacketCounts
  readonly down: PacketCounts
}

export interface PacketCounts {
  readonly sent: number
  readonly lost: number
  /** Dropped for want of room in the queue of a limited rate. */
  readonly overflowed: number
  readonly lostShare: number | null
  readonly lostShareCi95: readonly [number, number] | null
}

export type Environment = Readonly<ReturnType<typeof describeEnvironment>>

interface Known {
  readonly browser: string
  readonly server: string
  readonly loadBefore: number
}

/** Call at the end of the run. Contains no host or user name, because reports are published. */
export function describeEnvironment({ browser, server, loadBefore }: Known) {
  return {
    machine: `${os.type()} ${os.arch()}`,
    cpu: os.cpus()[0]?.model ?? 'unknown',
    cores: os.cpus().length,
    memoryBytes: os.totalmem(),
    os: `${os.type()} ${os.release()}`,
    node: process.version,
    browser,
    commit: commitNow(),
    server,
    loadBefore,
    loadAfter: loadNow(),
  }
}

/** 1-minute load average; 0 if the system has none. */
export function loadNow(): number {
  return os.loadavg()[0] ?? 0
}

/** Total over all cores since the system started, ms. */
export function processorTimes() {
  const cores = os.cpus().map(({ times: { idle, user, nice, sys, irq } }) => ({
    idleMs: idle,
    busyMs: user + nice + sys + irq,
  }))
  const sum = (name: 'idleMs' | 'busyMs') => cores.reduce((total, core) => total + core[name], 0)
  return { idleMs: sum('idleMs'), busyMs: sum('busyMs') }
}

/** Commit of the sources that the package was built from; absent in a clone. */
declare const PACKED_COMMIT: string | undefined

/** `abc1234`, ` with changes` for a dirty tree, `unknown` outside a checkout. */
export function commitNow(): string {
  if (typeof PACKED_COMMIT === 'string') return PACKED_COMMIT
  try {
    const git = (...words: string[]) =>
      execFileSync('git', words, {
        cwd: import.meta.dirname,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim()
    const changed = git('status', '--porcelain', '--untracked-files=no')
    return git('rev-parse', '--short=12', 'HEAD') + (changed ? ' with changes' : '')
  } catch {
    return 'unknown'
  }
}
