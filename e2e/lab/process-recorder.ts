// Processor time and memory of processes, from /proc, which only Linux has.

import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

/** Resource use of one process at one moment. */
interface Use {
  /** User and system time since its start; in steps of the kernel's 10 ms. */
  readonly cpuMs: number
  readonly rssBytes: number
}

export interface ProcessRecord {
  readonly name: string
  readonly pid: number
  /** `atMs`: since the recorder's start. A process that has ended gets no further samples. */
  readonly samples: readonly (Use & { readonly atMs: number })[]
}

interface Recorded {
  readonly name: string
  readonly pid: number
  /** Names its present and future children, the first being 1; without it they are not recorded. */
  readonly nameOfChild?: (index: number) => string
}

/** User-space ticks; the kernel's own may be shorter (proc_pid_stat(5), sysconf(3)). */
const ticksPerSecond = 100
const pageBytes = 4096

/**
 * Parses /proc/PID/stat. The program's name, in brackets, may contain spaces and brackets. Throws
 * for other text.
 */
export function parseStat(text: string) {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  // From the third field on.
  const [user, system, pages] = [fields[11], fields[12], fields[21]].map(Number)
  if (![user, system, pages].every(Number.isFinite))
    throw new Error(`Not a process's stat: ${text.slice(0, 80)}`)
  return {
    cpuMs: ((Number(user) + Number(system)) * 1000) / ticksPerSecond,
    rssBytes: Number(pages) * pageBytes,
  }
}

/** Null for a process that has ended. */
async function readStat(pid: number) {
  try {
    return parseStat(await readFile(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return null
  }
}

/**
 * Processor time of a process's threads, ms, without those that have ended; NaN if it is not
 * readable. The scheduler counts it in nanoseconds, `stat` in ticks, which are too coarse for a
 * hundred messages.
 */
export async function readProcessorMs(pid: number): Promise<number> {
  try {
    const threads = await readdir(`/proc/${pid}/task`)
    const read = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/schedstat`, 'latin1'))
    return (await Promise.all(read)).reduce((sum, text) => sum + Number.parseInt(text, 10) / 1e6, 0)
  } catch {
    return Number.NaN
  }
}

/** Reads a running process's use; NaN where /proc does not have it. */
export async function readUse(pid: number): Promise<Use> {
  const [cpuMs, stat] = await Promise.all([readProcessorMs(pid), readStat(pid)])
  return { cpuMs, rssBytes: stat?.rssBytes ?? Number.NaN }
}

/** Children of its first thread, which forks them; oldest first, empty without /proc. */
export async function childrenOf(pid: number): Promise<readonly number[]> {
  const listed = await readFile(`/proc/${pid}/task/${pid}/children`, 'latin1').catch(() => '')
  return listed.split(' ').filter(Boolean).map(Number)
}

export function requireProc(): void {
  if (process.platform === 'linux') return
  throw new Error('Process usage is read from /proc, which only Linux has: run this scenario on Linux.')
}

/** `clock` in ms. Looks for new children at each sample. */
export class ProcessRecorder {
  readonly #clock: () => number
  readonly #startedAt: number
  readonly #recorded: Recorded[]
  readonly #records = new Map<number, { name: string; samples: (Use & { atMs: number })[] }>()
  readonly #children = new Map<number, number>()
  #timer: NodeJS.Timeout | null = null
  #sampling: Promise<void> = Promise.resolve()

  constructor(recorded: readonly Recorded[], clock: () => number) {
    this.#recorded = [...recorded]
    this.#clock = clock
    this.#startedAt = clock()
    for (const { name, pid } of recorded) this.#records.set(pid, { name, samples: [] })
  }

  /** Samples now, and at each whole second from the start; a late sample does not move the next. */
  async start(): Promise<void> {
    await this.sample()
    const next = () => {
      const elapsed = this.#clock() - this.#startedAt
      this.#timer = setTimeout(() => void this.sample().then(next), 1000 - (elapsed % 1000))
    }
    next()
  }

  /** Samples all processes; one sample at a time. */
  sample(): Promise<void> {
    this.#sampling = this.#sampling.then(() => this.#sampleNow())
    return this.#sampling
  }

  async #sampleNow(): Promise<void> {
    await this.#findChildren()
    const atMs = this.#clock() - this.#startedAt
    await Promise.all(
      Array.from(this.#records, async ([pid, { samples }]) => {
        const stat = await readStat(pid)
        if (stat) samples.push({ atMs, cpuMs: stat.cpuMs, rssBytes: stat.rssBytes })
      }),
    )
  }

  async #findChildren(): Promise<void> {
    for (const { pid, nameOfChild } of this.#recorded) {
      if (!nameOfChild) continue
      for (const child of await childrenOf(pid)) {
        if (this.#records.has(child)) continue
        const index = (this.#children.get(pid) ?? 0) + 1
        this.#children.set(pid, index)
        this.#records.set(child, { name: nameOfChild(index), samples: [] })
      }
    }
  }

  /**
   * Current proportional set size, bytes: memory that processes share counts in part. Null if it is
   * not readable.
   */
  async proportionalBytes(): Promise<ReadonlyMap<string, number | null>> {
    const read = async (pid: number) => {
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '')
      const [, kilobytes] = /^Pss: +(\d+) kB$/m.exec(rollup) ?? []
      return kilobytes === undefined ? null : Number(kilobytes) * 1024
    }
    return new Map(
      await Promise.all(
        Array.from(this.#records, async ([pid, { name }]) => [name, await read(pid)] as const),
      ),
    )
  }

  pids(): readonly number[] {
    return [...this.#records.keys()]
  }

  /** Resolves after the sample in progress. */
  async stop(): Promise<readonly ProcessRecord[]> {
    if (this.#timer) clearTimeout(this.#timer)
    await this.#sampling
    if (this.#timer) clearTimeout(this.#timer)
    return Array.from(this.#records, ([pid, { name, samples }]) => ({ name, pid, samples }))
  }
}

/**
 * Restricts all threads of a process to these cores, from 0. Rejects with one sentence if `taskset`
 * is missing.
 */
export async function pin(pid: number, cores: string): Promise<void> {
  try {
    await promisify(execFile)('taskset', ['-a', '-c', '-p', cores, String(pid)])
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === 'ENOENT'
    const why = isMissing ? 'the program taskset (util-linux) is missing' : String((cause as Error).message)
    throw new Error(`A process could not be bound to core ${cores}: ${why}.`, { cause })
  }
}
