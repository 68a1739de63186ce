// `editor`: what a keystroke costs sender and receiver, for both editors and growing documents.

import { setTimeout as pause } from 'node:timers/promises'
import { mean } from '../../client/statistics.ts'
import { documentPath, type EditorName, editorNames } from '../../client/wire.ts'
import { until } from '../browser/browser.ts'
import { type MeasuredPage, openMeasuredPage } from '../browser/editing.ts'
import { editorShows, fillEditor, isLinked, placeCaretIn } from '../browser/typing.ts'
import { defineExperiment, turnsOf } from '../lab/experiment.ts'
import { flag, names, whole } from '../lab/flags.ts'
import { programs } from '../lab/programs.ts'
import type { Circumstances } from '../lab/run-environment.ts'
import { makeServerFolder, type StartedServer, startServerProcess } from '../lab/server-process.ts'
import { middleOf } from '../lab/statistics.ts'
import { count, figure, middleWords, table, text } from '../report/section.ts'
import { opening } from './opening-bench.ts'

const documents = [
  { name: '200 characters', channel: 'b200', paragraphs: 1, characters: 200 },
  { name: '10 KB', channel: 'b10k', paragraphs: 50, characters: 200 },
  { name: '100 KB', channel: 'b100k', paragraphs: 500, characters: 200 },
  { name: '100 KB in one paragraph', channel: 'b100k1', paragraphs: 1, characters: 100_000 },
] as const

/** Goals of the issue that asked for the shared editor. */
const goals = { senderMs: 3, receiverMs: 2, ofMirror: 0.1, bytes: 300 }

interface Run extends Circumstances {
  readonly rows: readonly EditorRow[]
}

export const editor = defineExperiment({
  name: 'editor',
  about: `Two windows in Chromium, each in its own browser: one types, the other receives and moves its caret. Measures what a\n    keystroke costs both, for documents of 200 characters, 10 KB, 100 KB and 100 KB in one paragraph.`,
  notes: `Each editor has its own server process with mergeMs 0, so that a keystroke is a message; they take turns. The windows use\n    websocket/1.1, whose input and output can be observed in one place. Sender: from the key’s beforeinput until the\n    message is given to the WebSocket. Receiver: from the parsed message until its handler has returned, plus the animation frames\n    after it, which change the DOM; without layout and paint. Main thread: processor time of the window’s main thread per keystroke,\n    everything included. Times are means of a turn; shown are the median of the turns and their range. Bytes are those of WebSocket frames\n    with headers, without TLS, per keystroke: all that the typing window sends, all that the other one receives while its own\n    caret moves at each keystroke, and of these the presence frames.`,
  otherwise: { ...opening, about: `With --edits, runs only this. ${opening.about}` },
  isBench: true,
  flags: {
    editors: flag(names(editorNames).default(['mirror', 'shared']), 'LIST', 'mirror, shared, or both'),
    keys: flag(whole(1, 1000).default(30), 'N', 'keystrokes per turn'),
    interval: flag(whole(20, 10_000).default(100), 'MS', 'time between two keystrokes'),
    rounds: flag(whole(1, 100).default(5), 'N', 'turns per editor and document'),
  },
  options(given) {
    if (given.editors.length === 0) throw new Error('--editors names no editor.')
    return given
  },

  async measure(options, lab): Promise<Run> {
    await using opened = new AsyncDisposableStack()
    lab.step('starting servers and browsers')
    const sender = await openMeasuredPage()
    opened.defer(sender.close)
    const receiver = await openMeasuredPage()
    opened.defer(receiver.close)
    const subjects: Subject[] = []
    for (const name of options.editors) {
      const server = await startEditorServer(name, opened)
      subjects.push(...documents.map((document) => ({ editor: name, document, server })))
    }
    const turns = new Map(subjects.map((subject) => [subject, [] as Turn[]]))
    for (const [round, order] of turnsOf(subjects, options.rounds).entries())
      for (const subject of order) {
        lab.signal.throwIfAborted()
        lab.step(`round ${round + 1} of ${options.rounds}  ${subject.editor}, ${subject.document.name}`)
        turns.get(subject)?.push(await takeTurn(subject, { sender, receiver }, options))
      }
    const server = 'a process for each editor, on this machine, over loopback'
    const parameters = { ...options, editors: options.editors.join(', ') }
    return {
      ...lab.circumstances({ browser: sender.version, server, parameters }),
      rows: Array.from(turns, ([subject, taken]) => rowOf(subject, taken)),
    }
  },

  analyse: ({ rows, ...circumstances }) => ({
    scenario: 'editor',
    ...circumstances,
    rows,
    finding: goalWords(rows).join(' ') || 'The goals apply to the shared editor, which was not measured.',
  }),

  report(_, { rows }) {
    const tables = [editorTable(rows)]
    return {
      sections: [{ title: 'What a keystroke costs', tables }],
      tables,
      isFailure: rows.some(({ messages, expected }) => messages !== expected),
    }
  },
})

