// Runs the sessions of a measurement, and keeps the circumstances of the run.

import { setTimeout as delay } from 'node:timers/promises'
import type { Plan } from './estimate.ts'
import { type Circumstances, describeEnvironment, loadNow } from './run-environment.ts'
import { RunProgress } from './run-progress.ts'
import { Standstill } from './standstill.ts'

/** Sessions that are measured again. */
const maxStandstills = 3

/** A measurement's view of its run: sessions, progress, the signal that stops it, and circumstances. */
export class Lab {
  readonly signal: AbortSignal
  /** The report's folder; null if none is written. */
  readonly folder: string | null
  readonly progress: RunProgress
  readonly #command: string
  readonly #startedAt = new Date()
  readonly #loadBefore = loadNow()
  readonly #plan: Plan
  /** Sessions over all calls of `sessions`. */
  #planned = 0
  #whole = 0
  #standstills = 0
  #stopped: { readonly failure?: string } | null = null

  constructor(command: string, signal: AbortSignal, folder: string | null, plan: Plan) {
    // The folder of a report is no circumstance of the run.
    this.#command = command.replaceAll(/ --(?:out|json)[ =]\S+/g, '')
    this.#plan = plan
    this.folder = folder
    this.signal = signal
    this.progress = new RunProgress(process.stdout, signal)
  }

  get elapsedMs(): number {
    return Date.now() - this.#startedAt.getTime()
  }

  /** The run ends with the whole sessions that it has. */
  get isStopped(): boolean {
    return this.#stopped !== null
  }

  /** Rejects on abort. */
  pause(ms: number): Promise<void> {
    return delay(Math.max(0, ms), undefined, { signal: this.signal })
  }

  /**
   * Runs sessions one after the other, each closing what it opened; then more of them while `goesOn`.
   * Says how long they will take. On abort, and if one fails, resolves to the whole ones; rejects if
   * there is none. A session in which the machine stood still is measured again.
   */
  async sessions<Session>(
    count: number,
    measure: (session: number, opened: AsyncDisposableStack) => Promise<Session>,
    goesOn: (done: readonly Session[]) => boolean = () => false,
  ): Promise<Session[]> {
    const { thenMs } = this.#plan
    const plan = this.#planned === 0 ? this.#plan : { ...(thenMs && { sessionMs: thenMs }) }
    this.#planned += count
    using _ = this.progress.startSessions(count, plan)
    const done: Session[] = []
    try {
      while (!this.#stopped && (done.length < count || goesOn(done))) {
        this.signal.throwIfAborted()
        this.progress.startSession(done.length + 1)
        const session = await closing((opened) => measure(done.length + 1, opened)).catch((error) =>
          this.#noteStandstill(error),
        )
        if (session === null) continue
        done.push(session)
        this.#whole += 1
        this.progress.sessionDone()
      }
    } catch (error) {
      if (this.#whole === 0) throw error
      this.#stop(error)
    }
    return done
  }

  /** Null if the session must be measured again. */
  #noteStandstill(error: unknown): null {
    if (!(error instanceof Standstill) || this.#standstills === maxStandstills) throw error
    this.#standstills += 1
    this.progress.forgetSession()
    this.progress.say(`${error.message} The session is measured again.`)
    return null
  }

  #stop(error: unknown): void {
    const whole = formatSessions(this.#whole, this.#planned)
    // Ctrl-C reaches browsers and servers too, so that anything may fail.
    if (this.signal.aborted) {
      this.#stopped = {}
      this.progress.say(`Stopped after ${whole}; the report has what they measured.`)
      return
    }
    const failure = error instanceof Error ? error.message : String(error)
    this.#stopped = { failure }
    this.progress.say(`A session failed: ${failure}`)
    this.progress.say(`The report has what ${whole} measured.`)
  }

  /** Call at the end of the run. */
  circumstances(known: {
    readonly browser: string
    readonly server: string
    readonly parameters: Circumstances['parameters']
    /** Added to the command if the command did not name it. */
    readonly seed?: number
  }): Circumstances {
    const { browser, server, parameters, seed } = known
    const isSeeded = seed === undefined || this.#command.includes('--seed')
    return {
      command: isSeeded ? this.#command : `${this.#command} --seed ${seed}`,
      parameters,
      startedAt: this.#startedAt.toISOString(),
      finishedAt: new Date().toISOString(),
      ...(this.#stopped && {
        stopped: { sessions: this.#whole, planned: this.#planned, ...this.#stopped },
      }),
      ...(this.#standstills > 0 && { standstills: this.#standstills }),
      environment: describeEnvironment({ browser, server, loadBefore: this.#loadBefore }),
    }
  }
}

/** Resolves when everything that was opened is closed. */
async function closing<Result>(work: (opened: AsyncDisposableStack) => Promise<Result>): Promise<Result> {
  await using opened = new AsyncDisposableStack()
  return await work(opened)
}

/** `2 of 5 sessions`; a run may have more than planned. */
export const formatSessions = (whole: number, planned: number) =>
  `${whole < planned ? `${whole} of ${planned}` : whole} session${Math.max(whole, planned) === 1 ? '' : 's'}`
