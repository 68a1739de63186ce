// `npm run report`: two runs side by side with intervals, or many runs of one comparison.

import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { holm, standardDeviation } from '../../client/statistics.ts'
import { readFlags } from '../lab/flags.ts'
import { isPeer, labelOf } from '../lab/mode-names.ts'
import { commandOf } from '../lab/programs.ts'
import { welch } from '../lab/statistics.ts'
import { intervals } from './charts.ts'
import { coverageFiles, coverageOf, coverageReport, readRepeatedRun } from './coverage.ts'
import { reportAddress, reportFiles, reportText, requireFree, writeFolder } from './render.ts'
import { count, figure, interval, moment, nothing, type Report, signed, table, text } from './section.ts'

const help = `${commandOf('report')} --compare A B [flags]\n\n  Sets two runs of one scenario side by side: for each mode that both measured, both means and the difference, with a\n  95 % interval over the sessions of each run (Welch), corrected for their number (Holm).\n\n  --compare A B  folders of two reports, the earlier one first\n  --coverage DIR…  instead: folders of runs that repeat one comparison; how many of their intervals contain the pooled value\n  --out DIR      also writes report.html, report.md and summary.json there\n\n  Exits with 0 whatever the difference is.\n`

const runSchema = z.object({
  scenario: z.string(),
  command: z.string(),
  startedAt: z.string(),
  environment: z.looseObject({ commit: z.string() }),
  parameters: z.record(z.string(), z.unknown()),
  modes: z
    .array(
      z.object({
        mode: z.string(),
        meanMs: z.number().nullable(),
        p50Ms: z.number().nullable(),
        p95Ms: z.number().nullable(),
        n: z.number(),
        lost: z.number(),
        sessionMeansMs: z.array(z.number().nullable()),
      }),
    )
    .min(1),
  /** Of the window that types; before it had a list of its own, it was among the others. */
  echoes: z.array(z.unknown()).optional(),
})

export type ComparedRun = z.output<typeof runSchema> & { readonly folder: string }

/** Rejects with a sentence for a folder that contains no report with times by session. */
export async function readRun(folder: string): Promise<ComparedRun> {
  const file = join(folder, 'summary.json')
  const words = await readFile(file, 'utf8').catch(async () => {
    const isFolder = await stat(folder).then(
      (found) => found.isDirectory(),
      () => false,
    )
    const why = isFolder ? 'contains no summary.json' : 'is no folder'
    throw new Error(`${folder} ${why}; name the folder of a report, such as reports/reference-keystrokes.`)
  })
  const parsed = runSchema.safeParse(JSON.parse(words))
  if (parsed.success) return { ...parsed.data, folder }
  throw new Error(`${file} has no times by session; reports of keystrokes have them.`)
}

type ComparedMode = ReturnType<typeof compareModes>[number]

function compareModes(before: ComparedRun, after: ComparedRun) {
  const pairs = before.modes.flatMap((first) => {
    const second = after.modes.find(({ mode }) => mode === first.mode)
    return second ? [{ first, second }] : []
  })
  const tested = pairs.map(({ first, second }) => {
    const [one, other] = [first, second].map(({ sessionMeansMs }) =>
      sessionMeansMs.filter((ms) => ms !== null),
    )
    const isTested = (one?.length ?? 0) > 1 && (other?.length ?? 0) > 1
    const test = isTested ? welch(groupOf(other ?? []), groupOf(one ?? [])) : null
    return { mode: first.mode, first, second, test }
  })
  const corrected = [...holm(tested.flatMap(({ test }) => (test ? [test.p] : [])))]
  return tested.map(({ test, ...rest }) => {
    const p = test ? (corrected.shift() ?? 1) : null
    const sign = (test?.difference ?? 0) > 0 ? 'slower' : 'faster'
    return {
      ...rest,
      differenceMs: test?.difference ?? null,
      ci95Ms: test?.interval ?? null,
      pCorrected: p,
      verdict: p === null ? 'one session' : p < 0.05 ? sign : 'undecided',
    }
  })
}

const groupOf = (means: readonly number[]) => ({
  n: means.length,
  mean: means.reduce((sum, ms) => sum + ms, 0) / means.length,
  sd: standardDeviation(means),
})

