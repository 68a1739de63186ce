// Two windows of an example's editor write at random, while connections are cut and the server is killed.

import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { build } from 'esbuild'
import * as Y from 'yjs'
import { type Mode, needsTls } from '../../protocol/modes.ts'
import { createSeededRandom, type Random } from '../../protocol/time.ts'
import { until } from '../browser/browser.ts'
import { type EditingPage, openEditingPage } from '../browser/editing.ts'
import { type CuttingProxy, startProxy } from '../network/cutting-proxy.ts'
import type { Recorded } from './recording-provider.ts'
import { contains, isEqual, startProcess } from './yjs-testing.ts'

export interface Editor {
  /** Where people write. */
  readonly content: string
  /** The name of another at its caret, or a caret without one. */
  readonly caret: string
  readonly isNameless?: boolean
  /** Keys and buttons that format. */
  readonly formats: readonly string[]
  /** Errors that it throws with any provider. */
  readonly faults?: RegExp
  /** What it shows is not compared with its document. */
  readonly strays?: boolean
  /** Its page has its styles in a file, instead of its script. */
  readonly hasStyles?: boolean
}

/** By the folder in `examples`. */
export const editors: Readonly<Record<string, Editor>> = {
  codemirror: {
    content: '.cm-content',
    caret: '.cm-ySelectionInfo',
    formats: ['Alt+ArrowUp', 'Alt+ArrowDown', 'Control+]', 'Shift+Alt+ArrowDown'],
  },
  tiptap: {
    content: '.tiptap',
    caret: '.collaboration-carets__label',
    formats: ['Control+b', 'Control+i', 'Control+Alt+1', 'Control+Alt+0', 'Control+Shift+8', 'Shift+Enter'],
    // ueberdosis/tiptap#7734: Enter in a selection of several blocks, in four wordings and without Yjs, too;
    // ueberdosis/y-tiptap#48: its selection after others deleted text.
    faults:
      /Inserted content deeper than|Invalid content for node|Cannot join \w+ onto|RangeError: Position \d+ out of range/,
  },
  quill: {
    content: '.ql-editor',
    caret: '.ql-cursor-name',
    formats: ['Control+b', 'Control+i', '.ql-underline', '.ql-list[value="bullet"]', '.ql-clean'],
  },
  lexical: {
    content: '[data-lexical-editor]',
    caret: 'body > div > span > span:not(:empty)',
    formats: ['Control+b', 'Control+i', 'Control+u', 'Shift+Enter'],
    // With any provider, it may stop following its document.
    strays: true,
  },
  prosemirror: {
    content: '.ProseMirror',
    caret: '.ProseMirror-yjs-cursor > div',
    formats: [
      'Control+b',
      'Control+i',
      'Shift+Control+1',
      'Shift+Control+0',
      'Shift+Control+8',
      'Shift+Enter',
    ],
  },
  blocknote: {
    content: '.bn-editor',
    caret: '.bn-collaboration-cursor__label',
    formats: ['Control+b', 'Control+i', 'Control+Alt+1', 'Control+Alt+0', 'Control+Shift+8', 'Shift+Enter'],
    // Its selection after others deleted text, as Tiptap's.
    faults: /RangeError: Position \d+ out of range/,
  },
  monaco: {
    content: '.view-lines',
    caret: '.yRemoteSelectionHead',
    isNameless: true,
    formats: ['Alt+ArrowUp', 'Alt+ArrowDown', 'Control+]', 'Shift+Alt+ArrowDown'],
    // It draws only the lines in view, in any order.
    strays: true,
    hasStyles: true,
  },
}

const channel = 'doc.1'
/** Characters that are typed once: a window's own part of the CJK Unified Ideographs. */
const firstMark = 0x4e00
const marksEach = 0x1800
/** A longer text is shortened now and then. */
const longestText = 500
/** Between and during disturbances; in a short game less. */
const maxPauseMs = 1500
const killEachSeconds = 20
/** Before a window that has stopped writing is asked whether it is saved. */
const savedWithinMs = 200
const stepsBetweenChecks = 4
const settleWithinMs = 60_000

interface Game {
  readonly editor: Editor
  /** See `recordingPage`. */
  readonly page: string
  /** Has `server.pem` and `server.key`. */
  readonly certificate: string
  /** For the documents. */
  readonly folder: string
  readonly mode: Mode
  readonly seconds: number
  readonly seed: number
  /** Its browser has the windows. */
  readonly beside: EditingPage
}

