// `npm run reproduce -- --paper YEAR`: measures what a paper measured, and sets both side by side.

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { z } from 'zod'
import { launch } from '../../scripts/child-process.mjs'
import { whenReaderIsGone } from '../../scripts/process.ts'
import { paragraph } from '../lab/experiment.ts'
import { file, flag, flagsHelp, names, readFlags, wrapped } from '../lab/flags.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { reportFolder, requireFree, tableMarkdown } from '../report/render.ts'
import { figure, interval, moment, nothing, table, tableText, text } from '../report/section.ts'
import { ratioWithin } from '../scenarios/windcomm-summary.ts'
import {
  bandOf,
  type Claim,
  type FigureClaim,
  type HypothesisClaim,
  type Paper,
  type PaperRun,
  papers,
  sideOf,
} from './papers.ts'

const rule = `A figure agrees if its whole interval here lies within ${100 * ratioWithin} % of the paper’s figure, or of the range of the paper’s tests. It differs if the whole interval lies outside, and is undecided otherwise; where there is no interval, the figure itself counts. “More”, “less”, “most” and “at least” are taken literally. A hypothesis agrees if the paper’s test accepts it here and there, or in neither. A run counts only if it has the parameters of the paper’s experiment; any other difference stands beside the figure. A reason is printed only if the run itself shows that it is true.`

const years = papers.map(({ year }) => year)

const shape = {
  paper: flag(names(years).prefault(''), 'LIST', years.join(', '), 'required'),
  quick: flag(z.boolean().default(false), '', 'runs of a few minutes, which decide less'),
  from: flag(
    file,
    'DIR',
    'measures nothing: reads the runs in the folder of an earlier reproduction, or the reference runs in reports',
  ),
  out: flag(file, 'DIR', 'folder of the runs, results.json and results.md', 'reports/<date>-reproduce'),
  page: flag(file, 'FILE', 'also writes results.md there; docs/results.md is made so'),
}

const help = `${[
  'npm run reproduce -- --paper YEAR [flags]',
  paragraph(
    'Runs the lab’s scenarios as the paper did, and ends with a table: its figures, those here, and whether they agree.',
  ),
  flagsHelp(shape),
  papers.map((one) => paragraph(`${one.year}, about ${one.minutes} minutes: ${one.citation}.`)).join('\n'),
  paragraph(rule),
].join('\n\n')}\n`

type RunSummary = Circumstances & { readonly scenario: string }

const verdicts = ['agrees', 'differs', 'undecided', 'not measured'] as const

type Verdict = (typeof verdicts)[number]

/** Judges a claim of the paper by a run. */
export function judge(claim: Claim, summary: Circumstances) {
  const { what, place, paper, because, differs = () => null } = claim
  const found = 'tested' in claim ? tested(claim, summary) : measured(claim, summary)
  return {
    what,
    place,
    paper,
    ...found,
    differs: found.verdict === 'not measured' ? null : differs(summary),
    because: found.verdict === 'differs' ? because.call(claim, summary) : null,
  }
}

function measured(claim: FigureClaim, summary: Circumstances) {
  const found = claim.found(summary)
  const side = found && sideOf(claim, found)
  const isOutside = side === 'below' || side === 'above'
  const verdict: Verdict = !found
    ? 'not measured'
    : isOutside
      ? 'differs'
      : side === null
        ? 'undecided'
        : 'agrees'
  return {
    unit: claim.unit ?? '',
    agreesWithin: bandOf(claim),
    value: found?.value ?? null,
    interval: found?.interval ?? null,
    words: found?.words ?? null,
    verdict,
  }
}

function tested(claim: HypothesisClaim, summary: Circumstances) {
  const found = claim.tested(summary)
  const isSame = found?.isAccepted === claim.isAccepted
  const verdict: Verdict = !found ? 'not measured' : isSame ? 'agrees' : 'differs'
  const words = found && `${found.isAccepted ? 'accepted' : 'not accepted'}: ${found.words}`
  return { unit: '', agreesWithin: null, value: null, interval: null, words, verdict }
}

type Result = ReturnType<typeof judge>
type Reproduced = Awaited<ReturnType<typeof readReproduction>>

/** From the paper's runs in `parent`; those that are not there are left out. Rejects without any. */
export async function readReproduction(paper: Paper, parent: string) {
  const runs = (await Promise.all(paper.runs.map((run) => readRun(run, parent)))).flat()
  if (runs.length === 0) {
    const wanted = paper.runs.map(({ name }) => `${name}/summary.json or reference-${name}/summary.json`)
    throw new Error(`${parent} has no run for the paper of ${paper.year}: no ${wanted.join(', ')}.`)
  }
  const results = runs.flatMap(({ run, summary }) => run.claims.map((claim) => judge(claim, summary)))
  return { paper, runs, results }
}