export function compareRuns(before: ComparedRun, after: ComparedRun) {
  if (before.scenario !== after.scenario)
    throw new Error(
      `${before.folder} is a run of ${before.scenario}, ${after.folder} of ${after.scenario}; compare two of one scenario.`,
    )
  const pooled = [before, after].filter(({ scenario, echoes }) => scenario === 'keystrokes' && !echoes)
  if (pooled.length === 1)
    throw new Error(
      `${pooled[0]?.folder} is of an earlier lab, whose means include the typist’s own window: work it out again by npm run lab -- keystrokes --from ${pooled[0]?.folder}, and compare that.`,
    )
  const modes = compareModes(before, after)
  if (modes.length === 0) throw new Error('The two runs have no mode in common.')
  const onlyIn = (one: ComparedRun, other: ComparedRun) =>
    one.modes.filter(({ mode }) => !other.modes.some((found) => found.mode === mode)).map(({ mode }) => mode)
  return {
    scenario: before.scenario,
    before: identityOf(before),
    after: identityOf(after),
    modes,
    onlyBefore: onlyIn(before, after),
    onlyAfter: onlyIn(after, before),
    circumstances: [
      ...changed(before.environment, after.environment),
      ...changed(before.parameters, after.parameters),
    ],
    finding: findingOf(modes, machineWords(before, after)),
  }
}

/** What identifies a machine in `environment`. */
const ofMachine = ['machine', 'cpu', 'cores', 'memoryBytes', 'os'] as const

/** Empty for the same machine. */
function machineWords(before: ComparedRun, after: ComparedRun): string {
  const different = ofMachine.filter((name) => before.environment[name] !== after.environment[name])
  if (different.length === 0) return ''
  const [first, second] = [before, after].map(({ environment }) =>
    different.map((name) => String(environment[name] ?? 'unknown')).join(', '),
  )
  return `Two machines: the first run is of ${first}, the second of ${second}. Milliseconds of different machines cannot be compared; what follows is of the machines as much as of the software. `
}

export type Comparison = ReturnType<typeof compareRuns>

const identityOf = ({ folder, command, startedAt, environment: { commit } }: ComparedRun) => ({
  folder,
  command,
  startedAt,
  commit,
})

/** The load differs in every pair of runs, and has its own rows in both reports. */
const neverTheSame = new Set(['loadBefore', 'loadAfter', 'commit', 'seed'])

