// The server's output: sentences for people, or one JSON object per line (setting `logFormat`).

import { inspect } from 'node:util'
import pino from 'pino'
import type { Clock } from '../protocol/time.ts'
import { turnOnTraces } from '../protocol/trace.ts'

type Level = 'info' | 'warn' | 'error' | 'fatal'

/** Codes of the library's lines, for programs. docs/operating.md explains each. */
export const outputLevels = {
  'not-started': 'fatal',
  crashed: 'fatal',
  'process-warning': 'warn',
  'message-limit-lowered': 'info',
  'connections-limited': 'warn',
  'trace-unknown': 'warn',
  'worker-ended': 'error',
  'part-not-closed': 'error',
  'log-awaited': 'warn',
  'log-down': 'error',
  'log-up': 'info',
  'log-lost-messages': 'error',
  'log-replaced': 'error',
  'restart-failed': 'error',
  'log-failed': 'error',
  'document-failed': 'error',
  'document-quarantined': 'warn',
  'part-failed': 'error',
  'stream-failed': 'error',
  'request-failed': 'error',
  'frame-failed': 'error',
  'websocket-failed': 'error',
  'connection-failed': 'error',
  'http2-violation': 'warn',
  'many-failures': 'error',
} as const satisfies Record<string, Level>

export type OutputCode = keyof typeof outputLevels
type Fields = Readonly<Record<string, unknown>>

/** Receives whole lines. */
interface Destination {
  write(text: string): unknown
}

interface OutputParts {
  readonly out: Destination
  readonly err: Destination
  readonly later: (run: () => void, delayMs: number) => void
  readonly now: Clock
}

const quietMs = 10_000
/** More than there are reporting sites; beyond it all others are one kind. */
const maxKinds = 100

/** Prints text until `use` selects JSON. `Own` are an application's codes; see `with`. */
export class Output<Own extends string = never> {
  readonly #parts: OutputParts
  #json: pino.Logger | null = null
  /** The process's, as in the metrics. */
  #name = 'server'
  /** The sections that were asked for last. */
  #traced = ''
  readonly #repeats = new Map<string, number>()
  readonly #levels: Record<string, Level> = {}
  readonly #incidents: Record<string, number> = {}

  constructor(parts: Partial<OutputParts> = {}) {
    const later = (run: () => void, delayMs: number) => void setTimeout(run, delayMs).unref()
    const out = ignoreWriteErrors(process.stdout)
    const err = ignoreWriteErrors(process.stderr)
    this.#parts = { out, err, later, now: Date.now, ...parts }
    this.with(outputLevels)
  }

  /**
   * The same output, with lines of an application's own: `output.with({ started: 'info' })` can `say('started', …)`.
   * Throws if a code is taken.
   */
  with<More extends string>(levels: Readonly<Record<More, Level>>): Output<Own | More> {
    for (const [code, level] of Object.entries<Level>(levels)) {
      if (code in this.#levels) throw new Error(`output: the code "${code}" is taken; choose another.`)
      this.#levels[code] = level
      // From 0, so that the first one is an increase for Prometheus.
      if (level !== 'info') this.#incidents[code] = 0
    }
    return this as unknown as Output<Own | More>
  }

  /** This process's name in JSON and traces, if a server has several. */
  name(name: string): void {
    this.#name = name
  }

  /** JSON is written to `out` synchronously, so that nothing is lost at an exit. */
  use(format: 'text' | 'json', out = this.#parts.out): void {
    const settings: pino.LoggerOptions = {
      level: 'debug',
      base: null,
      mixin: () => ({ process: this.#name, pid: process.pid }),
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
    }
    this.#json = format === 'json' ? pino(settings, out) : null
  }

  /** `text` replaces the message for people. */
  say(code: OutputCode | Own, message: string, fields: Fields = {}, text?: string): void {
    this.count(code)
    this.#print(code, message, fields, text)
  }

  /** Counts an event that is reported to somebody else instead. */
  count(code: OutputCode | Own): void {
    if (this.#levels[code] !== 'info') this.#incidents[code] = (this.#incidents[code] ?? 0) + 1
  }

  #print(code: OutputCode | Own, message: string, fields: Fields = {}, text?: string): void {
    const level = this.#levels[code] ?? 'error'
    if (this.#json) this.#json[level]({ code, ...fields }, message)
    else if (level === 'info') this.#parts.out.write(`${text ?? `  ${message}`}\n`)
    else this.#parts.err.write(`${text ?? message}\n`)
  }

  /**
   * Reports failures that clients can cause, without letting them flood the terminal: failures with
   * the same words and origin are one kind, whose repeats are counted and printed after ten
   * seconds.
   */
  incident(code: OutputCode | Own, what: string, cause?: unknown): void {
    this.count(code)
    const known = `${what} ${placeOf(cause)}`
    const isRoom = this.#repeats.has(known) || this.#repeats.size < maxKinds
    const kind = isRoom ? known : 'others'
    const [saidCode, sentence] = isRoom ? [code, what] : ['many-failures' as const, 'Many different failures']
    const repeats = this.#repeats.get(kind)
    this.#repeats.set(kind, (repeats ?? -1) + 1)
    if (repeats !== undefined) return
    if (isRoom && cause !== undefined) {
      const error = inspect(cause)
      this.#print(code, what, { error }, `${what}: ${error}`)
    } else this.#print(saidCode, sentence)
    this.#parts.later(() => {
      const count = this.#repeats.get(kind) ?? 0
      this.#repeats.delete(kind)
      if (count > 0)
        this.#print(saidCode, `${sentence}: ${count} more within ${quietMs / 1000} s.`, { repeats: count })
    }, quietMs)
  }

  /** Turns on the sections of `CROSSWIND_DEBUG`. Their lines go to standard error, or are JSON like all others. */
  trace(list = '', saysUnknown = true): void {
    if (list === this.#traced) return
    this.#traced = list
    const unknown = turnOnTraces(list, (section, sentence) => {
      if (this.#json) return this.#json.debug({ code: 'trace', section }, sentence)
      const at = new Date(this.#parts.now()).toISOString()
      const place = this.#name === 'server' ? section : `${this.#name} ${section}`
      this.#parts.err.write(`${at} ${place.padEnd(8)} ${sentence}\n`)
    })
    if (unknown !== null && saysUnknown) this.say('trace-unknown', unknown)
  }

  /** Number of warnings and failures since the start by code, including repeats. */
  incidents(): Readonly<Record<string, number>> {
    return this.#incidents
  }
}

/**
 * A reader that is gone, or a full disk, must not end an application because Crosswind had something to
 * say; what the application writes is its own. Like Node's console, listens only after a failed write:
 * its 'error' event follows.
 */
function ignoreWriteErrors(stream: NodeJS.WriteStream): Destination {
  const ignore = () => undefined
  return {
    write: (text) =>
      stream.write(text, (error) => {
        if (error && stream.listenerCount('error') === 0) stream.once('error', ignore)
      }),
  }
}

/** The error's origin, not its message, which may contain client input. */
function placeOf(cause: unknown): string {
  return (cause instanceof Error && /\n {4}at (.*)/.exec(cause.stack ?? '')?.[1]) || typeof cause
}

export const output = new Output()