/** Bundles the example's editor with a provider that records. Resolves to a folder for the server. */
export async function recordingPage(app: string, html: string, { hasStyles }: Editor): Promise<string> {
  const recording = join(import.meta.dirname, 'recording-provider.ts')
  const provider = '@crosswind/client/yjs'
  const { outputFiles } = await build({
    entryPoints: [join(app, 'editor.*')],
    bundle: true,
    format: 'esm',
    write: false,
    outdir: app,
    jsx: 'automatic',
    loader: hasStyles ? { '.ttf': 'dataurl' } : { '.css': 'text' },
    plugins: [
      {
        name: 'recording',
        setup({ onResolve, resolve }) {
          onResolve({ filter: /^@crosswind\/client\/yjs$/ }, ({ pluginData }) =>
            pluginData ? null : { path: recording },
          )
          onResolve({ filter: /client\/yjs\.ts$|^yjs$/ }, ({ path, importer, kind }) =>
            importer === recording
              ? resolve(path === 'yjs' ? path : provider, { kind, resolveDir: app, pluginData: 'recorded' })
              : null,
          )
        },
      },
    ],
  })
  const page = join(app, 'recording')
  await mkdir(page, { recursive: true })
  await writeFile(join(page, 'page.html'), html)
  for (const { path, contents } of outputFiles) await writeFile(join(page, basename(path)), contents)
  return page
}

/** One window and its way to the server. */
class Writer {
  readonly window: EditingPage
  readonly proxy: CuttingProxy
  /** Characters that no other window types. */
  readonly #typed = new Set<string>()
  readonly #editor: Editor
  readonly #random: Random
  readonly #first: number
  #count = 0

