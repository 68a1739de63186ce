// A server's report of its own load: seconds for the monitor's page, metrics for Prometheus.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { byeCodes } from '../protocol/messages.ts'
import { type MonitorReply, type MonitorSecond, type Quantiles, secondsKept } from '../protocol/monitor.ts'
import { type Cancel, nothingPlanned, repeat, type Timers } from '../protocol/time.ts'
import { upsert } from '../protocol/upsert.ts'
import type { DocumentWorker } from './document/document-worker.ts'
import type { Health } from './health.ts'
import { refusals } from './http/refusals.ts'
import type { Hub, Meter } from './hub/hub.ts'
import type { LogFigures } from './log/log.ts'
import { output } from './output.ts'
import type { Siblings } from './workers/workers.ts'

const secondMs = 1000

/**
 * How long a request keeps the sampling going: longer than Prometheus pauses between two scrapes.
 */
const lookedAtMs = 70_000

/** Limit per second; with more messages the quantiles cover only the first ones. */
const maxLatencies = 5000
const maxUnobserved = 512

/** The event loop's delay is how late a timer of this period fires, ms. */
const loopTimerMs = 10

interface MonitorParts {
  readonly timers: Timers
  readonly windows: () => ReturnType<Hub['windows']>
  /** `SQLite`, `memory`, `NATS JetStream`, `SQS, SQLite` */
  readonly log: string
  readonly health: Pick<Health, 'outage' | 'outages' | 'whyUnready'>
  /** How often stored messages were found missing or damaged; absent if another process counts it. */
  readonly losses?: (() => number) | undefined
  /** Their figures are added up. */
  readonly threads: readonly Pick<DocumentWorker, 'quarantined' | 'failed' | 'durations'>[]
  /** The newest number of each channel; see `Log`. */
  readonly heads: () => ReadonlyMap<string, number>
  readonly logFigures: () => Promise<LogFigures>
  /** Open connections, by protocol. */
  readonly connections: () => Samples
  /** The server's other processes; absent if there are none. */
  readonly siblings?: Siblings | undefined
}

/** Sent between the monitors of a server's processes. `from` is the process. */
type Told = { readonly from: string } /** Somebody requested the figures. */ & (
  | { readonly monitor: 'look' }
  | { readonly monitor: 'second'; readonly uptimeMs: number; readonly second: MonitorSecond }
  | { readonly monitor: 'ask'; readonly id: string }
  | { readonly monitor: 'metrics'; readonly id: string; readonly text: string }
)

/** Deadline for the metrics of the other processes, ms; late ones are left out. */
const answerWithinMs = 500

/** A process that is silent for this long during sampling has ended, ms. */
const silentMs = 5000

/** One sample, or several by the value of a label. */
type Samples = number | Readonly<Record<string, number>>

type Windows = ReturnType<Hub['windows']>

type Metric = readonly [help: string, label?: string]

/**
 * Help and label of each metric that is computed when Prometheus asks. Counters have names that end
 * with `_total`.
 */
