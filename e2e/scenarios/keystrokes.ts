// The 200 keystrokes of the 2021 paper (4.2), in sessions: one window types, all receive.

import { randomUUID } from 'node:crypto'
import type { Figures } from '../../server/process.ts'
import { isLoopback } from '../../server/security/access.ts'
import type { EditorName } from '../../server/wire/messages.ts'
import type { Mode } from '../../server/wire/modes.ts'
import { createSeededRandom, shuffled } from '../../server/wire/time.ts'
import { type Browser, startBrowser } from '../browser/browser.ts'
import { DeviceListener, type JoinedDevice } from '../browser/joined-devices.ts'
import {
  fillPages,
  openWindows,
  type RecordingWindow,
  readClocks,
  showPages,
  stampsOf,
  textBetween,
  typeKeys,
  warmUp,
} from '../browser/typing.ts'
import { boundBetween, combine } from '../lab/clock.ts'
import {
  describeNetwork,
  describePlace,
  recordingAddress,
  startMeasuredServer,
  startPeer,
} from '../lab/measured-server.ts'
import { requireMode } from '../lab/mode-names.ts'
import { Reach } from '../lab/reach.ts'
import { describeEnvironment, loadNow } from '../lab/run-environment.ts'
import { joinServer, type MeasuredServer } from '../lab/server-process.ts'
import { median } from '../lab/statistics.ts'
import { Progress } from '../lab/terminal-output.ts'
import { type Link, meanLateness } from '../network/delay-link.ts'
import { describePeer, imitatedModes, nameOfPeer, peerLabel, relayOf, requirePeers } from '../peers/peers.ts'
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
  type RunWindow,
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
  readonly server: Pick<MeasuredServer, 'origin' | 'stages' | 'close'> & {
    readonly figures: () => Promise<Pick<Figures, 'cpuMs' | 'rssBytes'>>
  }
  /** The server stores nothing; the lab fills each page with the previous block's content. */
  readonly forgets: boolean
  /** `Mercure at https://…`; only of a peer that runs elsewhere. */
  readonly elsewhere?: string
}

