// `bench editor --edits N`: opens a document with a long history in a cold browser.

import { mkdir } from 'node:fs/promises'
import { defaultConfig } from '../../server/config/schema.ts'
import { Ledger } from '../../server/document/ledger.ts'
import { unlimitedDocuments } from '../../server/document/testing.ts'
import { openLog } from '../../server/log/open-log.ts'
import { documentPath } from '../../server/wire/document-api.ts'
import { createSeededRandom } from '../../server/wire/time.ts'
import { until } from '../browser/browser.ts'
import { type MeasuredPage, openMeasuredPage, type PageMemory } from '../browser/measured-page.ts'
import { isLinked } from '../browser/typing.ts'
import { makeServerFolder, serverProgram, startServerProcess } from '../lab/server-process.ts'
import { significant, summarise } from '../lab/statistics.ts'
import { textTable } from '../lab/terminal-output.ts'
import { createHistory, type EditHistory } from '../load/edit-history.ts'
import { count, figure, megabytes } from '../report/section.ts'

export const defaultOpenings = 5

export const openingHelp = `
  With --edits, only this: that many single-character edits, a quarter of them deletions, are appended to a server's
  log; then cold browsers with new profiles open the document.

  --edits N       edits in the document's history             none
  --openings N    browsers that open it, one after another    5
  --seed N        repeats the history                         2021

  Opening: from the navigation until all text is in the DOM, the editor is editable and its frame was painted. Memory:
  of JavaScript after a garbage collection, and of the window's renderer process, private; what an empty document takes
  in the same way is printed beside it.
`

/** Of the issue that asked for the shared editor. */
const goals = { openMs: 2000, bytes: 100_000_000 }

interface OpeningOptions {
  readonly edits: number
  readonly openings: number
  readonly seed: number
  readonly json?: string | undefined
}

const channel = 'long-history'
const editsPerSession = 10_000
const editEveryMs = 30_000
const batch = 2000

export async function openingRun(
  { edits, openings, seed, json }: OpeningOptions,
  onStep: (step: string) => void,
  signal: AbortSignal,
) {
  await using opened = new AsyncDisposableStack()
  const folder = await makeServerFolder('bench-opening')
  opened.defer(folder.remove)
  const settings = {
    ...{ port: 0, 'http1-port': 0, host: 'localhost', share: 'none' },
    ...{ 'sensor-source': 'none', 'drain-ms': 0, editor: 'shared' },
  }
  const flags = folder.flags(settings)
  const dataFolder = flags[flags.indexOf('--data-folder') + 1] ?? ''
  const history = createHistory({ edits, editsPerSession, random: createSeededRandom(seed) })
  await writeHistory(history, { edits, dataFolder }, onStep, signal)
  const { characters, lines } = history.result()
  onStep('starting the server')
  const server = await startServerProcess(serverProgram, flags)
  opened.defer(server.close)

  const address = (name: string) =>
    `${server.origin['1.1']}${documentPath(name)}?transport=websocket&http=1.1&record`
  const taken: Opening[] = []
  let browser = ''
  for (let opening = 1; opening <= openings; opening += 1) {
    signal.throwIfAborted()
    onStep(`opening ${opening} of ${openings}`)
    const page = await openMeasuredPage()
    try {
      browser = page.version
      await page.open(address('empty'))
      await until(() => page.run(isLinked), 'The empty document is not shown', openWithinMs)
      const empty = await page.memory()
      taken.push({ ...(await open(page, address(channel), { characters, lines })), empty })
    } finally {
      await page.close()
    }
  }
  return { ...outcomeOf({ edits, characters }, taken), json, browser }
}

type Opening = Awaited<ReturnType<typeof open>> & { readonly empty: PageMemory }

const openWithinMs = 60_000

/** Appends the history to a new log, as if it had been written in the time until now. */
async function writeHistory(
  history: EditHistory,
  { edits, dataFolder }: { readonly edits: number; readonly dataFolder: string },
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const onFailure = (error: unknown) => {
    throw error
  }
  const ledger = new Ledger({
    ...{ documents: unlimitedDocuments, trials: unlimitedDocuments },
    ...defaultConfig.limits,
    now: Date.now,
    onFailure,
  })
  await mkdir(dataFolder, { recursive: true })
  const { log } = await openLog(
    { ...defaultConfig, durability: 'process' },
    { folds: { update: ledger.fold }, dataFolder, now: Date.now, random: Math.random, onFailure },
  )
  const startedAt = Date.now() - edits * editEveryMs
  let done = 0
  let pending: (number | Promise<number>)[] = []
  for (const { update, session } of history.updates()) {
    const from = `session${session}`
    const at = startedAt + done * editEveryMs
    done += 1
    const body = { update: Buffer.from(update).toString('base64') }
    pending.push(log.append({ id: `${from}-${done}`, channel, kind: 'update', from, at, body }, at))
    if (pending.length < batch) continue
    await Promise.all(pending)
    pending = []
    signal.throwIfAborted()
    onStep(`writing the history  ${count(done)} of ${count(edits)} edits`)
  }
  await Promise.all(pending)
  await log.close()
}