interface Subject {
  readonly editor: EditorName
  readonly document: (typeof documents)[number]
  readonly server: StartedServer
}

/** Its log is in memory, since the bench measures windows. */
async function startEditorServer(editor: EditorName, opened: AsyncDisposableStack): Promise<StartedServer> {
  const folder = await makeServerFolder('bench-editor')
  opened.defer(folder.remove)
  const settings = {
    port: 0,
    'http1-port': 0,
    host: 'localhost',
    share: 'none',
    storage: 'memory',
    'sensor-source': 'none',
    'drain-ms': 0,
    editor,
    'merge-ms': 0,
  }
  const server = await startServerProcess(programs.server, folder.flags(settings))
  opened.defer(server.close)
  return server
}

type Turn = Awaited<ReturnType<typeof takeTurn>>

const warmupKeys = 10
const arriveWithinMs = 20_000

async function takeTurn(
  { editor, document, server }: Subject,
  { sender, receiver }: Readonly<Record<'sender' | 'receiver', MeasuredPage>>,
  { keys, interval }: { readonly keys: number; readonly interval: number },
) {
  const query = new URLSearchParams({ transport: 'websocket', http: '1.1', record: '' })
  const address = `${server.origin['1.1']}${documentPath(document.channel)}?${query}`
  const length = document.paragraphs * document.characters
  for (const window of [sender, receiver]) {
    await window.open(address)
    await until(() => window.run(isLinked), `A window at ${address} did not open its link`, arriveWithinMs)
  }
  // The first turn fills the document; later ones add to it.
  if (!(await sender.run(editorShows, length))) await fill(sender, document, editor)
  for (const window of [sender, receiver])
    await until(
      () => window.run(editorShows, length),
      `A window does not show the ${document.name}, ${editor},`,
      arriveWithinMs,
    )
  await sender.run(placeCaretIn, 0.5)
  await receiver.run(placeCaretIn, 0.25)

  const typed = async (each: number, onKey: () => Promise<void>) => {
    const start = performance.now()
    for (let key = 0; key < each; key += 1) {
      const earlyMs = start + key * interval - performance.now()
      if (earlyMs > 0) await pause(earlyMs)
      await sender.key('x')
      await onKey()
    }
    // The last message, and the frames after it.
    await pause(2 * interval)
  }
  await typed(warmupKeys, async () => undefined)
  await sender.takeProbe()
  await receiver.takeProbe()
  const before = { sender: await sender.mainThreadMs(), receiver: await receiver.mainThreadMs() }
  await typed(keys, async () => undefined)
  const after = { sender: await sender.mainThreadMs(), receiver: await receiver.mainThreadMs() }
  const { sendMs } = await sender.takeProbe()
  const { applyMs } = await receiver.takeProbe()

  let isForward = true
  await typed(keys, async () => {
    await receiver.key(isForward ? 'ArrowRight' : 'ArrowLeft')
    isForward = !isForward
  })
  const { upBytes } = await sender.takeProbe()
  const { downBytes, presenceBytes } = await receiver.takeProbe()
  return {
    keys,
    messages: Math.min(sendMs.length, applyMs.length),
    senderMs: sendMs.length === 0 ? Number.NaN : mean(sendMs),
    receiverMs: applyMs.length === 0 ? Number.NaN : mean(applyMs),
    senderThreadMs: (after.sender - before.sender) / keys,
    receiverThreadMs: (after.receiver - before.receiver) / keys,
    upBytes: upBytes / keys,
    downBytes: downBytes / keys,
    presenceBytes: presenceBytes / keys,
  }
}

