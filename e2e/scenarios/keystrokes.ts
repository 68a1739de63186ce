// The 200 keystrokes of the 2021 paper (4.2), in sessions: one window types, all receive.

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { EditorName } from '../../server/wire/messages.ts'
import type { Mode } from '../../server/wire/modes.ts'
import { createSeededRandom, type Random } from '../../server/wire/time.ts'
import { type Browser, startBrowser } from '../browser/browser.ts'
import {
  fillPages,
  openWindows,
  readClocks,
  showPages,
  stampsOf,
  typeKeys,
  warmUp,
} from '../browser/typing.ts'
import { boundBetween, combine } from '../lab/clock.ts'
import { requireMode } from '../lab/mode-names.ts'
import { describeEnvironment, loadNow } from '../lab/run-environment.ts'
import {
  findFreePorts,
  joinServer,
  type MeasuredServer,
  makeServerFolder,
  type Ports,
  serverProgram,
  startServerProcess,
} from '../lab/server-process.ts'
import { median, rounded } from '../lab/statistics.ts'
import { Progress } from '../lab/terminal-output.ts'
import { type Link, meanLateness, startLink } from '../network/delay-link.ts'
import { profiles } from '../network/profiles.ts'
import { reportFolder, requireFree, writeFolder } from '../report/render.ts'
import {
  analyse,
  growingIntervalMs,
  growingKeys,
  growingTurns,
  hasArrived,
  isDecided,
  matchBlock,
  type Run,
  type Sample,
  sessionsNeeded,
  transmissionMs,
} from './keystrokes-analysis.ts'
import { keystrokesFiles } from './keystrokes-report.ts'
import type { KeystrokeOptions } from './scenario-options.ts'

interface Subject {
  /** `sse/2`, with two editors `sse/2 mirror`; of a peer `bare:sse/2`. */
  readonly name: string
  readonly editor: EditorName
  readonly mode: Mode
  readonly server: MeasuredServer
  /** The server stores nothing; the lab fills each page with the previous block's content. */
  readonly forgets: boolean
}

/** Writes nothing after a failure or abort. */
export async function keystrokeRun(options: KeystrokeOptions, command: string, signal: AbortSignal) {
  const startedAt = new Date()
  const folder = options.out ?? reportFolder('keystrokes', startedAt)
  await requireFree(folder)
  const loadBefore = loadNow()
  const progress = new Progress(process.stdout)
  const { modes, editors, windows, sessions, keys, blocks, warmup, interval, sensor, headed, remote, peers } =
    options
  const beside = peers.length > 0 ? `, each beside its ${peers.join(' and ')} page` : ''
  const inEditors = ` with the editor${editors.length > 1 ? 's' : ''} ${editors.join(' and ')}`
  progress.say(
    `${keys} keys for each of ${modes.join(', ')}${inEditors}${beside} in each of ${sessions} session${sessions > 1 ? 's' : ''}, in ${blocks} turns, ${windows} windows; --seed ${options.seed}.`,
  )
  const random = createSeededRandom(options.seed)
  const measured: Awaited<ReturnType<typeof measure>>[] = []
  let outcome: 'going on' | 'decided' | 'limit' = 'going on'
  while (measured.length < sessions || (options.until && outcome === 'going on')) {
    const session = measured.length + 1
    measured.push(
      await inSession(options, signal, (rig) =>
        measure(options, { ...rig, subjects: shuffled(rig.subjects, random), session }, progress, signal),
      ),
    )
    if (!options.until || session < sessions) continue
    const spentMs = Date.now() - startedAt.getTime()
    const summary = analyse({ ...runOf(), until: { matters: options.matters, outcome: 'limit' } })
    if (isDecided(summary)) outcome = 'decided'
    // Another session would end beyond the limit.
    else if (spentMs * (1 + 1 / session) > options.limit * 60_000) outcome = 'limit'
    progress.say(
      outcome === 'decided'
        ? 'Every interval is narrow enough.'
        : `About ${sessionsNeeded(summary)} sessions are needed.`,
    )
  }
  const growing = options.growing
    ? await inSession(options, signal, (rig) => measureGrowing(options, rig, progress, signal))
    : null
  const run: Run = {
    ...runOf(),
    ...(options.until && {
      until: { matters: options.matters, outcome: outcome === 'decided' ? outcome : 'limit' },
    }),
    ...(growing && { growing }),
    finishedAt: new Date().toISOString(),
  }
  const summary = analyse(run)
  await writeFolder(folder, keystrokesFiles(run, summary))
  return { folder, summary }

  function runOf(): Run {
    return {
      command,
      parameters: {
        editors: editors.join(', '),
        windows,
        sessions,
        keys,
        blocks,
        warmup,
        interval,
        sensor,
        seed: options.seed,
        ...(options.until && {
          until: options.until,
          matters: `${options.matters.amount}${options.matters.unit}`,
          limit: options.limit,
        }),
        ...(options.profile && { profile: options.profile }),
        headed,
        remotes: remote.length,
      },
      ...(options.profile && {
        network: {
          profile: options.profile,
          source: profiles[options.profile].source,
          lateMs: rounded(Math.max(...measured.map(({ lateMs }) => lateMs))),
        },
      }),
      modes: namesOf(options),
      baseline: nameWith(options, options.baseline, 'mirror'),
      samples: measured.flatMap(({ samples }) => samples),
      serverUse: Object.fromEntries(namesOf(options).map((name) => [name, useOf(name, measured)])),
      clock: {
        method: remote.length > 0 ? 'server exchange' : 'one machine',
        boundMs: Math.max(...measured.map(({ boundMs }) => boundMs)),
      },
      startedAt: startedAt.toISOString(),
      finishedAt: new Date().toISOString(),
      environment: describeEnvironment({
        browser: measured[0]?.version ?? '',
        server:
          options.server ??
          (options.profile
            ? `a process of its own on this machine, behind a simulated network (${options.profile})`
            : 'a process of its own on this machine, over loopback'),
        loadBefore,
      }),
    }
  }
}