async function readRun(run: PaperRun, parent: string) {
  for (const name of [run.name, `reference-${run.name}`]) {
    const folder = join(parent, name)
    const words = await readFile(join(folder, 'summary.json'), 'utf8').catch(() => null)
    if (words === null) continue
    const summary: RunSummary = JSON.parse(words)
    if (summary.scenario !== run.scenario)
      throw new Error(`${folder} is a run of ${summary.scenario}, not of ${run.scenario}.`)
    for (const [name, asked] of Object.entries(run.asks)) {
      const here = summary.parameters[name]
      if (here === asked) continue
      throw new Error(
        `${folder} is not the paper’s experiment: it has ${name} ${here ?? 'unknown'} in place of ${asked}. Measure that with: npm run lab -- ${run.scenario} ${run.flags}`,
      )
    }
    return [{ run, folder, summary }]
  }
  return []
}

const reasonsOf = (results: readonly Result[]) => [
  ...new Set(results.flatMap(({ because }) => because ?? [])),
]

function tableOf({ paper, results }: Reproduced) {
  const reasons = reasonsOf(results)
  const formatVerdict = ({ verdict, because }: Result) =>
    verdict !== 'differs'
      ? verdict
      : `differs: ${because === null ? 'not explained' : `reason ${reasons.indexOf(because) + 1}`}`
  const rows = results.map((result) => {
    const { what, place, paper, value, interval: ends, unit, words, differs } = result
    const withUnit = (number: string) => (unit === '' ? number : `${number} ${unit}`)
    const notes = [value === null ? null : words, differs].filter(Boolean).join('; ')
    const figures = value === null ? (words ?? nothing) : withUnit(figure(value))
    const here = `${figures}${notes && ` (${notes})`}`
    return [what, place, paper, here, formatInterval(ends, withUnit), formatVerdict(result)]
  })
  const columns = ['Figure', 'Where', 'Paper', 'Here', 'Interval', 'Result']
  return table(`Intervals: ${paper.intervals}`, columns.map(text), rows)
}

function formatInterval(ends: Result['interval'], withUnit: (number: string) => string): string {
  if (!ends || (ends[0] === 0 && ends[1] === Infinity)) return nothing
  return ends[1] === Infinity ? `at least ${withUnit(figure(ends[0]))}` : withUnit(interval(ends))
}

const numberOf = ({ results }: Reproduced, wanted: Verdict) =>
  results.filter(({ verdict }) => verdict === wanted).length

/** For a terminal. */
function textOf(reproduced: Reproduced): string {
  const counts = verdicts.map((verdict) => `${verdict} ${numberOf(reproduced, verdict)}`).join(', ')
  const reasons = reasonsOf(reproduced.results).map((reason, index) => paragraph(`${index + 1}. ${reason}`))
  return [tableText(tableOf(reproduced)), ...reasons, `  ${reproduced.paper.year}: ${counts}.`].join('\n\n')
}

const prose = (words: string, indent = '') => wrapped(words, 100 - indent.length).join(`\n${indent}`)

function sectionOf(reproduced: Reproduced, folderOfPage: string): string {
  const { paper, results, runs } = reproduced
  const reasons = reasonsOf(results).map((reason, index) => `${index + 1}. ${prose(reason, '   ')}`)
  const measured = runs.map(({ folder, summary: { command, environment, startedAt, stopped } }) => {
    const cut = stopped
      ? `, stopped after ${stopped.sessions} of ${stopped.planned} sessions${stopped.failure ? `: ${stopped.failure}` : ''}`
      : ''
    const address = `${relative(folderOfPage, folder).replaceAll('\\', '/')}/report.md`
    const when = `commit ${environment.commit.slice(0, 7)}, ${moment(startedAt)}${cut}`
    return `- ${prose(`\`${command.replace(/ --out \S+/, '')}\`, ${when} ([report](${address}))`, '  ')}`
  })
  return [
    `## ${paper.year}: ${paper.title}`,
    prose(`${paper.citation}.`),
    prose(paper.about),
    ...[tableMarkdown(tableOf(reproduced)), reasons.join('\n')].filter(Boolean),
    prose(`Intervals: ${paper.intervals}. Measured by`),
    measured.join('\n'),
  ].join('\n\n')
}