const metrics = {
  crosswind_messages_stored_total: ['Messages stored by the log.'],
  crosswind_messages_sent_total: ['Messages written to windows.'],
  crosswind_readings_omitted_total: ['Readings not sent to windows that read too slowly.'],
  crosswind_backlog_bytes: ['Bytes that windows have not read yet.'],
  crosswind_windows: ['Connected windows.', 'mode'],
  crosswind_connections: ['Open connections; a WebSocket is part of one of HTTP.', 'protocol'],
  crosswind_refusals_total: ['Refused requests and frames.', 'code'],
  crosswind_streams_ended_total: ['Streams that the server ended, by the code of bye.', 'code'],
  crosswind_unrecovered_total: [
    'Windows that resumed and got a snapshot instead of the messages they had missed (recovered: false).',
  ],
  crosswind_incidents_total: ['Warnings and failures printed by the server, including repeats.', 'code'],
  crosswind_log_up: ['Whether the log, or its broker, accepts messages.'],
  crosswind_log_outage: ['Why the log accepts no messages.', 'reason'],
  crosswind_log_outages_total: ['Outages, in which the log accepts no messages.'],
  crosswind_ready: ['Whether the log allows this process to accept windows.'],
  crosswind_log_losses_total: [
    'Detections of missing or damaged messages in the log, and of clients that resumed from such.',
  ],
  crosswind_store_failures_total: ['Messages that the log, its disk or its broker failed to store.'],
  crosswind_log_head: ['Number of the newest message in the log, as this process has it.'],
  crosswind_log_bytes: ['Bytes on disk.', 'name'],
  crosswind_broker_lag_messages: [
    'Messages that the broker has stored but this process has not received.',
    'stream',
  ],
  crosswind_broker_reconnects_total: ['Restored connections to the broker.', 'broker'],
  crosswind_queue_messages: [
    'Messages in the SQS queue, approximately: waiting, received but not deleted, dead letters.',
    'state',
  ],
  crosswind_documents_quarantined: ['Documents that take too long to read and are only relayed.'],
  crosswind_document_tasks_failed_total: ['Reads and folds of documents that exceeded a limit or failed.'],
  crosswind_document_tasks_total: ['Reads and folds of documents.', 'task'],
  crosswind_document_task_seconds_total: ['Duration of reads and folds of documents.', 'task'],
  // Replaces prom-client's own metrics of a process, whose event loop timer would never stop.
  process_cpu_seconds_total: ['Processor time of this process.'],
  process_resident_memory_bytes: ['Resident memory.'],
  process_start_time_seconds: ['Start, since the epoch.'],
  nodejs_heap_size_used_bytes: ['Used heap.'],
  nodejs_eventloop_lag_p50_seconds: ['Delay of the event loop in the last second, p50.'],
  nodejs_eventloop_lag_p90_seconds: ['Delay of the event loop in the last second, p90.'],
  nodejs_eventloop_lag_p99_seconds: ['Delay of the event loop in the last second, p99.'],
  nodejs_eventloop_lag_max_seconds: ['Delay of the event loop in the last second, max.'],
} as const satisfies Record<string, Metric>

type Reads = { readonly [Name in keyof typeof metrics]: (() => Samples) | undefined }

function register(registry: Registry, reads: Reads): void {
  for (const [name, [help, label = '']] of Object.entries<Metric>(metrics)) {
    const read = reads[name as keyof Reads]
    if (!read) continue
    // A gauge has `reset` and `inc` too.
    const Kind = (name.endsWith('_total') ? Counter : Gauge) as typeof Counter
    new Kind({
      name,
      help,
      registers: [registry],
      labelNames: label === '' ? [] : [label],
      collect() {
        this.reset()
        const samples = read()
        if (typeof samples === 'number') this.inc(samples)
        else for (const [value, count] of Object.entries(samples)) this.inc({ [label]: value }, count)
      },
    })
  }
}

/**
 * Always counts; samples each second, with the event loop's delay, only while somebody requests
 * figures.
 */
export class Monitor implements Meter {
  readonly #parts: MonitorParts
  readonly #registry = new Registry()
  readonly #durations: Histogram
  #unobserved: number[] = []
  #counts = { stored: 0, sent: 0, omitted: 0, failed: 0, unrecovered: 0 }
  readonly #ended: Record<string, number> = Object.fromEntries(Object.keys(byeCodes).map((code) => [code, 0]))
  #logFigures: LogFigures = {}
  #seconds: MonitorSecond[] = []
  #last: Readings | null = null
  #latencies: number[] = []
  #loopDelay: ReturnType<typeof monitorEventLoopDelay> | null = null
  readonly #startedAt: number
  #lookedAt = Number.NEGATIVE_INFINITY
  readonly #others = new Map<string, { uptimeMs: number; seconds: MonitorSecond[] }>()
  readonly #asked = new Map<string, (from: string, text: string) => void>()
  #asks = 0
  #cancel: Cancel = nothingPlanned
  #isClosed = false
  readonly #unfollow: () => void = nothingPlanned

