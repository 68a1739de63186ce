// Runs every scenario and bench in the same way: flags, sessions, samples, summary, report.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { reportFiles, reportFolder, requireFree, requireWritable, writeFolder } from '../report/render.ts'
import {
  fitted,
  formatNetworks,
  moment,
  packetsSection,
  runAgainSection,
  type Section,
  several,
  type Table,
  tableText,
} from '../report/section.ts'
import { Estimate, formatClock, formatDuration, type Plan } from './estimate.ts'
import { file, flag, flagsHelp, readFlags, wrapped } from './flags.ts'
import { commandOf } from './programs.ts'
import { readText } from './reread.ts'
import {
  type Circumstances,
  commitNow,
  describeEnvironment,
  loadNow,
  type Network,
} from './run-environment.ts'
import { type Compared, Standings, type Turn } from './standings.ts'
import { Standstill } from './standstill.ts'
import { Progress } from './terminal-output.ts'

/** Content of summary.json. */
export interface Summary extends Circumstances {
  /** The verdict. */
  readonly finding: string
  /** Sentences that follow the finding: its meaning, and what to do next. */
  readonly remarks?: readonly string[]
  readonly network?: Network | null
  /** If there are several. */
  readonly networks?: readonly Network[]
}

/**
 * The report's own content, besides the finding, the method's location and how to repeat the run.
 */
export interface Content {
  /** Follows `Crosswind lab: `; default: the experiment's name. */
  readonly title?: string
  /** Follows the date and the commit. */
  readonly subtitle?: string
  /** The first has the table that answers the question. */
  readonly sections: readonly Section[]
  /** Details that docs/measuring.md cannot give: this run's versions, clocks and numbers. */
  readonly method?: readonly string[]
  readonly runAgain?: readonly string[]
  /** Further files by name. */
  readonly data?: Readonly<Record<string, string>>
  /** For the terminal. */
  readonly tables?: readonly Table[]
  /** A promise of the experiment was broken. */
  readonly isFailure?: boolean
}

interface Described {
  /** For the help: paragraphs above and below the flags. */
  readonly about: string
  readonly notes?: string
  readonly flags: z.ZodRawShape
}

/** Plan, sessions, samples, summary and report of one scenario or bench. */
export interface Experiment<
  Shape extends z.ZodRawShape = z.ZodRawShape,
  Options = unknown,
  Run extends object = object,
  Result extends Summary = Summary,
> {
  readonly name: string
  /** For the help: paragraphs above and below the flags. */
  readonly about: string
  readonly notes?: string
  /** An alternative form, for the help. */
  readonly otherwise?: Described
  readonly flags: Shape
  /** The flags that its flag `--quick` stands for; others that are given come on top. */
  readonly quick?: string
  /** Writes a report only if `--out` requests one. */
  readonly isBench?: boolean
  /** Checks rules between flags; `argv` has those that were given. Throws one sentence. */
  options(given: z.output<z.ZodObject<Shape>>, argv: readonly string[]): Options
  /** How long it will take. */
  plan?(options: Options): Plan
  /** A finished run, from its report's folder. Rejects with a sentence that names the file and what is wrong. */
  reread?(folder: string): Promise<Run>
  /** The folder of a stopped run to continue; undefined for a new one. */
  resumed?(options: Options): string | undefined
  /** The networks that are simulated: those that lose packets need a namespace. */
  networks?(options: Options): readonly string[]
  /** Whether they carry IP packets even if they lose none. */
  carriesPackets?(options: Options): boolean
  /**
   * Resolves to the samples and everything the summary needs. Rejects on abort, unless whole
   * sessions were measured; then nothing is written.
   */
  measure(options: Options, lab: Lab): Promise<Run>
  /** Deterministic; measured figures have at most six significant digits. */
  analyse(run: Run): Result
  report(run: Run, summary: Result): Content
}

/** Infers the types of its parts. */
export function defineExperiment<
  Shape extends z.ZodRawShape,
  Options,
  Run extends object,
  Result extends Summary,
>(experiment: Experiment<Shape, Options, Run, Result>): Experiment<Shape, Options, Run, Result> {
  return experiment
}

const fromFlag = {
  from: flag(
    file,
    'DIR',
    'measures nothing: works out the report in that folder again, from its samples; allows --out, --json and --budget only',
  ),
}

const commonFlags = (name: string, isBench: boolean) => ({
  out: flag(file, 'DIR', 'folder of the report', isBench ? 'none is written' : `reports/<date>-${name}`),
  json: flag(file, 'FILE', 'also writes the figures of summary.json there'),
  budget: flag(file, 'FILE', 'bounds on the figures, JSON; docs/measuring.md describes it'),
})

