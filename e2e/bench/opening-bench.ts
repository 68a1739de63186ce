// `opening`: opens a document with a long history in a cold browser.

import { mkdir } from 'node:fs/promises'
import { defaultConfig } from '../../app/config/schema.ts'
import { pageSchema } from '../../app/document/page-schema.ts'
import { unlimitedDocuments } from '../../app/document/page-tasks-testing.ts'
import { createDocument, documentText, linesOf } from '../../app/document/rich-text.ts'
import { pageTypes, unchecked } from '../../app/page-testing.ts'
import { documentPath } from '../../app/shared/document-api.ts'
import { createSeededRandom, type Random } from '../../client/wire.ts'
import { Ledger } from '../../server/document/ledger.ts'
import { openLog } from '../../server/log/open-log.ts'
import { until } from '../browser/browser.ts'
import { type MeasuredPage, openMeasuredPage, type PageMemory } from '../browser/editing.ts'
import { isLinked } from '../browser/typing.ts'
import { flag, whole } from '../lab/flags.ts'
import { programs } from '../lab/programs.ts'
import type { Lab } from '../lab/run-sessions.ts'
import { makeServerFolder, startServerProcess } from '../lab/server-process.ts'
import { significant } from '../lab/statistics.ts'
import type { Analysis, Design, Measure } from '../lab/study.ts'
import { defineStudy, type StudyRun } from '../lab/study-experiment.ts'
import { count, figure } from '../report/section.ts'

/** Goals set for the shared editor. */
const goals = { openMs: 2000, megabytes: 100 }

const channel = 'long-history'
const editsPerSession = 10_000
const editEveryMs = 30_000
const batch = 2000

const time: Pick<Measure, 'unit' | 'better' | 'by'> = { unit: 'ms', better: 'less', by: 'median' }
const memory: Pick<Measure, 'unit' | 'better' | 'by'> = { unit: 'MB', better: 'less', by: 'median' }

export const openingDesign: Design = {
  question: 'How long does a document with a long history take to open?',
  factors: [{ name: 'document', title: 'Document', spoken: (name) => `the ${name} document` }],
  measures: [
    { ...time, name: 'openMs', title: 'Until the text was shown' },
    { ...time, name: 'responseMs', title: 'Until the page had arrived' },
    {
      ...time,
      name: 'pageKilobytes',
      title: 'The page, with the document',
      unit: 'kB',
      isCompared: false,
    },
    { ...memory, name: 'heapMegabytes', title: 'JavaScript’s heap' },
    { ...memory, name: 'processMegabytes', title: 'Private memory of the renderer process' },
  ],
  notes: () => [
    'A sample is one opening by a cold browser with a new profile, which first opens the empty document, whose opening is not timed. The server is the same for all.',
  ],
  remarks: formatGoals,
}

function formatGoals({ figures, comparisons }: Analysis): readonly string[] {
  const medianOf = (measure: string) =>
    figures.find(({ at, measure: name }) => at.document === 'long' && name === measure)?.p50
  const added = comparisons.find(({ measure }) => measure === 'processMegabytes')?.difference
  const word = (value: number | null | undefined, most: number, words: string) =>
    `${value != null && value < most ? 'Met' : 'Missed'}: ${words}.`
  const openMs = medianOf('openMs')
  const heap = medianOf('heapMegabytes')
  const most = `goal under ${goals.megabytes} MB`
  return [
    word(openMs, goals.openMs, `opens in ${figure(openMs)} ms, goal under ${goals.openMs} ms`),
    word(heap, goals.megabytes, `JavaScript’s heap ${figure(heap)} MB, ${most}`),
    word(added, goals.megabytes, `what the document adds to the process ${figure(added)} MB, ${most}`),
  ]
}

export const opening = defineStudy({
  name: 'opening',
  about: `This many single-character edits, a quarter of them deletions, are appended to a server’s log; then cold browsers with new\n    profiles open the document.`,
  notes: `Opening: from the navigation until all text is in the DOM, the editor is editable and its frame was painted. Memory: the\n    JavaScript heap after a garbage collection, and the private memory of the window’s renderer process; it is compared with that of an\n    empty document.`,
  isBench: true,
  flags: {
    edits: flag(whole(1, 10_000_000).default(1_000_000), 'N', 'edits in the document’s history'),
    openings: flag(whole(1, 100).default(5), 'N', 'browsers that open it, one after another'),
    seed: flag(whole(0, 2 ** 32 - 1).default(2021), 'N', 'repeats the history'),
  },
  options: (given) => given,

  design: openingDesign,

  async measure({ edits, openings, seed }, lab): Promise<StudyRun> {
    await using opened = new AsyncDisposableStack()
    const folder = await makeServerFolder('bench-opening')
    opened.defer(folder.remove)
    const settings = {
      port: 0,
      'http1-port': 0,
      host: 'localhost',
      share: 'none',
      'sensor-source': 'none',
      'drain-ms': 0,
    }
    const flags = folder.flags(settings)
    const dataFolder = flags[flags.indexOf('--data-folder') + 1] ?? ''
    const history = createHistory({ edits, editsPerSession, random: createSeededRandom(seed) })
    await writeHistory(history, { edits, dataFolder }, lab)
    const { characters, lines } = history.result()
    lab.progress.step('starting the server')
    const server = await startServerProcess(programs.server, flags)
    opened.defer(server.close)

    const address = (name: string) =>
      `${server.origin['1.1']}${documentPath(name)}?transport=websocket&http=1.1&record`
    let browser = ''
    const taken = await lab.sessions(openings, async (number, closing) => {
      lab.progress.step(`opening ${number} of ${openings}`)
      const page = await openMeasuredPage()
      closing.defer(page.close)
      browser = page.version
      await page.open(address('empty'))
      await until(() => page.run(isLinked), 'The empty document is not shown', openWithinMs)
      const empty = await page.memory()
      const shown = await open(page, address(channel), { characters, lines })
      return { ...shown, number, empty }
    })
    const place = { browser, server: 'one process on this machine, over loopback' }
    const circumstances = lab.circumstances({ ...place, parameters: { edits, openings, seed } })
    return {
      ...circumstances,
      levels: { document: ['empty', 'long'] },
      baseline: 'empty',
      samples: taken.flatMap(({ number, openMs, responseMs, pageBytes, full, empty }) => [
        { ...unopened, document: 'empty', session: number, expected: 0, ...memoryOf(empty) },
        {
          document: 'long',
          session: number,
          expected: 1,
          openMs,
          responseMs,
          pageKilobytes: significant(pageBytes / 1000),
          ...memoryOf(full),
        },
      ]),
      observations: [`Its ${count(edits)} edits leave ${count(characters)} characters.`],
    }
  },
})