  constructor(parts: MonitorParts) {
    this.#parts = parts
    this.#startedAt = parts.timers.now()
    this.#durations = new Histogram({
      name: 'crosswind_publish_duration_seconds',
      help: 'Time from the admission of a message until it was stored and written to its windows.',
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      registers: [this.#registry],
      collect: () => this.#observe(),
    })
    register(this.#registry, this.#reads())
    const { siblings } = parts
    if (!siblings) return
    this.#registry.setDefaultLabels({ process: siblings.name })
    this.#unfollow = siblings.follow((note) => void this.#take(note as Told))
  }

  stored(ms: number): void {
    this.#counts.stored += 1
    this.#unobserved.push(ms)
    if (this.#unobserved.length >= maxUnobserved) this.#observe()
    if (this.#last && this.#latencies.length < maxLatencies) this.#latencies.push(ms)
  }

  /** In batches: an observation in a batch costs a fifth of a single one. */
  #observe(): void {
    for (const ms of this.#unobserved) this.#durations.observe(ms / 1000)
    this.#unobserved = []
  }

  sent(messages: number): void {
    this.#counts.sent += messages
  }

  omitted(): void {
    this.#counts.omitted += 1
  }

  failed(): void {
    this.#counts.failed += 1
  }

  unrecovered(): void {
    this.#counts.unrecovered += 1
  }

  ended(code: string): void {
    this.#ended[code] = (this.#ended[code] ?? 0) + 1
  }

  /** Returns seconds that ended after `after`, ms since the epoch. */
  reply(after: number): MonitorReply {
    this.#look()
    this.#tell({ monitor: 'look' })
    const { log, siblings, timers } = this.#parts
    const own = { uptimeMs: this.#uptimeMs(), seconds: this.#seconds }
    const latest = timers.now() - silentMs
    for (const [name, { seconds }] of this.#others)
      if ((seconds.at(-1)?.at ?? 0) < latest) this.#others.delete(name)
    const all = [[siblings?.name ?? 'server', own] as const, ...this.#others]
    const processes = all
      .map(([name, { uptimeMs, seconds }]) => ({
        name,
        uptimeMs,
        seconds: seconds.filter(({ at }) => at > after),
      }))
      .sort((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }))
    return { node: process.version, log, processes }
  }

  /** In Prometheus' text format, for all processes; each has its name as a label. */
  async metrics(): Promise<string> {
    this.#look()
    const { siblings } = this.#parts
    const own = await this.#ownMetrics()
    if (!siblings) return own
    this.#tell({ monitor: 'look' })
    const others = await this.#askOthers(siblings.count - 1)
    return joinedMetrics([
      own,
      ...others,
      `# HELP crosswind_processes_silent Processes of this server that did not answer for their metrics in time.
# TYPE crosswind_processes_silent gauge
crosswind_processes_silent ${siblings.count - 1 - others.length}
`,
    ])
  }

  async #ownMetrics(): Promise<string> {
    this.#logFigures = await this.#parts.logFigures()
    return this.#registry.metrics()
  }

  #askOthers(count: number): Promise<readonly string[]> {
    const texts = new Map<string, string>()
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#parts.timers.later(resolve, answerWithinMs)
    this.#asks += 1
    const id = String(this.#asks)
    this.#asked.set(id, (from, text) => {
      texts.set(from, text)
      if (texts.size === count) resolve()
    })
    this.#tell({ monitor: 'ask', id })
    return promise.then(() => {
      cancel()
      this.#asked.delete(id)
      return [...texts.values()]
    })
  }

  #tell(told: DistributiveOmit<Told, 'from'>): void {
    const { siblings } = this.#parts
    siblings?.post({ ...told, from: siblings.name })
  }