interface Rig {
  readonly subjects: readonly Subject[]
  /** Between the windows and the servers, where a network is simulated. */
  readonly links: readonly Link[]
  readonly browsers: readonly Browser[]
}

/** With servers and browsers of its own, which end with it; a server of `--server` stays. */
async function inSession<Result>(
  options: KeystrokeOptions,
  signal: AbortSignal,
  act: (rig: Rig) => Promise<Result>,
): Promise<Result> {
  await using opened = new AsyncDisposableStack()
  const links: Link[] = []
  const subjects = await openSubjects(options, links, opened)
  const browsers = await openBrowsers(options, opened)
  signal.throwIfAborted()
  return await act({ subjects, links, browsers })
}

/** Fisher and Yates, "Statistical Tables", 1938; D. E. Knuth, "The Art of Computer Programming" 2, 3.4.2. */
function shuffled<Value>(values: readonly Value[], random: Random): Value[] {
  const drawn = [...values]
  for (let last = drawn.length - 1; last > 0; last -= 1) {
    const place = Math.floor(random() * (last + 1))
    ;[drawn[last], drawn[place]] = [drawn[place] as Value, drawn[last] as Value]
  }
  return drawn
}

/** In the order of the report. */
function namesOf(options: KeystrokeOptions): readonly string[] {
  const { modes, editors, peers } = options
  return [
    ...editors.flatMap((editor) => modes.map((mode) => nameWith(options, mode, editor))),
    ...peers.flatMap((peer) => modes.map((mode) => `${peer}:${mode}`)),
  ]
}

function useOf(name: string, measured: readonly Awaited<ReturnType<typeof measure>>[]) {
  const uses = measured.flatMap(({ uses }) => uses.get(name) ?? [])
  return {
    cpuMs: uses.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    rssBytes: Math.max(...uses.map(({ rssBytes }) => rssBytes)),
  }
}

/** Adds the links that it starts. */
async function openSubjects(
  options: KeystrokeOptions,
  links: Link[],
  opened: AsyncDisposableStack,
): Promise<Subject[]> {
  const modes = options.modes.map(requireMode)
  const subjects: Subject[] = []
  for (const editor of options.editors) {
    const server = await openServer(options, editor, links, opened)
    opened.defer(server.close)
    for (const mode of modes)
      subjects.push({ name: nameWith(options, mode.name, editor), editor, mode, server, forgets: false })
  }
  for (const peer of options.peers) {
    const program = join(import.meta.dirname, '../peers/relays.ts')
    const peerProcess = await startServerProcess(program, [peer])
    opened.defer(peerProcess.close)
    const origin = await linkTo(portsOf(peerProcess), options, links, opened)
    const peerServer = { ...peerProcess, origin: origin ?? peerProcess.origin }
    for (const mode of modes)
      subjects.push({
        ...{ name: `${peer}:${mode.name}`, editor: 'mirror', mode, server: peerServer, forgets: true },
      })
  }
  return subjects
}

/** The editor is named only where there are two. */
function nameWith({ editors }: Pick<KeystrokeOptions, 'editors'>, mode: string, editor: EditorName): string {
  return editors.length === 1 ? mode : `${mode} ${editor}`
}