async function open(
  page: MeasuredPage,
  address: string,
  { characters, lines }: { readonly characters: number; readonly lines: number },
) {
  await page.page.evaluateOnNewDocument(watchOpening, lines - 1)
  await page.open(address)
  await until(() => page.run(isShown), 'The document is not shown', openWithinMs)
  const shown = await page.run(readOpening)
  // The ends of lines are elements' ends there.
  const expected = characters - (lines - 1)
  if (shown.characters !== expected)
    throw new Error(`The page shows ${shown.characters} characters of ${expected}.`)
  return { ...shown, full: await page.memory() }
}

function outcomeOf(
  { edits, characters }: { readonly edits: number; readonly characters: number },
  taken: readonly Opening[],
) {
  const over = (figures: (opening: Opening) => number | null) => {
    const { p50, min, max } = summarise(taken.map((opening) => figures(opening) ?? Number.NaN))
    return { median: significant(p50), min: significant(min), max: significant(max) }
  }
  const row = {
    edits,
    characters,
    pageBytes: over(({ pageBytes }) => pageBytes).median,
    openMs: over(({ openMs }) => openMs),
    responseMs: over(({ responseMs }) => responseMs),
    heapBytes: over(({ full }) => full.heapBytes),
    emptyHeapBytes: over(({ empty }) => empty.heapBytes),
    processBytes: over(({ full }) => full.processBytes),
    emptyProcessBytes: over(({ empty }) => empty.processBytes),
    openings: taken.length,
  }
  const inMs = ({ median, min, max }: typeof row.openMs) =>
    `${figure(median)} ms (${figure(min)}–${figure(max)})`
  const memory = (full: typeof row.heapBytes, empty: typeof row.heapBytes) =>
    `${megabytes(full.median)}, with an empty document ${megabytes(empty.median)}`
  const inKilobytes = (bytes: number | null) => significant((bytes ?? Number.NaN) / 1000)
  const table = textTable<readonly [string, string]>(
    [
      ['', ([name]) => name],
      ['', ([, value]) => value],
    ],
    [
      ['edits', count(edits)],
      ['characters of the text', count(characters)],
      ['page as loaded, with the document', `${figure(inKilobytes(row.pageBytes))} kB`],
      ['until the page had arrived', inMs(row.responseMs)],
      ['until the text was shown', inMs(row.openMs)],
      ['JavaScript’s heap', memory(row.heapBytes, row.emptyHeapBytes)],
      ['private memory of the renderer process', memory(row.processBytes, row.emptyProcessBytes)],
    ],
    2,
  )
  const word = (isMet: boolean) => (isMet ? 'met   ' : 'missed')
  const added = (row.processBytes.median ?? Number.NaN) - (row.emptyProcessBytes.median ?? 0)
  return {
    text: `${table}

  ${word((row.openMs.median ?? Number.NaN) < goals.openMs)}  opens in ${figure(row.openMs.median)} ms, goal under ${goals.openMs} ms
  ${word((row.heapBytes.median ?? Number.NaN) < goals.bytes)}  JavaScript’s heap: ${megabytes(row.heapBytes.median)}, goal under ${megabytes(goals.bytes)}
  ${word(added < goals.bytes)}  what the document adds to the process: ${megabytes(added)}, goal under ${megabytes(goals.bytes)}`,
    failures: [],
    rows: [row],
    isComplete: true,
  }
}

// The functions below run in the page: no outer variables.

type Watched = typeof globalThis & { shownAt?: number }

/** Notes when that many blocks are in the editable element and were painted. */
function watchOpening(blocks: number): void {
  const look = () => {
    const editor = document.querySelector<HTMLElement>('#document')
    if (!editor?.isContentEditable || editor.childElementCount < blocks) {
      requestAnimationFrame(look)
      return
    }
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      ;(globalThis as Watched).shownAt ??= performance.now()
    }
    port2.postMessage(null)
  }
  requestAnimationFrame(look)
}

function isShown(): boolean {
  return (globalThis as Watched).shownAt !== undefined
}

function readOpening() {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return {
    openMs: (globalThis as Watched).shownAt ?? Number.NaN,
    responseMs: navigation?.responseEnd ?? Number.NaN,
    pageBytes: navigation?.decodedBodySize ?? Number.NaN,
    characters: document.querySelector('#document')?.textContent.length ?? 0,
  }
}
