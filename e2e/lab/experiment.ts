// Runs every scenario and bench in the same way: flags, sessions, samples, summary, report.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { reportFiles, reportFolder, requireFree, requireWritable, writeFolder } from '../report/render.ts'
import {
  formatNetworks,
  moment,
  packetsSection,
  runAgainSection,
  type Section,
  several,
  type Table,
  tableText,
} from '../report/section.ts'
import type { Plan } from './estimate.ts'
import { file, flag, flagsHelp, readFlags, wrapped } from './flags.ts'
import { commandOf } from './programs.ts'
import { readText } from './reread.ts'
import { type Circumstances, commitNow, type Network } from './run-environment.ts'
import { formatSessions, Lab } from './run-sessions.ts'

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
  const whole = formatSessions(sessions, planned)
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
