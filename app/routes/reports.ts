// `GET /lab`: lists the lab's runs in the reports folder, and serves the files of their reports.

import { createReadStream } from 'node:fs'
import { opendir, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type Router from '@koa/router'
import type { ParameterizedContext } from 'koa'
import { z } from 'zod'
import { cutText } from '../../protocol/graphemes.ts'
import { escapeHtml } from '../../protocol/html-text.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Caller, Crosswind } from '../../server/index.ts'
import { plainHeaders, plainPage, sourceOf } from './plain-page.ts'

interface ReportsParts {
  readonly crosswind: Pick<Crosswind, 'caller'>
  readonly reportsFolder: string
}

/** A report may name any page: only people who may see all pages may read it. */
export function mountReports(router: Router, { crosswind, reportsFolder }: ReportsParts): void {
  const reports = new Reports(reportsFolder)
  router.get('/lab', async (ctx) => {
    requireAll(await crosswind.caller(ctx.req))
    ctx.set(listHeaders)
    ctx.type = 'html'
    ctx.body = pageFor(await reports.list())
  })
  const serveFile = async (ctx: ParameterizedContext, run = '', name = '') => {
    requireAll(await crosswind.caller(ctx.req))
    const { path, size, type } = await reports.find(run, name)
    ctx.set(fileHeaders)
    ctx.type = type
    ctx.length = size
    ctx.body = createReadStream(path, { end: Math.max(0, size - 1) })
  }
  router.get('/lab/:run/:file', (ctx) => serveFile(ctx, ctx.params.run, ctx.params.file))
  router.get('/lab/:run/figures/:file', (ctx) => serveFile(ctx, ctx.params.run, `figures/${ctx.params.file}`))
}

function requireAll({ read }: Pick<Caller, 'read'>): void {
  if (read.includes('*')) return
  const sentence =
    'Your invitation does not cover the lab’s reports, which can name any page; ask for one that covers every page.'
  throw new Refusal('not-invited-there', sentence)
}

/** `fault`: why the run is unreadable, as the end of a sentence; absent if it is readable. */
type Run = Awaited<ReturnType<typeof readSummary>>

/**
 * Maximum number of folders read in one request, of files listed per folder, and of names read from
 * a large directory.
 */
const most = { runs: 200, files: 20, names: 10_000 }
const maxSummaryBytes = 8 * 1024 * 1024
const maxFindingLength = 1000

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  gz: 'application/gzip',
  json: 'application/json; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  svg: 'image/svg+xml',
}

/** No separator, no leading dot: stays in its folder. */
const runName = /^[^./\\\0][^/\\\0]{0,199}$/
const fileName = /^(?:[\w-][\w.-]{0,99}\.(html|md|csv|gz|json|txt)|figures\/[\w-][\w.-]{0,99}\.(svg))$/

const time = z.iso.datetime()

/** The summary of a run or of a comparison of two; `startedAt` is the later run's. */
const summarySchema = z.object({
  scenario: z.string().min(1).max(100),
  finding: z.string().transform((words) => cutText(words, maxFindingLength)),
  startedAt: time.optional(),
  environment: z.object({ commit: z.string().max(100) }).optional(),
  after: z.object({ startedAt: time, commit: z.string().max(100) }).optional(),
})

type Cache = Map<string, { readonly stamp: string; readonly run: Run }>

