// `editor`: the cost of a keystroke to sender and receiver, for both editors and growing documents.

import { setTimeout as pause } from 'node:timers/promises'
import { mean } from '../../client/statistics.ts'
import { until } from '../browser/browser.ts'
import { type MeasuredPage, openMeasuredPage } from '../browser/editing.ts'
import { editorShows, fillEditor, isLinked, placeCaretIn } from '../browser/typing.ts'
import { flag, names, whole } from '../lab/flags.ts'
import { type EditorName, editorNames, requireMode } from '../lab/mode-names.ts'
import { programs } from '../lab/programs.ts'
import { makeServerFolder, type StartedServer, startServerProcess } from '../lab/server-process.ts'
import { significant } from '../lab/statistics.ts'
import type { Analysis, Design } from '../lab/study.ts'
import { defineStudy, type StudyRun } from '../lab/study-experiment.ts'
import { hasLost } from '../lab/study-parts.ts'
import { recordingAddress } from '../lab/testbed.ts'
import { turnsOf } from '../lab/turns.ts'
import { figure } from '../report/section.ts'

const documents = [
  { name: '200 characters', channel: 'b200', paragraphs: 1, characters: 200 },
  { name: '10 KB', channel: 'b10k', paragraphs: 50, characters: 200 },
  { name: '100 KB', channel: 'b100k', paragraphs: 500, characters: 200 },
  { name: '100 KB in one paragraph', channel: 'b100k1', paragraphs: 1, characters: 100_000 },
] as const

/** Goals set for the shared editor. */
const goals = { senderMs: 3, receiverMs: 2, ofMirror: 0.1, bytes: 300 }

const inMs = { unit: 'ms', better: 'less' } as const
const inBytes = { unit: 'bytes', better: 'less' } as const

export const editorDesign: Design = {
  question: 'What does a keystroke cost a window?',
  factors: [
    { name: 'editor', title: 'Editor', spoken: (name) => `the ${name} editor` },
    { name: 'document', title: 'Document', spoken: (name) => `with ${name}` },
  ],
  measures: [
    { ...inMs, name: 'senderMs', title: 'Sender' },
    { ...inMs, name: 'receiverMs', title: 'Receiver' },
    { ...inMs, name: 'senderThreadMs', title: 'Main thread of the sender' },
    { ...inMs, name: 'receiverThreadMs', title: 'Main thread of the receiver' },
    { ...inBytes, name: 'upBytes', title: 'Sent' },
    { ...inBytes, name: 'downBytes', title: 'Received' },
    { ...inBytes, name: 'presenceBytes', title: 'Received, of presence', isCompared: false },
  ],
  notes: () => [
    'A sample is one message of a keystroke, but for figures it is one turn: the mean of its keystrokes.',
  ],
  remarks: formatGoals,
}

export const editor = defineStudy({
  name: 'editor',
  about: `Two windows in Chromium, each in its own browser: one types, the other receives and moves its caret. Measures what a\n    keystroke costs both, for documents of 200 characters, 10 KB, 100 KB and 100 KB in one paragraph.`,
  notes: `Each editor has its own server process with mergeMs 0, so that a keystroke is a message; they take turns, one in each\n    session, which has fresh servers and browsers. The windows use\n    websocket/1.1, whose input and output can be observed in one place. Sender: from the key’s beforeinput until the\n    message is given to the WebSocket. Receiver: from the parsed message until its handler has returned, plus the animation frames\n    after it, which change the DOM; without layout and paint. Main thread: processor time of the window’s main thread per keystroke,\n    everything included. Bytes are those of WebSocket frames\n    with headers, without TLS, per keystroke: all that the typing window sends, all that the other one receives while its own\n    caret moves at each keystroke, and of these the presence frames.`,
  isBench: true,
  flags: {
    editors: flag(names(editorNames).default(['mirror', 'shared']), 'LIST', 'mirror, shared, or both'),
    keys: flag(whole(1, 1000).default(30), 'N', 'keystrokes per turn'),
    interval: flag(whole(20, 10_000).default(100), 'MS', 'time between two keystrokes'),
    sessions: flag(whole(1, 100).default(5), 'N', 'turns per editor and document'),
  },
  options(given) {
    if (given.editors.length === 0) throw new Error('--editors names no editor.')
    return given
  },

  design: editorDesign,
  isFailure: hasLost,

  async measure(options, lab): Promise<StudyRun> {
    const { editors, sessions, keys } = options
    const subjects = editors.flatMap((name) => documents.map((document) => ({ editor: name, document })))
    const orders = turnsOf(subjects, sessions)
    let browser = ''
    const taken = await lab.sessions(sessions, async (session, opened) => {
      lab.progress.step(`session ${session} of ${sessions}  starting servers and browsers`)
      const sender = await openMeasuredPage()
      opened.defer(sender.close)
      const receiver = await openMeasuredPage()
      opened.defer(receiver.close)
      browser = sender.version
      const servers = new Map<EditorName, StartedServer>()
      for (const name of editors) servers.set(name, await startEditorServer(name, opened))
      const rows = []
      for (const subject of orders[session - 1] ?? []) {
        const { editor: name, document } = subject
        const server = servers.get(name)
        if (!server) continue
        lab.signal.throwIfAborted()
        lab.progress.step(`session ${session} of ${sessions}  ${name}, ${document.name}`)
        const { messages, ...figures } = await takeTurn({ ...subject, server }, { sender, receiver }, options)
        const lost = keys - messages
        rows.push({ editor: name, document: document.name, session, expected: keys, lost, ...figures })
      }
      return rows
    })
    const parameters = { ...options, editors: editors.join(', ') }
    const server = 'a process for each editor, on this machine, over loopback'
    return {
      ...lab.circumstances({ browser, server, parameters }),
      levels: { editor: editors, document: documents.map(({ name }) => name) },
      baseline: editors.length > 1 ? 'mirror' : null,
      samples: taken.flat(),
    }
  },
})