async function openServer(
  options: KeystrokeOptions,
  editor: EditorName,
  links: Link[],
  opened: AsyncDisposableStack,
): Promise<MeasuredServer> {
  const { server, sensor, profile } = options
  if (server !== undefined) {
    const joined = await joinServer(server)
    if (joined.editor === editor) return joined
    throw new Error(`--editor is ${editor}: the server at ${server} has the editor ${joined.editor}.`)
  }
  const folder = await makeServerFolder('keystrokes')
  opened.defer(folder.remove)
  // Chosen first where links are, because server and links need each other's addresses.
  const ports = profile ? await findFreePorts() : { '2': 0, '1.1': 0 }
  const origin = await linkTo(ports, options, links, opened)
  const settings = {
    ...{ host: 'localhost', port: ports['2'], 'http1-port': ports['1.1'] },
    ...{ 'sensor-source': sensor, share: 'none' },
    ...(origin && { 'allowed-origins': Object.values(origin).join(',') }),
    // One key is one message.
    ...{ editor, 'merge-ms': 0 },
  }
  const started = await startServerProcess(serverProgram, folder.flags(settings))
  return { ...started, origin: origin ?? started.origin }
}

const portsOf = ({ origin }: Pick<MeasuredServer, 'origin'>): Ports => ({
  '2': Number(new URL(origin['2']).port),
  '1.1': Number(new URL(origin['1.1']).port),
})

/** The addresses of links to these ports; null where no network is simulated. */
async function linkTo(
  ports: Ports,
  { profile, seed }: KeystrokeOptions,
  links: Link[],
  opened: AsyncDisposableStack,
): Promise<MeasuredServer['origin'] | null> {
  if (profile === undefined) return null
  const start = async (targetPort: number) => {
    const link = await startLink({ targetPort, profile: profiles[profile], random: createSeededRandom(seed) })
    opened.defer(link.close)
    links.push(link)
    return `https://localhost:${link.port}`
  }
  return { '2': await start(ports['2']), '1.1': await start(ports['1.1']) }
}

async function openBrowsers({ headed, remote }: KeystrokeOptions, opened: AsyncDisposableStack) {
  const browsers: Browser[] = []
  for (const place of [undefined, ...remote]) {
    const browser = await startBrowser({ headed, remote: place })
    opened.defer(browser.quit)
    browsers.push(browser)
  }
  return browsers
}

/** Each key is also deleted again, which doubles the messages. */
const firstWarmupKeys = 40
const firstWarmupIntervalMs = 20

/** The subjects take turns. Rejects on abort, when a page does not open, or without exactly one message per key. */
async function measure(
  { windows: count, sessions, keys, blocks, warmup, interval, remote }: KeystrokeOptions,
  { subjects, links, browsers, session }: Rig & { readonly session: number },
  progress: Progress,
  signal: AbortSignal,
) {
  const method = remote.length > 0 ? 'server exchange' : 'one machine'
  const run = randomUUID().slice(0, 8)
  const windows = await openWindows(browsers, count)
  // Otherwise the first mode pays for code not yet compiled in server and browser.
  if (warmup > 0) {
    progress.say(`Session ${session} of ${sessions}: warming up every mode.`)
    for (const subject of subjects) {
      signal.throwIfAborted()
      await showPages(windows, addressOf(subject, `warm-${run}`), { text: '', forgets: subject.forgets })
      await warmUp(windows, firstWarmupKeys, firstWarmupIntervalMs)
    }
  }
  const samples: Sample[] = []
  const uses = new Map<string, Run['serverUse'][string]>()
  let boundMs = 0
  for (let block = 1; block <= blocks; block += 1) {
    const firstKey = Math.floor(((block - 1) * keys) / blocks) + 1
    const text = textBetween(firstKey, Math.floor((block * keys) / blocks) + 1)
    // The order of modes rotates from block to block.
    const first = (block - 1) % subjects.length
    for (const subject of [...subjects.slice(first), ...subjects.slice(0, first)]) {
      signal.throwIfAborted()
      const { name, server, forgets } = subject
      const label = `${name.padEnd(20)} block ${block}/${blocks}`
      const showKey = (typed: number) => {
        if (progress.isTerminal) progress.update(`${label}  ${barOf(typed, text.length)}`)
      }
      const channel = `keys-${run}-${name.replaceAll(/[^a-z0-9.]/g, '-')}`
      await showPages(windows, addressOf(subject, channel), { text: textBetween(1, firstKey), forgets })
      await warmUp(windows, warmup, interval)

      const clocksBefore = await readClocks(windows, method)
      const usedBefore = await server.figures()
      const marks = await typeKeys(windows, [...text], interval, showKey, signal)
      const { sent, received } = await stampsOf(windows, marks)
      const usedAfter = await server.figures()
      const clocksAfter = await readClocks(windows, method)

      if (sent.length !== text.length)
        throw new Error(`${name}: ${text.length} keys were typed, the page sent ${sent.length} messages.`)
      const clocks = clocksBefore.map((before, window) => combine(before, clocksAfter[window] ?? before))
      const offsetsMs = clocks.map(({ offsetMs }) => offsetMs)
      const taken = matchBlock({ mode: name, session, block, firstKey, sent, received, offsetsMs })
      samples.push(...taken)
      boundMs = Math.max(boundMs, boundBetween(clocks))
      const known = uses.get(name) ?? { cpuMs: 0, rssBytes: 0 }
      uses.set(name, {
        cpuMs: known.cpuMs + usedAfter.cpuMs - usedBefore.cpuMs,
        rssBytes: Math.max(known.rssBytes, usedBefore.rssBytes, usedAfter.rssBytes),
      })
      progress.say(`${label}  ${outcomeOf(taken)}`)
    }
  }
  // A browser has few HTTP/1.1 connections to a server.
  for (const window of windows) await window.close()
  const lateMs = meanLateness(links.map((link) => link.figures()))
  return { samples, uses, boundMs, lateMs, version: browsers.map((browser) => browser.version).join(', ') }
}