  constructor(window: EditingPage, proxy: CuttingProxy, editor: Editor, random: Random, first: number) {
    this.window = window
    this.proxy = proxy
    this.#editor = editor
    this.#random = random
    this.#first = first
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #pick<Value>(from: readonly Value[]): Value {
    return from[this.#below(from.length)] as Value
  }

  async step(): Promise<void> {
    if ((await this.window.run(focus, this.#editor.content)) > longestText) return this.#shorten()
    const action = this.#pick([
      'word',
      'word',
      'word',
      'word',
      'keys',
      'keys',
      'erase',
      'erase',
      'split',
      'walk',
      'click',
      'select',
      'format',
      'format',
      'undo',
      'undo',
      'redo',
    ] as const)
    if (action === 'word') await this.word()
    else if (action === 'keys') await this.window.type(this.#pick(['ab', 'the ', ' ', '1. ', '- ', '. ']))
    else if (action === 'erase')
      await this.#repeat(this.#pick(['Backspace', 'Delete', 'Control+Backspace']), 4)
    else if (action === 'split') await this.window.key('Enter')
    else if (action === 'walk') await this.#repeat(this.#pick(walks), 10)
    else if (action === 'click') await this.#click()
    else if (action === 'undo') await this.window.key('Control+z')
    else if (action === 'redo') await this.window.key('Control+y')
    else {
      await this.#repeat(`Shift+${this.#pick(['ArrowLeft', 'ArrowRight', 'ArrowUp'])}`, 6)
      const isSelected = await this.window.run(() => getSelection()?.isCollapsed === false)
      // Without a selection Quill waits for text in a place that others' changes break.
      if (action === 'select' || !isSelected) return this.word()
      const format = this.#pick(this.#editor.formats)
      await (format.startsWith('.') ? this.window.page.click(format) : this.window.key(format))
    }
  }

  async word(): Promise<void> {
    const codes = Array.from(
      { length: 1 + this.#below(5) },
      (_, place) => this.#first + ((this.#count + place) % marksEach),
    )
    this.#count += codes.length
    const word = String.fromCharCode(...codes)
    for (const character of word) {
      this.#typed.add(character)
      // When text comes without a key, ProseMirror may take the name at another's caret for it.
      await this.window.page.keyboard.press('a', { text: character })
    }
  }

  async #repeat(key: string, most: number): Promise<void> {
    for (let left = 1 + this.#below(most); left > 0; left -= 1) await this.window.key(key)
  }

  async #click(): Promise<void> {
    const content = await this.window.page.$(this.#editor.content)
    const box = (await content?.boundingBox()) ?? assert.fail('there is no editor')
    const height = Math.min(box.height, 600 - box.y)
    await this.window.page.mouse.click(box.x + this.#random() * box.width, box.y + this.#random() * height)
  }

  async #shorten(): Promise<void> {
    await this.#click()
    await this.window.key('Control+Shift+End')
    await this.window.key('Delete')
  }

  record(): Promise<Recorded> {
    return this.window.run(() => globalThis.recorder.record())
  }

  /** Resolves once it calls everything saved, or when it has had the time for that. */
  pause(): Promise<void> {
    return this.window.run(async (ms) => {
      const saved = globalThis.recorder.whenSaved().catch(() => undefined)
      await Promise.race([saved, new Promise((resolve) => setTimeout(resolve, ms))])
    }, savedWithinMs)
  }

  /** The marks that the editor shows. */
  async shown(): Promise<string> {
    const { content } = this.#editor
    return marksOf(
      await this.window.run((where) => document.querySelector(where)?.textContent ?? '', content),
    )
  }

  /** Whether all keys reached the document, and the editor shows it. Returns how often the editor failed. */
  async check(updates: readonly string[], text: string): Promise<number> {
    // Connections are cut.
    const ours = /net::ERR_|WebSocket connection to|status of [45]/
    const errors = this.window.errors().filter((error) => !ours.test(error))
    const known = errors.filter((error) => this.#editor.faults?.test(error))
    assert.deepEqual(
      errors.filter((error) => !known.includes(error)),
      [],
    )
    const written = insertedBy(updates)
    const missing = [...this.#typed].filter((mark) => !written.includes(mark))
    assert.deepEqual(missing, [], 'keys did not reach the document')
    await until(async () => (await this.shown()) === text, `an editor does not show its document, ${text},`)
    return known.length
  }

  /** Otherwise it would wait for its next attempt. */
  async reconnect(): Promise<void> {
    this.proxy.refuse(false)
    this.proxy.release()
    await this.window.run(() => void dispatchEvent(new Event('online')))
  }
}

const walks = [
  'ArrowLeft',
  'ArrowRight',
  'ArrowUp',
  'ArrowDown',
  'Home',
  'End',
  'Control+Home',
  'Control+End',
]

/** Runs in the page. Returns the length of the text. */
function focus(content: string): number {
  const root = document.querySelector<HTMLElement>(content)
  if (!root?.contains(document.activeElement)) root?.focus()
  return root?.textContent.length ?? 0
}

type Running = Awaited<ReturnType<typeof startProcess>>

/** A server that is killed and started again on its port. */
class KilledServer {
  readonly #start: (port: number) => Promise<Running>
  #running: Running
  kills = 0

  constructor(start: (port: number) => Promise<Running>, running: Running) {
    this.#start = start
    this.#running = running
  }

  get port(): number {
    return this.#running.port
  }

  async kill(): Promise<void> {
    await this.#running.kill()
    this.kills += 1
  }

  async startAgain(): Promise<void> {
    this.#running = await this.#start(this.port)
  }

  /** Null if it is killed before it answers. */
  async stored(): Promise<Y.Doc | null> {
    const update = await this.#running.stored(channel)
    return update === null ? null : documentOf([update])
  }
}

function documentOf(updates: readonly string[]): Y.Doc {
  const doc = new Y.Doc()
  doc.transact(() => {
    for (const update of updates) Y.applyUpdate(doc, Buffer.from(update, 'base64'))
  })
  return doc
}

/** Rejects if an edit is lost, or a window is wrong about what is saved. Resolves to what happened, in numbers. */
export async function play(t: TestContext, { mode, seed, seconds, editor, ...game }: Game) {
  const rest = needsTls[mode.http] ? [game.page, game.certificate] : [game.page]
  const start = (port: number) => startProcess(t, game.folder, port, rest)
  const server = new KilledServer(start, await start(0))
  const scheme = needsTls[mode.http] ? 'https' : 'http'
  const open = async (place: number) => {
    const proxy = await startProxy(server.port)
    t.after(proxy.close)
    const address = `${scheme}://localhost:${proxy.port}/?mode=${mode.name}`
    const window = await openEditingPage('chromium', address, { beside: game.beside })
    t.after(window.close)
    await window.page.waitForSelector(editor.content)
    await window.page.waitForFunction(() => document.querySelector('#state')?.textContent === 'Saved')
    return new Writer(window, proxy, editor, createSeededRandom(seed + place), firstMark + place * marksEach)
  }
  // In turn, since an editor may begin an empty document with a paragraph.
  const writers = [await open(0), await open(1)] as const
  const endAt = performance.now() + seconds * 1000
  const kills = Math.max(1, Math.round(seconds / killEachSeconds))
  // A busy machine may not get to them in time.
  const isOver = () => performance.now() >= endAt && server.kills >= kills
  const write = async (writer: Writer) => {
    for (let steps = 1; !isOver(); steps += 1) {
      await writer.step()
      if (steps % stepsBetweenChecks === 0) await checkSaved(server, writer)
    }
  }
  const [cuts] = await Promise.all([
    disturb(server, writers, { seed, seconds, endAt, kills, isOver }),
    ...writers.map(write),
  ])
  for (const writer of writers) await writer.reconnect()
  await compare(server, writers)
  const late = await open(2)
  // An editor that failed at the last change catches up with the next.
  await late.window.page.click(editor.content)
  await late.word()
  const records = await compare(server, [...writers, late])
  const text = marksOf(records[0]?.text ?? '')
  let failures = 0
  if (!editor.strays)
    for (const [place, writer] of [...writers, late].entries())
      failures += await writer.check(records[place]?.updates ?? [], text)
  const edits = records.reduce((sum, { updates }) => sum + updates.length, 0)
  return { edits, cuts, kills: server.kills, failures }
}

/** Resolves to the number of cuts. */
async function disturb(
  server: KilledServer,
  writers: readonly Writer[],
  {
    seed,
    seconds,
    endAt,
    kills,
    isOver,
  }: Pick<Game, 'seed' | 'seconds'> & {
    readonly endAt: number
    readonly kills: number
    readonly isOver: () => boolean
  },
): Promise<number> {
  const random = createSeededRandom(seed - 1)
  const pause = () => delay(random() * Math.min(maxPauseMs, seconds * 200))
  const isTimeToKill = () => {
    const left = (endAt - performance.now()) / seconds / 1000
    return left < (kills - server.kills - 0.5) / kills
  }
  let cuts = 0
  for (; !isOver(); await pause()) {
    if (isTimeToKill()) {
      await server.kill()
      await pause()
      await startAgain(server, writers)
    }
    const writer = writers[Math.floor(random() * writers.length)] ?? assert.fail('there is no window')
    const { proxy } = writer
    const kind = random()
    if (kind < 0.3) proxy.hold()
    else if (kind < 0.6) proxy.refuse(true)
    if (kind > 0.1) proxy.cut()
    cuts += 1
    await pause()
    proxy.release()
    proxy.refuse(false)
    if (random() < 0.5) await writer.reconnect()
  }
  return cuts
}

/** Before its next change, which might bring what is missing. */
async function checkSaved(server: KilledServer, writer: Writer): Promise<void> {
  await writer.pause()
  const { unsaved, document } = await writer.record()
  const stored = unsaved === 0 ? await server.stored() : null
  assert.ok(!stored || contains(stored, documentOf([document])), 'the log lacks what a window calls saved')
}

/** The windows stay cut off until the log is seen to have all that they called saved. */
async function startAgain(server: KilledServer, writers: readonly Writer[]): Promise<void> {
  for (const { proxy } of writers) proxy.refuse(true)
  await server.startAgain()
  const stored = (await server.stored()) ?? assert.fail('the server does not answer')
  for (const writer of writers) {
    const { updates, savedCount } = await writer.record()
    assert.ok(
      contains(stored, documentOf(updates.slice(0, savedCount))),
      `after kill ${server.kills} the log lacks an update that was called saved`,
    )
  }
  for (const { proxy } of writers) proxy.refuse(false)
}

/** Waits until all is stored. Rejects unless the log has what was written, and nothing else. */
async function compare(server: KilledServer, writers: readonly Writer[]): Promise<readonly Recorded[]> {
  let stored = new Y.Doc()
  let records: readonly Recorded[] = []
  const areEqual = async () => {
    records = await Promise.all(writers.map((writer) => writer.record()))
    stored = (await server.stored()) ?? stored
    return records.every(({ unsaved, document }) => unsaved === 0 && isEqual(documentOf([document]), stored))
  }
  await until(areEqual, 'windows and log are not equal', settleWithinMs).catch((error) => {
    const states = records.map(({ unsaved, faults }) => `${unsaved} unsaved, ${faults.join()}`)
    throw new Error(`${error.message} ${states.join('; ')}`)
  })
  assert.ok(isEqual(documentOf(records.flatMap(({ updates }) => updates)), stored), 'the log has other edits')
  for (const { faults } of records) assert.deepEqual(faults, [])
  return records
}

const insertedBy = (updates: readonly string[]) =>
  updates
    .flatMap((update) => Y.decodeUpdate(Buffer.from(update, 'base64')).structs)
    .map((struct) =>
      struct instanceof Y.Item && struct.content instanceof Y.ContentString ? struct.content.str : '',
    )
    .join('')

/** Without other windows' carets and names. */
const marksOf = (text: string) => text.replaceAll(/[^\u4e00-\u9fff]/g, '')