interface Subject {
  readonly editor: EditorName
  readonly document: (typeof documents)[number]
  readonly server: StartedServer
}

/** The shared editor's log is in memory, since the bench measures windows. */
async function startEditorServer(editor: EditorName, opened: AsyncDisposableStack): Promise<StartedServer> {
  if (editor === 'mirror') {
    const mirror = await startServerProcess(programs.adapter, [JSON.stringify({ file: programs.mirror })])
    opened.defer(mirror.close)
    return mirror
  }
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
    'merge-ms': 0,
  }
  const server = await startServerProcess(programs.server, folder.flags(settings))
  opened.defer(server.close)
  return server
}

const warmupKeys = 10
const arriveWithinMs = 20_000

async function takeTurn(
  { editor, document, server }: Subject,
  { sender, receiver }: Readonly<Record<'sender' | 'receiver', MeasuredPage>>,
  { keys, interval }: { readonly keys: number; readonly interval: number },
) {
  const address = recordingAddress({ server, mode: requireMode('websocket/1.1') }, document.channel)
  const length = document.paragraphs * document.characters
  for (const window of [sender, receiver]) {
    await window.open(address)
    await until(() => window.run(isLinked), `A window at ${address} did not open its link`, arriveWithinMs)
  }
  await fill(sender, document, editor)
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
    messages: Math.min(sendMs.length, applyMs.length),
    senderMs: sendMs.length === 0 ? null : significant(mean(sendMs)),
    receiverMs: applyMs.length === 0 ? null : significant(mean(applyMs)),
    senderThreadMs: significant((after.sender - before.sender) / keys),
    receiverThreadMs: significant((after.receiver - before.receiver) / keys),
    upBytes: significant(upBytes / keys),
    downBytes: significant(downBytes / keys),
    presenceBytes: significant(presenceBytes / keys),
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

/** Whether the shared editor meets its goals; empty if it was not measured. */
function formatGoals({ figures }: Analysis): readonly string[] {
  const medianOf = (editor: EditorName, document: string, measure: string) =>
    figures.find(
      ({ at, measure: name }) => at.editor === editor && at.document === document && name === measure,
    )?.p50 ?? Number.NaN
  const sender = medianOf('shared', '100 KB', 'senderMs')
  const receiver = medianOf('shared', '100 KB', 'receiverMs')
  const ratio = receiver / medianOf('mirror', '100 KB', 'receiverMs')
  if (Number.isNaN(sender)) return []
  const bytes = figures.flatMap(({ at, measure, p50 }) =>
    at.editor === 'shared' && (measure === 'upBytes' || measure === 'downBytes') ? (p50 ?? []) : [],
  )
  const word = (name: string, value: number, most: number, unit: string) =>
    `${value <= most ? 'Met' : 'Missed'}: ${name}, ${figure(value)}${unit}, goal at most ${most}${unit}.`
  return [
    word('sender at 100 KB', sender, goals.senderMs, ' ms'),
    word('receiver at 100 KB', receiver, goals.receiverMs, ' ms'),
    ...(Number.isNaN(ratio) ? [] : [word('receiver at 100 KB, of mirroring’s', ratio, goals.ofMirror, '')]),
    word('bytes of a key, of any document', Math.max(...bytes), goals.bytes, ''),
  ]
}