const growingSizes = [200, 10_000, 100_000]
const growingParagraph = 200

/** Both editors in one mode, in turns, for each size of the document. */
async function measureGrowing(
  { windows: count, warmup, baseline, remote }: KeystrokeOptions,
  { subjects, browsers }: Rig,
  progress: Progress,
  signal: AbortSignal,
): Promise<NonNullable<Run['growing']>> {
  const method = remote.length > 0 ? 'server exchange' : 'one machine'
  const run = randomUUID().slice(0, 8)
  const windows = await openWindows(browsers, count)
  const both = subjects.filter(({ mode, forgets }) => mode.name === baseline && !forgets)
  const growing: { characters: number; samples: Sample[] }[] = []
  for (const characters of growingSizes) {
    const text = 'the wind turns '.repeat(growingParagraph).slice(0, growingParagraph - 1)
    const paragraphs = Array.from({ length: characters / growingParagraph }, () => `${text}.`)
    const samples: Sample[] = []
    for (let turn = 1; turn <= growingTurns; turn += 1) {
      for (const subject of turn % 2 === 0 ? both.toReversed() : both) {
        signal.throwIfAborted()
        const { name, editor } = subject
        const channel = `grow-${run}-${editor}-${characters}-${turn}`
        await showPages(windows, addressOf(subject, channel), { text: '', forgets: false })
        await fillPages(windows, paragraphs, editor)
        await warmUp(windows, warmup, growingIntervalMs)
        const clocks = await readClocks(windows, method)
        const keys = [...textBetween(1, growingKeys + 1)]
        const marks = await typeKeys(windows, keys, growingIntervalMs, undefined, signal)
        const { sent, received } = await stampsOf(windows, marks)
        if (sent.length !== keys.length)
          throw new Error(`${name}: ${keys.length} keys were typed, the page sent ${sent.length} messages.`)
        const offsetsMs = clocks.map(({ offsetMs }) => offsetMs)
        const firstKey = (turn - 1) * growingKeys + 1
        const taken = matchBlock({ mode: name, session: 1, block: turn, firstKey, sent, received, offsetsMs })
        samples.push(...taken)
        progress.say(`${name.padEnd(20)} ${characters} characters, turn ${turn}  ${outcomeOf(taken)}`)
      }
    }
    growing.push({ characters, samples })
  }
  for (const window of windows) await window.close()
  return growing
}

function addressOf({ mode, server }: Subject, channel: string): string {
  const query = new URLSearchParams({ transport: mode.transport, http: mode.http, channel, record: '' })
  return `${server.origin[mode.http]}/?${query}`
}

function barOf(typed: number, keys: number): string {
  const whole = Math.round((typed / keys) * 24)
  return `${'━'.repeat(whole)}${'─'.repeat(24 - whole)}  ${typed}/${keys} keys`
}

function outcomeOf(samples: readonly Sample[]): string {
  const times = samples.filter(hasArrived).map(transmissionMs)
  const lost = samples.length - times.length
  const middle = times.length > 0 ? `median ${median(times).toFixed(2).padStart(6)} ms` : 'nothing received'
  return `${middle}  ${times.length} of ${samples.length} received${lost > 0 ? `, ${lost} LOST` : ''}`
}

/** Keys from `first` to before `next`, numbered from 1: always letters, as editors treat spaces specially. */
function textBetween(first: number, next: number): string {
  const keys = Array.from({ length: next - first }, (_, place) => first + place)
  return keys.map((key) => String.fromCharCode(97 + ((key - 1) % 26))).join('')
}