/** Writes nothing after a failure or abort. */
export async function keystrokeRun(options: KeystrokeOptions, command: string, signal: AbortSignal) {
  const startedAt = new Date()
  const folder = options.out ?? reportFolder('keystrokes', startedAt)
  await requireFree(folder)
  await requirePeers(options.peers)
  const loadBefore = loadNow()
  const progress = new Progress(process.stdout)
  const { modes, editors, windows, sessions, keys, blocks, warmup, interval, sensor, headed, remote, peers } =
    options
  await using opened = new AsyncDisposableStack()
  const joined = await openReach(options, progress, signal, opened)
  const beside =
    peers.length > 0 ? `, beside ${peers.map((peer) => peerLabel(nameOfPeer(peer))).join(', ')}` : ''
  const inEditors = ` with the editor${editors.length > 1 ? 's' : ''} ${editors.join(' and ')}`
  progress.say(
    `${keys} keys for each of ${modes.join(', ')}${inEditors}${beside} in each of ${sessions} session${sessions > 1 ? 's' : ''}, in ${blocks} turns, ${windows} window${windows > 1 ? 's' : ''}${joined.devices.length > 0 ? ` and ${joined.devices.length} joined` : ''}; --seed ${options.seed}.`,
  )
  const random = createSeededRandom(options.seed)
  const measured: Awaited<ReturnType<typeof measure>>[] = []
  let outcome: 'going on' | 'decided' | 'limit' = 'going on'
  while (measured.length < sessions || (options.until && outcome === 'going on')) {
    const session = measured.length + 1
    measured.push(
      await inSession(options, joined, signal, (rig) =>
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
    ? await inSession(options, joined, signal, (rig) => measureGrowing(options, rig, progress, signal))
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
  await joined.listener?.end('done')
  return { folder, summary }

  function runOf(): Run {
    return {
      // Reports are published: without this machine's name.
      command: command.replaceAll(/(--(?:host|listen)[ =])\S+/g, '$1HOST'),
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
        ...(joined.devices.length > 0 && {
          joined: joined.devices.map(({ name, agent }) => `${name}: ${agent}`).join('; '),
        }),
      },
      ...describeNetwork(
        options.profile,
        measured.map(({ lateMs }) => lateMs),
      ),
      ...(peers.length > 0 && { peers: peers.map(describePeer) }),
      modes: namesOf(options),
      baseline: nameWith(options, options.baseline, 'mirror'),
      samples: measured.flatMap(({ samples }) => samples),
      serverUse: Object.fromEntries(namesOf(options).map((name) => [name, useOf(name, measured)])),
      clock: {
        method: methodOf(options),
        boundMs: Math.max(...measured.map(({ boundMs }) => boundMs)),
      },
      ...(methodOf(options) === 'server exchange' && {
        windows: windowsOf(measured.map(({ windows }) => windows)),
      }),
      startedAt: startedAt.toISOString(),
      finishedAt: new Date().toISOString(),
      environment: describeEnvironment({
        browser: measured[0]?.version ?? '',
        server:
          options.server ??
          (joined.reach
            ? 'a process of its own on this machine, over its network address'
            : describePlace(options.profile)),
        loadBefore,
      }),
    }
  }
}

/** Windows of several machines are compared with the server's clock. */
function methodOf({ remote, join }: Pick<KeystrokeOptions, 'remote' | 'join'>): Run['clock']['method'] {
  return remote.length > 0 || join > 0 ? 'server exchange' : 'one machine'
}

interface Joined {
  /** Null where only this machine's windows take part. */
  readonly reach: Reach | null
  readonly listener: DeviceListener | null
  readonly devices: readonly JoinedDevice[]
}

/** Waits for the devices. */
async function openReach(
  options: KeystrokeOptions,
  progress: Progress,
  signal: AbortSignal,
  opened: AsyncDisposableStack,
): Promise<Joined> {
  const { join: expected, remote, server, host, listen, port } = options
  const isElsewhere = remote.some((address) => !isLoopback(new URL(address).hostname))
  const isNeeded = expected > 0 || host !== undefined || (isElsewhere && server === undefined)
  if (!isNeeded) return { reach: null, listener: null, devices: [] }
  const files = { certFile: options['tls-cert-file'], keyFile: options['tls-key-file'] }
  const reach = await Reach.open({ host, listen, port, ...files })
  if (expected === 0) return { reach, listener: null, devices: [] }
  const { cert, key } = reach.certificate
  const place = { host: reach.host, listen: reach.listen, port: reach.joinPort }
  const listener = await DeviceListener.start({ ...place, cert, key, expected })
  opened.defer(() => listener.end('ended'))
  progress.say(`Open this link on ${expected === 1 ? 'one device' : `${expected} devices`}: ${listener.link}`)
  if (reach.authorityFile !== null)
    progress.say(`They must trust ${reach.authorityFile}; docs/operating.md says how, under Certificates.`)
  const devices = await listener.gather(signal, ({ name, agent }) =>
    progress.say(`Joined, ${name}: ${agent}.`),
  )
  return { reach, listener, devices }
}

interface Rig extends Joined {
  readonly subjects: readonly Subject[]
  /** Between the windows and the servers, where a network is simulated. */
  readonly links: readonly Link[]
  readonly browsers: readonly Browser[]
}

/** With servers and browsers of its own, which end with it; a server of `--server` stays. */
async function inSession<Result>(
  options: KeystrokeOptions,
  joined: Joined,
  signal: AbortSignal,
  act: (rig: Rig) => Promise<Result>,
): Promise<Result> {
  await using opened = new AsyncDisposableStack()
  const links: Link[] = []
  const subjects = await openSubjects(options, joined, links, opened)
  const browsers = await openBrowsers(options, opened)
  signal.throwIfAborted()
  return await act({ ...joined, subjects, links, browsers })
}

/** In the order of the report. */
function namesOf(options: KeystrokeOptions): readonly string[] {
  const { modes, editors, peers } = options
  return [
    ...editors.flatMap((editor) => modes.map((mode) => nameWith(options, mode, editor))),
    ...peers.flatMap((peer) => imitatedModes(peer, modes).map((mode) => `${nameOfPeer(peer)}:${mode}`)),
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
  joined: Joined,
  links: Link[],
  opened: AsyncDisposableStack,
): Promise<Subject[]> {
  const modes = options.modes.map(requireMode)
  const subjects: Subject[] = []
  for (const editor of options.editors) {
    const server = await openServer(options, joined, editor, links, opened)
    for (const mode of modes)
      subjects.push({ name: nameWith(options, mode.name, editor), editor, mode, server, forgets: false })
  }
  for (const peer of options.peers) {
    const started = await startPeer(relayOf(peer), options, links, opened)
    // Elsewhere it cannot be asked; the process here serves the page alone.
    const peerServer =
      peer.address === undefined ? started : { ...started, figures: async () => unknownFigures }
    const elsewhere = peer.address && `${peerLabel(peer.name)} at ${peer.address}`
    for (const mode of imitatedModes(peer, options.modes).map(requireMode))
      subjects.push({
        ...{ name: `${nameOfPeer(peer)}:${mode.name}`, editor: 'mirror', mode, server: peerServer },
        ...{ forgets: true, ...(elsewhere && { elsewhere }) },
      })
  }
  return subjects
}

const unknownFigures = { cpuMs: Number.NaN, rssBytes: Number.NaN }

/** The editor is named only where there are two. */
function nameWith({ editors }: Pick<KeystrokeOptions, 'editors'>, mode: string, editor: EditorName): string {
  return editors.length === 1 ? mode : `${mode} ${editor}`
}

async function openServer(
  options: KeystrokeOptions,
  { reach, listener }: Joined,
  editor: EditorName,
  links: Link[],
  opened: AsyncDisposableStack,
): Promise<MeasuredServer> {
  const { server, sensor } = options
  if (server !== undefined) {
    const joined = await joinServer(server)
    if (joined.editor === editor) return joined
    throw new Error(`--editor is ${editor}: the server at ${server} has the editor ${joined.editor}.`)
  }
  // One key is one message.
  const settings = { 'sensor-source': sensor, share: 'none', editor, 'merge-ms': 0 }
  const place = reach && {
    ...{ host: reach.host, listen: reach.listen, certificate: reach.certificate },
    ports: await reach.portsOf(options.editors.indexOf(editor)),
    origins: listener ? [listener.origin] : [],
  }
  return startMeasuredServer('keystrokes', settings, options, links, opened, place)
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
  options: KeystrokeOptions,
  { subjects, links, browsers, devices, listener, session }: Rig & { readonly session: number },
  progress: Progress,
  signal: AbortSignal,
) {
  const { windows: count, sessions, keys, blocks, warmup, interval } = options
  const method = methodOf(options)
  const run = randomUUID().slice(0, 8)
  const own = await openWindows(browsers, count)
  const windows: readonly RecordingWindow[] = [...own, ...devices]
  const present = own.map((_, place) => ownWindow(options, place)).concat(devices.map(deviceWindow))
  // Otherwise the first mode pays for code not yet compiled in server and browser.
  if (warmup > 0) {
    progress.say(`Session ${session} of ${sessions}: warming up every mode.`)
    listener?.say(`Warming up: keep this window in front`)
    for (const subject of subjects) {
      signal.throwIfAborted()
      // On a page of its own: over a slow network the last one's keys may still be on their way.
      await showSubject(windows, subject, channelOf('warm', run, subject), '')
      await warmUp(windows, firstWarmupKeys, firstWarmupIntervalMs)
    }
  }
  const labelWidth = Math.max(20, ...subjects.map(({ name }) => name.length))
  const samples: Sample[] = []
  const uses = new Map<string, Run['serverUse'][string]>()
  let boundMs = 0
  const turns = sessions * blocks * subjects.length
  let turn = (session - 1) * blocks * subjects.length
  for (let block = 1; block <= blocks; block += 1) {
    const firstKey = Math.floor(((block - 1) * keys) / blocks) + 1
    const text = textBetween(firstKey, Math.floor((block * keys) / blocks) + 1)
    // The order of modes rotates from block to block.
    const first = (block - 1) % subjects.length
    for (const subject of [...subjects.slice(first), ...subjects.slice(0, first)]) {
      signal.throwIfAborted()
      const { name, mode, server } = subject
      const origin = server.origin[mode.http]
      const label = `${name.padEnd(labelWidth)} block ${block}/${blocks}`
      const showKey = (typed: number) => {
        if (progress.isTerminal) progress.update(`${label}  ${barOf(typed, text.length)}`)
      }
      turn += 1
      listener?.say(`Measuring turn ${turn}${options.until ? '' : ` of ${turns}`}: keep this window in front`)
      const channel = channelOf('keys', run, subject)
      await showSubject(windows, subject, channel, textBetween(1, firstKey))
      await warmUp(windows, warmup, interval)

      const clocksBefore = await readClocks(windows, method, origin)
      const usedBefore = await server.figures()
      await server.stages()
      const marks = await typeKeys(windows, [...text], interval, showKey, signal)
      const { sent, received } = await stampsOf(windows, marks)
      const usedAfter = await server.figures()
      const clocksAfter = await readClocks(windows, method, origin)

      if (sent.length !== text.length)
        throw new Error(`${name}: ${text.length} keys were typed, the page sent ${sent.length} messages.`)
      const clocks = clocksBefore.map((before, window) => combine(before, clocksAfter[window] ?? before))
      const offsetsMs = clocks.map(({ offsetMs }) => offsetMs)
      const missed = devices.flatMap((device, place) =>
        device.missed === null
          ? []
          : [{ receiver: count + place + 1, name: device.name, why: device.missed }],
      )
      const stamps = await server.stages()
      const taken = matchBlock({
        ...{ mode: name, session, block, firstKey, sent, received, offsetsMs, stamps },
      }).filter(({ receiver }) => missed.every((one) => one.receiver !== receiver))
      samples.push(...taken)
      for (const { receiver, name, why } of missed) {
        present[receiver - 1]?.missed.push(`session ${session}, block ${block}, ${subject.name}: ${why}`)
        progress.say(`${label}  without ${name}, which ${why}`)
      }
      const counted = clocks.filter((_, place) => missed.every(({ receiver }) => receiver !== place + 1))
      boundMs = Math.max(boundMs, boundBetween(counted))
      for (const [place, clock] of clocks.entries()) {
        const window = present[place]
        if (window && counted.includes(clock)) window.boundMs = Math.max(window.boundMs, clock.boundMs)
      }
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
  return {
    samples,
    uses,
    boundMs,
    windows: present,
    lateMs,
    version: browsers.map((browser) => browser.version).join(', '),
  }
}

interface TurnWindow {
  readonly name: string
  boundMs: number
  readonly missed: string[]
}

/** Window 1 types; each browser opens every so many-th. */
function ownWindow({ remote }: KeystrokeOptions, place: number): TurnWindow {
  const browser = place % (remote.length + 1)
  const where = browser === 0 ? 'this machine' : `WebDriver ${browser}`
  return {
    name: `window ${place + 1}, ${where}${place === 0 ? ', types' : ''}`,
    boundMs: 0,
    missed: [],
  }
}

function deviceWindow({ name, agent }: JoinedDevice): TurnWindow {
  return { name: `${name}, ${agent}`, boundMs: 0, missed: [] }
}

/** Over all sessions. */
function windowsOf(sessions: readonly (readonly TurnWindow[])[]): readonly RunWindow[] {
  const [first = []] = sessions
  return first.map(({ name }, place) => {
    const each = sessions.flatMap((windows) => windows[place] ?? [])
    return {
      receiver: place + 1,
      name,
      boundMs: Math.max(...each.map(({ boundMs }) => boundMs)),
      missed: each.flatMap(({ missed }) => missed),
    }
  })
}

const growingSizes = [200, 10_000, 100_000]
const growingParagraph = 200

/** Both editors in one mode, in turns, for each size of the document. */
async function measureGrowing(
  options: KeystrokeOptions,
  { subjects, browsers, devices, listener }: Rig,
  progress: Progress,
  signal: AbortSignal,
): Promise<NonNullable<Run['growing']>> {
  const { windows: count, warmup, baseline } = options
  const method = methodOf(options)
  const run = randomUUID().slice(0, 8)
  const windows: readonly RecordingWindow[] = [...(await openWindows(browsers, count)), ...devices]
  const both = subjects.filter(({ mode, forgets }) => mode.name === baseline && !forgets)
  const growing: { characters: number; samples: Sample[] }[] = []
  for (const characters of growingSizes) {
    const text = 'the wind turns '.repeat(growingParagraph).slice(0, growingParagraph - 1)
    const paragraphs = Array.from({ length: characters / growingParagraph }, () => `${text}.`)
    const samples: Sample[] = []
    for (let turn = 1; turn <= growingTurns; turn += 1) {
      for (const subject of turn % 2 === 0 ? both.toReversed() : both) {
        signal.throwIfAborted()
        const { name, editor, mode, server } = subject
        listener?.say(`Measuring a document of ${characters} characters: keep this window in front`)
        const channel = `grow-${run}-${editor}-${characters}-${turn}`
        await showPages(windows, addressOf(subject, channel), { text: '', forgets: false })
        await fillPages(windows, paragraphs, editor)
        await warmUp(windows, warmup, growingIntervalMs)
        const clocks = await readClocks(windows, method, server.origin[mode.http])
        const keys = [...textBetween(1, growingKeys + 1)]
        const marks = await typeKeys(windows, keys, growingIntervalMs, undefined, signal)
        const { sent, received } = await stampsOf(windows, marks)
        if (sent.length !== keys.length)
          throw new Error(`${name}: ${keys.length} keys were typed, the page sent ${sent.length} messages.`)
        const offsetsMs = clocks.map(({ offsetMs }) => offsetMs)
        const firstKey = (turn - 1) * growingKeys + 1
        const missed = new Set(
          devices.flatMap(({ missed }, place) => (missed === null ? [] : count + place + 1)),
        )
        const taken = matchBlock({
          ...{ mode: name, session: 1, block: turn, firstKey, sent, received, offsetsMs },
        }).filter(({ receiver }) => !missed.has(receiver))
        samples.push(...taken)
        progress.say(`${name.padEnd(20)} ${characters} characters, turn ${turn}  ${outcomeOf(taken)}`)
      }
    }
    growing.push({ characters, samples })
  }
  for (const window of windows) await window.close()
  return growing
}

const channelOf = (what: string, run: string, { name }: Subject) =>
  `${what}-${run}-${name.replaceAll(/[^a-z0-9.]/g, '-')}`

async function showSubject(
  windows: readonly RecordingWindow[],
  subject: Subject,
  channel: string,
  text: string,
): Promise<void> {
  const { forgets, elsewhere } = subject
  try {
    await showPages(windows, addressOf(subject, channel), { text, forgets })
  } catch (cause) {
    if (elsewhere === undefined) throw cause
    throw new Error(
      `${elsewhere} did not let a window in; docs/measuring.md says under “Peers” what it must allow.`,
      { cause },
    )
  }
}

const addressOf = ({ mode, server }: Subject, channel: string) => recordingAddress(server, mode, channel)

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