function changed(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .filter((name) => !neverTheSame.has(name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => ({ name, before: String(before[name] ?? '–'), after: String(after[name] ?? '–') }))
}

function findingOf(modes: readonly ComparedMode[], machines: string): string {
  return `${machines}${differencesWords(modes)}`
}

function differencesWords(modes: readonly ComparedMode[]): string {
  const words = (verdict: string) =>
    modes
      .filter((one) => one.verdict === verdict)
      .map(({ mode, differenceMs, ci95Ms }) => {
        const by = ci95Ms ? `${figure(Math.abs(differenceMs ?? 0))} ms (${interval(sizesOf(ci95Ms))})` : ''
        return `${labelOf(mode)} by ${by}`
      })
  const list = (all: readonly string[]) => new Intl.ListFormat('en-GB').format(all)
  const [slower, faster, undecided] = ['slower', 'faster', 'undecided'].map(words) as [
    string[],
    string[],
    string[],
  ]
  const [first] = modes
  const isAlike = modes.length > 2 && modes.every(({ verdict }) => verdict === first?.verdict)
  if (isAlike && (first?.verdict === 'slower' || first?.verdict === 'faster')) {
    const sizes = modes.map(({ differenceMs }) => Math.abs(differenceMs ?? 0))
    const by = `${figure(Math.min(...sizes))} to ${figure(Math.max(...sizes))} ms`
    const peers = modes.some(({ mode }) => isPeer(mode))
      ? ' None of the peers is Crosswind’s code, so the machine or its other load differs.'
      : ''
    return `All ${modes.length} were ${first.verdict} in the second run, by ${by}.${peers}`
  }
  const alone = modes.filter(({ verdict }) => verdict === 'one session').length
  if (alone === modes.length) return 'A run of one session decides nothing.'
  const parts = [
    slower.length > 0 ? `Slower in the second run: ${list(slower)}.` : '',
    faster.length > 0 ? `Faster in the second run: ${list(faster)}.` : '',
    undecided.length === modes.length
      ? 'No mode differs between the two runs by more than their sessions do.'
      : undecided.length > 0
        ? `Undecided: ${list(modes.filter(({ verdict }) => verdict === 'undecided').map(({ mode }) => labelOf(mode)))}.`
        : '',
  ]
  return parts.filter(Boolean).join(' ')
}

/** The size of a difference, the smaller end first. */
function sizesOf([low, high]: readonly [number, number]): readonly [number, number] {
  return high <= 0 ? [-high, -low] : [low, high]
}

export function comparisonReport(comparison: Comparison): Report {
  const { scenario, before, after, modes, onlyBefore, onlyAfter, circumstances, finding } = comparison
  const doubts = [
    'The interval says how far the sessions of each run differ. Sessions of one run are close together in time: anything else that changed between the two runs, including the machine’s other work, counts as their difference.',
    ...(onlyBefore.length > 0 ? [`Only in the first run: ${onlyBefore.map(labelOf).join(', ')}.`] : []),
    ...(onlyAfter.length > 0 ? [`Only in the second run: ${onlyAfter.map(labelOf).join(', ')}.`] : []),
  ]
  const compared = {
    title: 'Mean transmission times',
    tables: [
      table(
        'Both runs; times in milliseconds',
        ['Mode', 'First run', 'Second run', 'Second − first', '95 % interval', text('Verdict')],
        modes.map(({ mode, first, second, differenceMs, ci95Ms, verdict }) => [
          ...[labelOf(mode), first.meanMs, second.meanMs],
          ...[differenceMs === null ? nothing : signed(differenceMs), ci95Ms ? interval(ci95Ms) : nothing],
          verdict,
        ]),
      ),
      table(
        'Quantiles in milliseconds, and messages lost; the first run before the second',
        ['Mode', 'Medians', 'p95', 'Lost'],
        modes.map(({ mode, first, second }) => [
          ...[labelOf(mode), `${figure(first.p50Ms)}, ${figure(second.p50Ms)}`],
          `${figure(first.p95Ms)}, ${figure(second.p95Ms)}`,
          `${count(first.lost)}, ${count(second.lost)}`,
        ]),
      ),
    ],
    paragraphs: doubts,
  }
  const tested = modes.flatMap(({ mode, differenceMs: point, ci95Ms, verdict }) => {
    const isDecided = verdict !== 'undecided'
    if (point === null || ci95Ms === null) return []
    return [{ label: labelOf(mode), point, interval: ci95Ms, isDecided, sessions: [] }]
  })
  const drawn = {
    title: 'Differences',
    figure: {
      caption: 'Second run minus first, ms, with 95 % intervals; left of 0 the second run is faster',
      description: tested
        .map(({ label, point, interval: ends }) => `${label}: ${signed(point)} ms, ${interval(ends)}`)
        .join('; '),
      draw: (width: number) => intervals(tested, { width, axis: 'Second − first, ms', references: [0] }),
    },
  }
  const texts = (...titles: string[]) => titles.map(text)
  const runs = {
    title: 'The two runs',
    tables: [
      table('Where the figures are from', texts('Run', 'Folder', 'Started', 'Commit', 'Command'), [
        ['first', before.folder, moment(before.startedAt), before.commit, before.command],
        ['second', after.folder, moment(after.startedAt), after.commit, after.command],
      ]),
      table(
        'What else differs',
        texts('What', 'First run', 'Second run'),
        circumstances.map(({ name, before: one, after: other }) => [name, one, other]),
      ),
    ].filter(({ rows }) => rows.length > 0),
  }
  return {
    title: `Crosswind lab: ${scenario}, two runs`,
    subtitle: `${moment(before.startedAt)} and ${moment(after.startedAt)}`,
    finding,
    sections: [compared, ...(tested.length === 0 ? [] : [drawn]), runs],
  }
}

const schema = z.object({ compare: z.string('names the first folder'), out: z.string().min(1).optional() })

/** Resolves to the exit status. */
export async function report(argv: readonly string[]): Promise<number> {
  const isAsked = argv.some((flag) => flag === '--help' || flag === '-h')
  if (isAsked || argv.length === 0) {
    process.stdout.write(help)
    return isAsked ? 0 : 1
  }
  // The second folder follows the first without its own flag.
  if (argv[0] === '--coverage') return reportCoverage(argv.slice(1))
  const place = argv.indexOf('--compare') + 2
  const second = place > 1 ? argv[place] : undefined
  if (second === undefined || second.startsWith('--'))
    throw new Error(`Two folders are needed: ${commandOf('report')} --compare A B`)
  const { compare, out } = readFlags(schema, argv.toSpliced(place, 1))
  if (out !== undefined) await requireFree(out)
  const comparison = compareRuns(await readRun(compare), await readRun(second))
  return give(comparisonReport(comparison), comparison, {}, out)
}

/** `DIR… [--out DIR]` */
async function reportCoverage(argv: readonly string[]): Promise<number> {
  const place = argv.indexOf('--out')
  const out = place < 0 ? undefined : argv[place + 1]
  if (place >= 0 && out === undefined) throw new Error('--out needs a folder.')
  const folders = place < 0 ? argv : argv.toSpliced(place, 2)
  if (out !== undefined) await requireFree(out)
  const coverage = coverageOf(await Promise.all(folders.map(readRepeatedRun)))
  return give(coverageReport(coverage), coverage, coverageFiles(coverage), out)
}

async function give(
  report: Report,
  summary: object,
  more: Readonly<Record<string, string>>,
  out: string | undefined,
): Promise<number> {
  if (out === undefined) process.stdout.write(`\n${reportText(report)}\n`)
  else {
    await writeFolder(out, reportFiles(report, summary, more))
    console.log(`\n  ${report.finding}\n\n  ${reportAddress(out)}\n`)
  }
  return 0
}