class Reports {
  readonly #folder: string
  /** By path of summary.json; contains as many as the folders last listed. */
  #read: Cache = new Map()

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * Lists the newest runs first, unreadable ones last. `omitted` counts folders that were not read.
   */
  async list() {
    const names = await this.#names()
    const looked = names.slice(0, most.runs)
    const kept: Cache = new Map()
    const found = await Promise.all(looked.map((name) => this.#readRun(name, kept)))
    this.#read = kept
    const runs = found.filter((run) => run !== null)
    const startOf = ({ startedAt = '' }: Run) => startedAt
    return {
      runs: runs.toSorted((one, other) => startOf(other).localeCompare(startOf(one))),
      omitted: names.length - looked.length,
    }
  }

  /**
   * Throws a `Refusal` (404) for anything that is not a report's file, or that a link places
   * outside the folder.
   */
  async find(run: string, file: string): Promise<{ path: string; size: number; type: string }> {
    const notFound = new Refusal('not-found', `No report has the file ${cutText(`${run}/${file}`, 200)}.`)
    const [, plain, drawn] = fileName.exec(file) ?? []
    const type = types[plain ?? drawn ?? '']
    if (!type || !runName.test(run)) throw notFound
    try {
      const folder = await realpath(this.#folder)
      const path = await realpath(join(folder, run, file))
      const found = await stat(path)
      // A pipe, for example, would never end.
      if (path.startsWith(folder + sep) && found.isFile()) return { path, size: found.size, type }
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    throw notFound
  }

  /** Names that begin with a date are the lab's own; sorted newest first. */
  async #names(): Promise<readonly string[]> {
    const names: string[] = []
    try {
      for await (const entry of await opendir(this.#folder)) {
        if (entry.isDirectory() && runName.test(entry.name) && !entry.name.endsWith('.unfinished'))
          names.push(entry.name)
        if (names.length >= most.names) break
      }
    } catch (error) {
      if (!isMissing(error)) throw error
    }
    return names.sort().reverse()
  }

  /** Null for a folder without summary.json. */
  async #readRun(name: string, kept: Cache): Promise<Run | null> {
    const folder = join(this.#folder, name)
    const path = join(folder, 'summary.json')
    try {
      const { mtimeMs, size } = await stat(path)
      const stamp = `${mtimeMs} ${size}`
      const known = this.#read.get(path)
      const entry = known?.stamp === stamp ? known : { stamp, run: await readSummary(name, folder, size) }
      kept.set(path, entry)
      return entry.run
    } catch (error) {
      if (isMissing(error)) return null
      return { name, fault: `summary.json cannot be read (${codeOf(error)})` }
    }
  }
}

async function readSummary(name: string, folder: string, size: number) {
  if (size > maxSummaryBytes) return { name, fault: `summary.json has ${size} bytes, which is too large` }
  const text = await readFile(join(folder, 'summary.json'), 'utf8')
  const files = (await readdir(folder)).filter((file) => fileName.test(file)).slice(0, most.files)
  const { success, data } = summarySchema.safeParse(parsed(text))
  const startedAt = data?.startedAt ?? data?.after?.startedAt
  if (!success || startedAt === undefined)
    return {
      name,
      fault: 'summary.json is damaged: it is not JSON, or scenario, finding or startedAt is missing',
    }
  const { scenario, finding, environment, after } = data
  const commit = environment?.commit ?? after?.commit ?? 'unknown'
  return { name, scenario: after ? `${scenario}, two runs` : scenario, finding, startedAt, commit, files }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : 'error')
const isMissing = (error: unknown) => ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(codeOf(error))

function pageFor({ runs, omitted }: Awaited<ReturnType<Reports['list']>>): string {
  const omission =
    omitted === 0
      ? ''
      : `<p class="soft">${omitted} more folders were not read: only the newest ${most.runs} by name are.</p>`
  const list =
    runs.length === 0
      ? '<p>There is no report yet.</p>'
      : `<ul>\n${runs.map((run) => `<li>${rowFor(run)}</li>`).join('\n')}\n</ul>`
  const main = `<p class="mark"><a href="/">Crosswind</a></p>
<h1>Lab reports</h1>
${list}
${omission}
<p class="soft">A run of the lab writes one: <code>npm run lab -- keystrokes</code> measures the transmission time of typed keys.</p>
`
  return plainPage('Lab reports', style, main)
}

function rowFor(run: Run): string {
  const address = (file: string) => escapeHtml(`/lab/${encodeURIComponent(run.name)}/${file}`)
  if (run.fault !== undefined)
    return `<p class="finding">${escapeHtml(run.name)}</p>\n<p class="soft">Unreadable: ${escapeHtml(run.fault)}.</p>`
  const { name, scenario, finding, startedAt, commit, files } = run
  const main = files.find((file) => file === 'report.html')
  const words = escapeHtml(finding || 'No finding.')
  const links = files
    .filter((file) => file !== main)
    .map((file) => `<a href="${address(file)}">${escapeHtml(file)}</a>`)
  const when = `${startedAt.slice(0, 16).replace('T', ' ')} UTC`
  return `<p class="soft"><b>${escapeHtml(scenario)}</b> <time datetime="${escapeHtml(startedAt)}">${escapeHtml(when)}</time></p>
<p class="finding">${main ? `<a href="${address(main)}">${words}</a>` : words}</p>
<p class="soft">${escapeHtml(name)}, commit ${escapeHtml(commit)}<br>${links.join(', ')}</p>`
}

/** The colours of the reports. */
const style = `
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1d1f21; --soft: #5d6165; --line: #d9d9d3; --accent: #1f66a6 }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #e4e3df; --soft: #a3a5a8; --line: #34373b; --accent: #7fb2e5 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; -webkit-text-size-adjust: 100%; text-size-adjust: 100% }
main { max-width: 52rem; margin: 0 auto; padding: clamp(1.5rem, 5vw, 3.5rem) clamp(1rem, 4vw, 1.25rem) 4rem; overflow-wrap: anywhere }
.mark { margin: 0; font-size: 0.95rem; font-weight: 600 }
.mark a { color: var(--soft) }
h1 { margin: 0.5rem 0 1.5rem; font-size: clamp(1.35rem, 1rem + 1.6vw, 1.75rem); font-weight: 500; line-height: 1.3 }
ul { margin: 0 0 2rem; padding: 0; list-style: none; border-top: 1px solid var(--line) }
li { padding: 1rem 0 1.1rem; border-bottom: 1px solid var(--line) }
p { margin: 0.25rem 0 }
.finding { font-size: 1.0625rem; line-height: 1.4; text-wrap: pretty }
.finding a { color: inherit; text-decoration-color: var(--soft) }
.finding a:hover { color: var(--accent); text-decoration-color: currentColor }
.soft { color: var(--soft); font-size: 0.875rem }
.soft a { color: inherit }
b { margin-right: 0.5em; color: var(--ink); font-weight: 600 }
a { color: var(--accent); text-underline-offset: 0.15em; text-decoration-thickness: 0.06em }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px }
code { font-size: 0.9375em }
`

const listHeaders = { ...plainHeaders(sourceOf(style)), 'Cache-Control': 'no-store' }
/** Reports and figures have style attributes, which no hash covers. */
const fileHeaders = { ...plainHeaders("'unsafe-inline'"), 'Cache-Control': 'no-store' }