/** In Markdown; links are relative to `path`. */
export function pageOf(all: readonly Reproduced[], path: string): string {
  const list = all.map(({ paper }) => paper.year).join(',')
  const overview = table(
    'The papers',
    ['Paper', 'Figures', 'Agree', 'Differ', 'Undecided', 'Minutes to run again'],
    all.map((one) => [
      one.paper.year,
      String(one.results.length),
      ...verdicts.slice(0, 3).map((verdict) => String(numberOf(one, verdict))),
      String(one.paper.minutes),
    ]),
  )
  const again = `npm run reproduce -- --paper ${list.split(',')[0]}`
  return `${[
    '# Results',
    `<!-- Made by: npm run reproduce -- --paper ${list} --from reports --page docs/results.md -->`,
    prose(
      'Published experiments with real-time connections between browsers and servers, measured again by Crosswind’s lab. Milliseconds of different machines and years cannot be compared; ratios can.',
    ),
    tableMarkdown(overview),
    prose(rule),
    `\`\`\`\n${again}\n\`\`\``,
    prose(
      'runs a paper’s experiment again and ends with its table; `--quick` takes a few minutes and decides less. [Measuring](measuring.md) describes the scenarios and what they need.',
    ),
    ...all.map((one) => sectionOf(one, dirname(path))),
  ].join('\n\n')}\n`
}

/** Resolves to the exit status: 130 if it was stopped, else that of the last run that failed. */
async function measure(paper: Paper, parent: string, isQuick: boolean): Promise<number> {
  const end = (value: number) => (value === Infinity ? 'more' : figure(value))
  const agreement = table(
    `${paper.citation}: what counts as agreement`,
    ['Figure', 'Paper', 'Agrees within'].map(text),
    paper.runs.flatMap(({ claims }) =>
      claims.map((claim) => [
        claim.what,
        claim.paper,
        'tested' in claim ? 'the same' : bandOf(claim).map(end).join(' to '),
      ]),
    ),
  )
  const takes = isQuick ? '' : `  All runs of this paper take about ${paper.minutes} minutes.\n`
  console.log(`\n${tableText(agreement)}\n\n${paragraph(rule)}\n\n${takes}`)
  let status = 0
  for (const run of paper.runs) {
    const words = `${run.scenario} ${run.flags}${isQuick ? ` ${run.quick}` : ''}`
    console.log(`  npm run lab -- ${words}\n`)
    const out = join(parent, run.name)
    const code = await launch(['scripts/run.mjs', 'lab', ...words.split(' '), '--out', out])
    if (code === 130) return 130
    status = code || status
    if ((await readRun(run, parent)).length === 0)
      throw new Error(`The run ended with ${code} and no report.`)
  }
  return status
}

async function run(argv: readonly string[]): Promise<void> {
  if (argv.some((word) => word === '--help' || word === '-h')) return void process.stdout.write(help)
  const { paper: wanted, quick, from, out, page } = readFlags(z.object(shape), argv)
  if (wanted.length === 0) throw new Error(`--paper names no paper; there are ${years.join(', ')}.`)
  if (from !== undefined && quick) throw new Error('--from measures nothing: leave out --quick.')
  const folder = from ?? out ?? reportFolder('reproduce', new Date())
  if (from === undefined) await requireFree(folder)
  const all: Reproduced[] = []
  for (const paper of papers.filter(({ year }) => wanted.includes(year))) {
    const status = from === undefined ? await measure(paper, folder, quick) : 0
    process.exitCode = status || process.exitCode
    const reproduced = await readReproduction(paper, folder)
    console.log(`\n${textOf(reproduced)}\n`)
    all.push(reproduced)
    if (status === 130) break
  }
  const target = from === undefined ? folder : out
  if (target !== undefined) {
    await mkdir(target, { recursive: true })
    const results = all.map(({ paper: { year, citation }, results }) => ({ year, citation, results }))
    await writeFile(join(target, 'results.json'), `${JSON.stringify({ rule, results }, null, 2)}\n`)
    await writeFile(join(target, 'results.md'), pageOf(all, join(target, 'results.md')))
    console.log(`  ${join(target, 'results.md')}\n`)
  }
  if (page !== undefined) await writeFile(page, pageOf(all, page))
}

if (import.meta.main) {
  whenReaderIsGone(() => undefined)
  try {
    await run(process.argv.slice(2))
  } catch (error) {
    console.error(`\n  ${error instanceof Error ? error.message : error}`)
    process.exitCode ||= 1
  }
}