async function fill(
  window: MeasuredPage,
  { paragraphs, characters }: Subject['document'],
  editor: EditorName,
): Promise<void> {
  const sentence = 'The wind turned to the north and rose in the evening. '
  // White space at the end of a paragraph is not pasted.
  const paragraph = `${sentence.repeat(Math.ceil(characters / sentence.length)).slice(0, characters - 1)}.`
  const all = Array.from({ length: paragraphs }, () => paragraph)
  await window.run(fillEditor, all, editor === 'shared')
}

export type EditorRow = ReturnType<typeof rowOf>

function rowOf({ editor, document }: Pick<Subject, 'editor' | 'document'>, turns: readonly Turn[]) {
  const sumOf = (name: 'messages' | 'keys') => turns.reduce((sum, turn) => sum + turn[name], 0)
  const over = (name: keyof Turn) => middleOf(turns.map((turn) => turn[name]))
  return {
    mode: `${editor}, ${document.name}`,
    editor,
    document: document.name,
    messages: sumOf('messages'),
    expected: sumOf('keys'),
    senderMs: over('senderMs'),
    receiverMs: over('receiverMs'),
    senderThreadMs: over('senderThreadMs'),
    receiverThreadMs: over('receiverThreadMs'),
    upBytes: over('upBytes'),
    downBytes: over('downBytes'),
    presenceBytes: over('presenceBytes'),
    rounds: turns.length,
  }
}

function editorTable(rows: readonly EditorRow[]) {
  return table(
    'For each key',
    [
      ...['Document', text('Editor'), 'Messages', 'Sender, ms', 'Receiver, ms', 'Main thread: sender, ms'],
      ...['receiver, ms', 'Bytes up', 'Bytes down', 'of presence'],
    ],
    rows
      .toSorted((one, other) => placeOf(one) - placeOf(other))
      .map((row) => [
        ...[row.document, row.editor, `${count(row.messages)}/${count(row.expected)}`],
        ...[row.senderMs, row.receiverMs, row.senderThreadMs, row.receiverThreadMs].map(middleWords),
        ...[row.upBytes.median, row.downBytes.median, row.presenceBytes.median],
      ]),
  )
}

const placeOf = ({ document }: EditorRow) => documents.findIndex(({ name }) => name === document)

/** Whether the shared editor meets its goals; empty if it was not measured. */
export function goalWords(rows: readonly EditorRow[]): string[] {
  const shared = rows.filter(({ editor }) => editor === 'shared')
  const at100 = shared.find(({ document }) => document === '100 KB')
  if (!at100) return []
  const mirror = rows.find(({ editor, document }) => editor === 'mirror' && document === '100 KB')
  const mostBytes = Math.max(
    ...shared.flatMap(({ upBytes, downBytes }) => [upBytes.median ?? 0, downBytes.median ?? 0]),
  )
  const ratio = (at100.receiverMs.median ?? Number.NaN) / (mirror?.receiverMs.median ?? Number.NaN)
  const word = (name: string, value: number | null, most: number, unit: string) =>
    `${value !== null && value <= most ? 'Met' : 'Missed'}: ${name}, ${figure(value)}${unit}, goal at most ${most}${unit}.`
  return [
    word('sender at 100 KB', at100.senderMs.median, goals.senderMs, ' ms'),
    word('receiver at 100 KB', at100.receiverMs.median, goals.receiverMs, ' ms'),
    ...(mirror ? [word('receiver at 100 KB, of mirroring’s', ratio, goals.ofMirror, '')] : []),
    word('bytes of a key, of any document', mostBytes, goals.bytes, ''),
  ]
}