const unopened = { openMs: null, responseMs: null, pageKilobytes: null }

const memoryOf = ({ heapBytes, processBytes }: PageMemory) => ({
  heapMegabytes: significant(heapBytes / 1e6),
  processMegabytes: processBytes === null ? null : significant(processBytes / 1e6),
})

const openWithinMs = 60_000

interface HistoryPlan {
  readonly edits: number
  /** Edits per window; each has its own Yjs client. */
  readonly editsPerSession: number
  readonly random: Random
}

/**
 * Mean lengths of a typed and a deleted run in one place; a deletion follows half of the typed
 * runs.
 */
const lengths = { typed: 20, deleted: 14 }
const shares = { deleting: 0.5, atEnd: 0.5, space: 1 / 6, newLine: 1 / 200 }

/**
 * People type a run of letters, delete some of them and move: half of the time to the end, else
 * anywhere. About one edit in four deletes. Each update is one character's, as a window with
 * `mergeMs: 0` publishes it.
 */
export function createHistory({ edits, editsPerSession, random }: HistoryPlan) {
  const doc = createDocument()
  const text = documentText(doc)
  const isHit = (share: number) => random() < share
  const below = (bound: number) => Math.floor(random() * bound)
  /** Geometric, at least 1. */
  const lengthAround = (mean: number) => 1 + Math.floor(Math.log(1 - random()) / Math.log(1 - 1 / mean))

  let left = { typing: 0, deleting: 0 }
  let caret = 0

  function go(): void {
    caret = isHit(shares.atEnd) ? text.length : below(text.length + 1)
    left = {
      typing: lengthAround(lengths.typed),
      deleting: isHit(shares.deleting) ? lengthAround(lengths.deleted) : 0,
    }
  }

  function character(): string {
    if (isHit(shares.newLine)) return '\n'
    return isHit(shares.space) ? ' ' : String.fromCharCode(97 + below(26))
  }

  function edit(): void {
    if (left.typing === 0 && (left.deleting === 0 || caret === 0)) go()
    if (left.typing > 0) {
      // With attributes, Yjs would search for the place from the beginning.
      text.insert(caret, character())
      caret += 1
      left.typing -= 1
    } else {
      caret -= 1
      text.delete(caret, 1)
      left.deleting -= 1
    }
  }

  return {
    *updates(): Generator<{ readonly update: Uint8Array; readonly session: number }> {
      let update: Uint8Array = new Uint8Array()
      doc.on('update', (made) => {
        update = made
      })
      for (let done = 0; done < edits; done += 1) {
        if (done % editsPerSession === 0) {
          doc.clientID = below(2 ** 32)
          left = { typing: 0, deleting: 0 }
        }
        edit()
        yield { update, session: Math.floor(done / editsPerSession) }
      }
    },
    /** Call after the last update. */
    result: () => ({ characters: text.length, lines: linesOf(text).length }),
  }
}

/** Appends the history to a new log, as if it had been written over the time until now. */
async function writeHistory(
  history: ReturnType<typeof createHistory>,
  { edits, dataFolder }: { readonly edits: number; readonly dataFolder: string },
  lab: Lab,
): Promise<void> {
  const onFailure = (error: unknown) => {
    throw error
  }
  const ledger = new Ledger({
    schema: pageSchema,
    documents: unlimitedDocuments,
    trials: unlimitedDocuments,
    ...defaultConfig.limits,
    now: Date.now,
    onFailure,
  })
  await mkdir(dataFolder, { recursive: true })
  const { log } = await openLog(
    { ...defaultConfig, durability: 'process' },
    {
      typeOf: pageTypes(unchecked(ledger)),
      dataFolder,
      now: Date.now,
      random: Math.random,
      onFailure,
    },
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
    lab.signal.throwIfAborted()
    lab.progress.step(`writing the history  ${count(done)} of ${count(edits)} edits`)
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
  // In the page, line ends are element boundaries.
  const expected = characters - (lines - 1)
  if (shown.characters !== expected)
    throw new Error(`The page shows ${shown.characters} of ${expected} characters.`)
  return { ...shown, full: await page.memory() }
}

// The functions below run in the page: no outer variables.

type Watched = typeof globalThis & { shownAt?: number }

/** Records when this many blocks are in the editable element and were painted. */
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