  async #take(told: Told): Promise<void> {
    if (this.#isClosed) return
    const { from } = told
    if (told.monitor === 'look') this.#look()
    else if (told.monitor === 'second') {
      const { uptimeMs, second } = told
      const known = this.#others.get(from)?.seconds ?? []
      // A replacement process starts counting again.
      const seconds = known.filter(({ at }) => at > second.at - uptimeMs).slice(1 - secondsKept)
      this.#others.set(from, { uptimeMs, seconds: [...seconds, second] })
    } else if (told.monitor === 'ask') {
      // The id contains the name of the requesting process: the answer goes to all.
      const text = await this.#ownMetrics()
      this.#tell({ monitor: 'metrics', id: `${from} ${told.id}`, text })
    } else if (told.monitor === 'metrics') {
      const [asker, id = ''] = told.id.split(' ')
      if (asker === this.#parts.siblings?.name) this.#asked.get(id)?.(from, told.text)
    }
  }

  #sum(read: (thread: MonitorParts['threads'][number]) => number): number {
    return this.#parts.threads.reduce((sum, thread) => sum + read(thread), 0)
  }

  #uptimeMs(): number {
    return this.#parts.timers.now() - this.#startedAt
  }

  close(): void {
    this.#isClosed = true
    this.#unfollow()
    this.stop()
  }

  /** Stops sampling until the next request. */
  stop(): void {
    this.#cancel()
    this.#loopDelay?.disable()
    this.#loopDelay = null
    this.#last = null
  }

  #look(): void {
    this.#lookedAt = this.#parts.timers.now()
    if (this.#last) return
    this.#loopDelay = monitorEventLoopDelay({ resolution: loopTimerMs })
    this.#loopDelay.enable()
    this.#seconds = []
    this.#last = this.#read()
    this.#cancel = repeat(this.#parts.timers, () => this.#endSecond(), secondMs)
  }

  #endSecond(): void {
    const { timers, windows: all, health } = this.#parts
    const last = this.#last
    const next = this.#read()
    if (!last || next.at - this.#lookedAt > lookedAtMs) {
      this.stop()
      return
    }
    const { rss, heapUsed } = process.memoryUsage()
    const windows = all()
    const second: MonitorSecond = {
      at: timers.now(),
      cpu: (next.cpuMs - last.cpuMs) / (next.at - last.at),
      rssBytes: rss,
      heapBytes: heapUsed,
      loopDelayMs: this.#takeLoopDelay(),
      windows: windowsByMode(windows),
      stored: next.stored - last.stored,
      sent: next.sent - last.sent,
      omitted: next.omitted - last.omitted,
      backlogBytes: backlogOf(windows),
      latencyMs: quantilesOf(this.#latencies),
      isLogUp: health.outage() === null,
      quarantined: this.#sum(({ quarantined }) => quarantined),
    }
    this.#seconds.push(second)
    this.#tell({ monitor: 'second', uptimeMs: this.#uptimeMs(), second })
    if (this.#seconds.length > secondsKept) this.#seconds.shift()
    this.#latencies = []
    this.#last = next
  }

  #read(): Readings {
    const { user, system } = process.cpuUsage()
    return { at: this.#parts.timers.now(), cpuMs: (user + system) / 1000, ...this.#counts }
  }

  #takeLoopDelay(): Quantiles | null {
    const delay = this.#loopDelay
    if (!delay || delay.count === 0) return null
    const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - loopTimerMs)
    const [p50 = 0, p90 = 0, p99 = 0] = [50, 90, 99].map((share) => late(delay.percentile(share)))
    const quantiles = { p50, p90, p99, max: late(delay.max) }
    delay.reset()
    return quantiles
  }

  #reads(): Reads {
    const { windows, connections, health, losses, heads, threads } = this.#parts
    const head = () =>
      heads()
        .values()
        .reduce((most, seq) => Math.max(most, seq), 0)
    const tasks = (read: (of: { readonly count: number; readonly ms: number }) => number) => {
      const sums: Record<string, number> = {}
      for (const { durations } of threads)
        for (const [task, of] of durations) sums[task] = (sums[task] ?? 0) + read(of)
      return sums
    }
    const lag = (name: keyof Quantiles) => () =>
      (this.#seconds.at(-1)?.loopDelayMs?.[name] ?? Number.NaN) / 1000
    return {
      crosswind_messages_stored_total: () => this.#counts.stored,
      crosswind_messages_sent_total: () => this.#counts.sent,
      crosswind_readings_omitted_total: () => this.#counts.omitted,
      crosswind_backlog_bytes: () => backlogOf(windows()),
      crosswind_windows: () => windowsByMode(windows()),
      crosswind_connections: connections,
      crosswind_refusals_total: () => Object.fromEntries(refusals),
      crosswind_streams_ended_total: () => this.#ended,
      crosswind_unrecovered_total: () => this.#counts.unrecovered,
      crosswind_incidents_total: () => output.incidents(),
      crosswind_log_up: () => Number(health.outage() === null),
      crosswind_log_outage() {
        const reason = health.outage()?.reason
        return reason === undefined ? {} : { [reason]: 1 }
      },
      crosswind_log_outages_total: () => health.outages(),
      crosswind_ready: () => Number(health.whyUnready() === null),
      crosswind_log_losses_total: losses,
      crosswind_store_failures_total: () => this.#counts.failed,
      crosswind_log_head: head,
      crosswind_log_bytes: () => this.#logFigures.bytes ?? {},
      crosswind_broker_lag_messages: () => {
        const brokerHeads = Object.entries(this.#logFigures.brokerHead ?? {})
        return Object.fromEntries(brokerHeads.map(([stream, seq]) => [stream, Math.max(0, seq - head())]))
      },
      crosswind_broker_reconnects_total: () => this.#logFigures.reconnects ?? {},
      crosswind_queue_messages: () => this.#logFigures.queued ?? {},
      crosswind_documents_quarantined: () => this.#sum(({ quarantined }) => quarantined),
      crosswind_document_tasks_failed_total: () => this.#sum(({ failed }) => failed),
      crosswind_document_tasks_total: () => tasks(({ count }) => count),
      crosswind_document_task_seconds_total: () => tasks(({ ms }) => ms / 1000),
      process_cpu_seconds_total() {
        const { user, system } = process.cpuUsage()
        return (user + system) / 1e6
      },
      process_resident_memory_bytes: () => process.memoryUsage.rss(),
      process_start_time_seconds: () => performance.timeOrigin / 1000,
      nodejs_heap_size_used_bytes: () => process.memoryUsage().heapUsed,
      nodejs_eventloop_lag_p50_seconds: lag('p50'),
      nodejs_eventloop_lag_p90_seconds: lag('p90'),
      nodejs_eventloop_lag_p99_seconds: lag('p99'),
      nodejs_eventloop_lag_max_seconds: lag('max'),
    }
  }
}