export function helpOf({
  name,
  about,
  notes,
  otherwise,
  flags,
  reread,
  isBench = false,
}: Experiment): string {
  const paragraphs = (words: string) =>
    words
      .split('\n\n')
      .map((one) => paragraph(one))
      .join('\n\n')
  const described = (one: Described) => [
    paragraphs(one.about),
    flagsHelp(one.flags),
    ...(one.notes === undefined ? [] : [paragraphs(one.notes)]),
  ]
  const parts = [
    `${commandOf('lab')} ${name} [flags]`,
    ...described({
      about,
      flags: { ...flags, ...(reread && fromFlag), ...commonFlags(name, isBench) },
      ...(notes && { notes }),
    }),
    ...(otherwise ? described(otherwise) : []),
  ]
  return `${parts.join('\n\n')}\n`
}

/** For a terminal. */
export const paragraph = (words: string, columns = 100) =>
  `  ${wrapped(words.replaceAll(/\s+/g, ' ').trim(), Math.min(100, columns) - 2).join('\n  ')}`

/** Sessions that are measured again. */
const maxStandstills = 3

interface ParsedFlags<Options> {
  readonly options: Options
  readonly from?: string | undefined
  readonly out?: string | undefined
  readonly json?: string | undefined
  readonly budget?: string | undefined
}

/** Throws one sentence for invalid flags. */
export function readOptions<Shape extends z.ZodRawShape, Options>(
  experiment: Pick<Experiment<Shape, Options>, 'name' | 'flags' | 'quick' | 'options' | 'reread'>,
  argv: readonly string[],
): ParsedFlags<Options> {
  const quick = argv.includes('--quick') ? (experiment.quick?.split(' ') ?? []) : []
  const common = { ...commonFlags(experiment.name, false), ...fromFlag }
  const { from: _, ...known } = common
  const { out, json, budget, from, ...given } = readFlags(
    z.strictObject({ ...experiment.flags, ...(experiment.reread ? common : known) }),
    [...quick, ...argv],
  ) as z.output<z.ZodObject<typeof common>> & z.output<z.ZodObject<Shape>>
  const others = argv.filter((word) => /^--(?!(from|out|json|budget)\b)/.test(word))
  if (from !== undefined && others.length > 0)
    throw new Error(
      `--from works out a finished run as it was measured; ${others.join(', ')} cannot change that.`,
    )
  return { options: experiment.options(given as z.output<z.ZodObject<Shape>>, argv), from, out, json, budget }
}

/**
 * A measurement's view of its run: progress, the signal that stops it, sessions and circumstances.
 */
export class Lab {
  readonly signal: AbortSignal
  /** The report's folder; null if none is written. */
  readonly folder: string | null
  readonly progress = new Progress(process.stdout)
  readonly #command: string
  readonly #startedAt = new Date()
  readonly #loadBefore = loadNow()
  readonly #plan: Plan
  #estimate: Estimate | null = null
  #step = ''
  #standings: Standings | null = null
  /** The current session of this call of `sessions`, and how many are planned. */
  #session = { number: 0, of: 0 }
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
    // Moves the cursor below the table, for whatever is written next.
    signal.addEventListener('abort', () => this.progress.leave(), { once: true })
  }

  get elapsedMs(): number {
    return Date.now() - this.#startedAt.getTime()
  }

  say(sentence: string): void {
    this.progress.say(sentence)
  }

  /** Shown only on a terminal, with the time left, until the next one. */
  step(words: string): void {
    this.#step = words
    this.#showState()
  }

  /** Is a step on a terminal, a sentence elsewhere. */
  announce(words: string): void {
    if (this.progress.isTerminal) this.step(words)
    else this.say(words)
  }

  /** From here on a terminal shows a live table. */
  compare(compared: Compared): void {
    this.#standings = new Standings(compared)
    this.#showState()
  }

  /** Changes the live table on a terminal; elsewhere says `sentence`. */
  took(turn: Turn, sentence?: string): void {
    this.#standings?.add(this.#whole + 1, turn)
    if (this.progress.isTerminal) this.#showState()
    else if (sentence !== undefined) this.say(sentence)
  }

  #showState(): void {
    const { isTerminal, columns, rows } = this.progress
    if (!isTerminal || this.signal.aborted) return
    const leftMs = this.#estimate?.leftMs ?? null
    const left = leftMs === null ? '' : `${formatClock(leftMs)} left`
    if (this.#standings === null) {
      this.progress.update([this.#step, left].filter(Boolean).join('  '))
      return
    }
    const { number, of } = this.#session
    const session = number === 0 ? '' : `Session ${number}${number > of ? '' : ` of ${of}`}`
    this.progress.show([
      '',
      ...standingLines(this.#standings.table, columns, rows - linesAround),
      '',
      `  ${this.#step}`,
      `  ${[session, left].filter(Boolean).join(', ')}`,
    ])
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
    const estimate = new Estimate(count, plan, () => performance.now())
    this.#estimate = estimate
    this.#planned += count
    const { leftMs } = estimate
    if (leftMs !== null) this.say(`This takes about ${formatDuration(leftMs)}.`)
    const shown = setInterval(() => this.#showState(), 1000).unref()
    const done: Session[] = []
    try {
      while (!this.#stopped && (done.length < count || goesOn(done))) {
        this.signal.throwIfAborted()
        this.#session = { number: done.length + 1, of: count }
        this.#step = ''
        const session = await closing((opened) => measure(done.length + 1, opened)).catch((error) =>
          this.#noteStandstill(error),
        )
        if (session === null) continue
        done.push(session)
        this.#whole += 1
        this.#standings?.sessionDone(this.#whole)
        estimate.sessionDone()
        this.#sayLeft(done.length, count)
      }
    } catch (error) {
      if (this.#whole === 0) throw error
      const whole = sessionsOf(this.#whole, this.#planned)
      // Ctrl-C reaches browsers and servers too, so that anything may fail.
      if (this.signal.aborted) {
        this.#stopped = {}
        this.say(`Stopped after ${whole}; the report has what they measured.`)
      } else {
        const failure = error instanceof Error ? error.message : String(error)
        this.#stopped = { failure }
        this.say(`A session failed: ${failure}`)
        this.say(`The report has what ${whole} measured.`)
      }
    } finally {
      clearInterval(shown)
      this.#estimate = null
    }
    return done
  }

  /** Null if the session must be measured again. */
  #noteStandstill(error: unknown): null {
    if (!(error instanceof Standstill) || this.#standstills === maxStandstills) throw error
    this.#standstills += 1
    this.#standings?.forget(this.#whole + 1)
    this.say(`${error.message} The session is measured again.`)
    return null
  }

  #sayLeft(done: number, count: number): void {
    const leftMs = this.#estimate?.leftMs ?? 0
    if (this.progress.isTerminal && this.#standings) this.#showState()
    else if (done < count && leftMs > 0)
      this.say(`Session ${done} of ${count} is done; about ${formatDuration(leftMs)} left.`)
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

/** Around the live table: above it one, below it three, and the one of the cursor's next line. */
const linesAround = 5

/** The table within a terminal's width and height, which are in characters. */
export function standingLines(table: Table, columns: number, rows: number): readonly string[] {
  // The margin on the left, and the last column, which stays free.
  const lines = tableText(fitted(table, columns - 3)).split('\n')
  if (lines.length <= rows) return lines
  const most = Math.max(0, rows - 1)
  return [...lines.slice(0, most), `  … and ${several(lines.length - most, 'more row', 'more rows')}`]
}

/**
 * Distributes machine drift over all subjects: each round starts further on, every other one is
 * reversed. Over as many rounds as subjects, each is early and late equally often, and none always
 * follows the same one.
 */
export function turnsOf<Subject>(
  subjects: readonly Subject[],
  rounds: number,
): readonly (readonly Subject[])[] {
  return Array.from({ length: rounds }, (_, round) => {
    const start = Math.round((round * subjects.length) / rounds)
    const turned = [...subjects.slice(start), ...subjects.slice(0, start)]
    return round % 2 === 0 ? turned : turned.reverse()
  })
}

/** Resolves when everything that was opened is closed. */
async function closing<Result>(work: (opened: AsyncDisposableStack) => Promise<Result>): Promise<Result> {
  await using opened = new AsyncDisposableStack()
  return await work(opened)
}

/** `2 of 5 sessions`; a run may have more than planned. */
const sessionsOf = (whole: number, planned: number) =>
  `${whole < planned ? `${whole} of ${planned}` : whole} session${Math.max(whole, planned) === 1 ? '' : 's'}`

/** Writes nothing after a failure, or without a whole session after an abort. `folder` is null if no report was written. */
export async function runExperiment<
  Shape extends z.ZodRawShape,
  Options,
  Run extends object,
  Result extends Summary,
>(
  experiment: Experiment<Shape, Options, Run, Result>,
  given: ParsedFlags<Options>,
  command: string,
  signal: AbortSignal,
) {
  const { name, isBench = false } = experiment
  const resumed = experiment.resumed?.(given.options)
  const folder = resumed ?? given.out ?? (isBench ? null : reportFolder(name, new Date()))
  if (folder !== null && resumed === undefined) await requireFree(folder)
  if (given.json !== undefined) await requireWritable(given.json)
  const lab = new Lab(command, signal, folder, experiment.plan?.(given.options) ?? {})
  const { summary, content } = await (given.from === undefined ? measured() : again(experiment, given.from))
  if (folder !== null) await writeFolder(folder, experimentFiles(experiment, content, summary))
  if (given.json !== undefined) await writeFile(given.json, `${JSON.stringify(summary, null, 2)}\n`)
  const { tables = [], isFailure = false } = content
  const hasFailed = isFailure || summary.stopped?.failure !== undefined
  return { folder, summary, text: tables.map((one) => tableText(one)).join('\n\n'), isFailure: hasFailed }

  async function measured() {
    const run = await experiment.measure(given.options, lab).catch((error) => {
      lab.progress.leave()
      throw error
    })
    lab.progress.clear()
    const summary = experiment.analyse(run)
    return { summary, content: experiment.report(run, summary) }
  }
}

/** A finished run by today's analysis. Its samples stay as they were written. */
export async function again<Run extends object, Result extends Summary>(
  {
    name,
    analyse,
    report,
    reread,
  }: Pick<Experiment<never, never, Run, Result>, 'name' | 'analyse' | 'report' | 'reread'>,
  folder: string,
  analysedBy = commitNow(),
) {
  if (!reread) throw new Error(`A run of ${name} cannot be worked out again.`)
  const run = { ...(await reread(folder)), analysedBy }
  const summary = analyse(run)
  const content = report(run, summary)
  const files = Object.keys(content.data ?? {}).map(async (file) => [
    file,
    await readText(join(folder, file)),
  ])
  return { summary, content: { ...content, data: Object.fromEntries(await Promise.all(files)) } }
}

/** `stopped after 2 of 3 sessions`, with the reason if it was a failure. */
function formatStop({ sessions, planned, failure }: NonNullable<Circumstances['stopped']>): string {
  const whole = sessionsOf(sessions, planned)
  return failure === undefined ? `stopped after ${whole}` : `ended by a failure after ${whole}: ${failure}`
}

const formatProfile = ([first, ...others]: readonly Network[]) =>
  others.length > 0
    ? ' over simulated networks'
    : first
      ? ` over a simulated network, “${first.profile}”`
      : ''

/** Every file of a report by its path in the folder. */
export function experimentFiles(
  { name, notes, isBench = false }: Pick<Experiment, 'name' | 'notes' | 'isBench'>,
  content: Content,
  summary: Summary,
): Readonly<Record<string, string>> {
  const { title = name, subtitle, sections, method = [], runAgain = [], data } = content
  const {
    startedAt,
    environment,
    finding,
    remarks = [],
    network,
    stopped,
    analysedBy,
    standstills = 0,
  } = summary
  const networks = network ? [network] : (summary.networks ?? [])
  const lossy = networks.flatMap(({ profile, packets }) => (packets ? [{ name: profile, ...packets }] : []))
  const cut = stopped ? `; ${formatStop(stopped)}` : ''
  const again = analysedBy === undefined ? '' : `; figures worked out again by commit ${analysedBy}`
  const [answer, ...others] = sections
  const report = {
    title: `Crosswind lab: ${title.replace(/\??$/, `${formatProfile(networks)}$&`)}`,
    subtitle: `${moment(startedAt)}, commit ${environment.commit}${subtitle ?? ''}${again}${cut}`,
    finding,
    remarks,
    sections: [
      ...(answer ? [answer] : []),
      ...(lossy.length > 0 ? [packetsSection(lossy)] : []),
      ...others,
      {
        title: 'How it was measured',
        isMethod: true,
        paragraphs: [
          ...method,
          ...(standstills === 0
            ? []
            : [
                `The machine stood still in ${several(standstills, 'session')}, which ${standstills === 1 ? 'was' : 'were'} measured again.`,
              ]),
          ...formatNetworks(networks),
          ...(isBench && notes !== undefined ? [notes.replaceAll(/\s+/g, ' ')] : []),
          `${isBench ? 'docs/costs.md' : 'docs/measuring.md'} describes the method. ${data === undefined ? 'Every figure is' : 'Every sample is beside this page as CSV, and every figure'} in summary.json; quantiles are of type 7 (Hyndman and Fan, 1996).`,
        ],
      },
      runAgainSection(summary, runAgain),
    ],
  }
  return reportFiles(report, summary, data)
}