interface Readings {
  readonly at: number
  readonly cpuMs: number
  readonly stored: number
  readonly sent: number
  readonly omitted: number
}

type DistributiveOmit<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never

/** Joins the texts so that each metric appears once, with the samples of all. */
function joinedMetrics(texts: readonly string[]): string {
  const joined = new Map<string, { head: string; samples: string[] }>()
  for (const text of texts)
    for (const block of text.split(/^(?=# HELP )/m)) {
      const lines = block.trim().split('\n')
      const samples = lines.filter((line) => line !== '' && !line.startsWith('#'))
      const name = /^# HELP (\S+)/.exec(block)?.[1]
      if (name === undefined) continue
      const head = lines.filter((line) => line.startsWith('#')).join('\n')
      upsert(joined, name, () => ({ head, samples: [] })).samples.push(...samples)
    }
  const blocks = joined.values().map(({ head, samples }) => `${[head, ...samples].join('\n')}\n`)
  return [...blocks].join('\n')
}

function windowsByMode(windows: Windows): Record<string, number> {
  const counted: Record<string, number> = {}
  for (const { mode } of windows) counted[mode] = (counted[mode] ?? 0) + 1
  return counted
}

const backlogOf = (windows: Windows) => windows.reduce((sum, { backlogBytes }) => sum + backlogBytes, 0)

function quantilesOf(values: readonly number[]): Quantiles | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) }
}
