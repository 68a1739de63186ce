// A session of `keystrokes`: its servers and browsers, and the turns in which the keys are typed.

import { randomUUID } from 'node:crypto'
import {
  fillPages,
  readFailure,
  showPages,
  stampsOf,
  textBetween,
  typeKeys,
  warmUp,
} from '../browser/typing.ts'
import type { Machines } from '../lab/machines.ts'
import { type EditorName, requireWindowModes, variantOf } from '../lab/mode-names.ts'
import type { Participants } from '../lab/participants.ts'
import type { RunPeers } from '../lab/run-peers.ts'
import type { Lab } from '../lab/run-sessions.ts'
import { atOthers, formatOutcome, type Sample, summariseSamples, transmissionMs } from '../lab/samples.ts'
import { joinServer } from '../lab/server-process.ts'
import { turnOf } from '../lab/standings.ts'
import type { Cost } from '../lab/study.ts'
import { type ReachedServer, recordingAddress, type System, Testbed } from '../lab/testbed.ts'
import { timeTurn } from '../lab/turns.ts'
import { countModes } from '../lab/wire-bytes.ts'
import type { Options } from './keystrokes-flags.ts'
import { type GrownRow, growing, keyRow } from './keystrokes-report.ts'

/** The networks or the editors, if there are several. */
export const variantsOf = ({ profile, editors }: Pick<Options, 'profile' | 'editors'>) =>
  [profile, editors].find((each) => each.length > 1) ?? [undefined]

export const nameWith = (mode: string, variant: string | undefined) =>
  variant === undefined ? mode : `${mode} ${variant}`

/** Servers and browsers of a session; a server given by `--server` keeps running. */
export async function openRig(
  options: Options,
  machines: Machines,
  opened: AsyncDisposableStack,
  session: number,
  peers: RunPeers,
) {
  const testbed = new Testbed('keystrokes', options, session, opened)
  const systems: System[] = []
  for (const [place, editor] of options.editors.entries()) {
    // The same one over each network.
    const servers = await openServer(options, machines, testbed, editor, place)
    for (const [over, server] of servers.entries()) {
      const variant = variantsOf(options)[place + over]
      for (const mode of requireWindowModes(options.modes))
        systems.push({
          name: nameWith(mode.name, variant),
          editor,
          mode,
          server,
          front: server.front,
          forgets: editor === 'mirror',
        })
    }
  }
  const { modes, windows, remote } = options
  const perBrowser = Math.ceil(windows / (remote.length + 1))
  systems.push(...(await peers.start(testbed, { session, modes, windows, perBrowser })))
  // Server and browser compile the same code over every network.
  const [network] = options.profile
  const warmed = systems.filter(({ name }) => options.profile.length < 2 || variantOf(name) === network)
  const browsers = await machines.startBrowsers(opened, { headed: options.headed, http3: testbed.http3 })
  return { testbed, systems, warmed, browsers, peers }
}

/** One key is one message. */
export const ownMergeMs = 0

async function openServer(
  { server, sensor }: Options,
  machines: Machines,
  testbed: Testbed,
  editor: EditorName,
  place: number,
): Promise<readonly ReachedServer[]> {
  if (editor === 'mirror') return testbed.startMirror()
  if (server === undefined) {
    const settings = { 'sensor-source': sensor, share: 'none', 'merge-ms': ownMergeMs }
    return testbed.startServer(settings, await machines.placeOf(place))
  }
  return [await joinServer(server)]
}

/** Each key is also deleted again, which doubles the messages. */
export const firstWarmupKeys = 40
export const firstWarmupIntervalMs = 20

/** TCP doubles its timeout each time that the same packet is lost again. */
const resentWithinMs = 30_000

/** Participants of a session, and their machines. */
interface Taking {
  readonly machines: Machines
  readonly participants: Participants
}

export type Session = Awaited<ReturnType<typeof measureSession>>

/**
 * The systems take turns. Rejects on abort, if a page does not open, or unless there is exactly one
 * message per key; if it is a peer's, that peer ends instead, without samples of this session.
 */
export async function measureSession(
  options: Options,
  { testbed, systems, warmed, browsers, peers }: Awaited<ReturnType<typeof openRig>>,
  session: number,
  { machines, participants }: Taking,
  lab: Lab,
) {
  const { sessions, keys, blocks, warmup, interval, until, profile } = options
  const run = randomUUID().slice(0, 8)
  const windows = await participants.open(browsers)
  const channelOf = (what: string, { name }: System) =>
    `${what}-${run}-${name.replaceAll(/[^a-z0-9.]/g, '-')}`
  // Otherwise the first mode would pay for code not yet compiled in server and browser.
  if (warmup > 0) {
    lab.progress.announce(`Session ${session} of ${sessions}: warming up every mode.`)
    machines.say('Warming up')
    for (const system of warmed) {
      lab.signal.throwIfAborted()
      await peers.measure(system, session, async () => {
        // On its own page: over a slow network the last one's keys may still be in flight.
        const address = recordingAddress(system, channelOf('warm', system))
        await testbed.withoutLoss(() => showPages(windows, address, { text: '', ...system }))
        await warmUp(windows, firstWarmupKeys, firstWarmupIntervalMs)
      })
    }
  }
  const labelWidth = Math.max(20, ...systems.map(({ name }) => name.length))
  const samples: Sample[] = []
  const uses: (Cost & { readonly mode: string })[] = []
  let boundMs = 0
  const turns = sessions * blocks * systems.length
  let turn = (session - 1) * blocks * systems.length
  for (let block = 1; block <= blocks; block += 1) {
    const firstKey = Math.floor(((block - 1) * keys) / blocks) + 1
    const text = textBetween(firstKey, Math.floor((block * keys) / blocks) + 1)
    // The order of modes rotates from block to block.
    const first = (block - 1) % systems.length
    for (const system of [...systems.slice(first), ...systems.slice(0, first)]) {
      lab.signal.throwIfAborted()
      const label = `${system.name.padEnd(labelWidth)} block ${block}/${blocks}`
      turn += 1
      machines.say(`Measuring turn ${turn}${until ? '' : ` of ${turns}`}`)
      const taken = await peers.measure(system, session, async () => {
        const { forgets } = system
        const shown = { text: textBetween(1, firstKey), forgets }
        const address = recordingAddress(system, channelOf('keys', system))
        await testbed.withoutLoss(() => showPages(windows, address, shown))
        await warmUp(windows, warmup, interval)
        const showKey = (typed: number) => lab.progress.step(`${label}  ${barOf(typed, text.length)}`)
        const { isPresent } = participants
        const turn = await timeTurn(
          windows,
          system,
          { session, block, firstKey, method: machines.method },
          async () => {
            const marks = await typeKeys(windows, [...text], interval, showKey, lab.signal)
            return stampsOf(windows, marks, profile.length > 0 ? resentWithinMs : undefined)
          },
          isPresent,
        )
        await requireWhole(turn, text.length, system, windows)
        return turn
      })
      if (taken === null) continue
      const missed = participants.noteTurn(`session ${session}, block ${block}, ${system.name}`, taken.clocks)
      for (const words of missed) lab.progress.say(`${label}  ${words}`)
      samples.push(...taken.samples)
      uses.push({ mode: system.name, session, ...taken.use })
      boundMs = Math.max(boundMs, taken.boundMs)
      lab.progress.took(
        turnOf(system.name, atOthers(taken.samples)),
        `${label}  ${formatOutcome(atOthers(taken.samples))}`,
      )
    }
  }
  const counting = (system: System) => ({
    address: recordingAddress(system, channelOf('bytes', system)),
    sends: [
      async (messages: number) =>
        stampsOf(windows, await typeKeys(windows, [...textBetween(1, messages + 1)], interval)),
    ],
  })
  const isCounted = (system: System) => !peers.hasEnded(system) && !system.peer?.isSpoiled
  const counted = session === 1 && countsBytes(options) ? systems.filter(isCounted) : []
  const bytes = (await countModes(windows, counted, counting, lab)).flat()
  // A browser has few HTTP/1.1 connections to a server.
  for (const window of windows) await window.close()
  const version = browsers.map((browser) => browser.version).join(', ')
  const left = new Set(systems.filter((system) => !peers.hasEnded(system)).map(({ name }) => name))
  const ofThem = <One extends { readonly mode: string }>(all: readonly One[]) =>
    all.filter(({ mode }) => left.has(mode))
  const networkUses = await testbed.networkUses()
  return { samples: ofThem(samples), uses: ofThem(uses), bytes, boundMs, version, networkUses }
}

/** Since TCP's bytes are counted: all runs on this machine, over no simulated network and no front. */
export const countsBytes = ({ server, remote, join, host, profile, front, windows }: Options) =>
  server === undefined &&
  !front &&
  remote.length + join + profile.length === 0 &&
  host === undefined &&
  windows > 1

/** A system that loses or repeats messages cannot be compared by the times of the others. */
async function requireWhole(
  { sent, samples }: Awaited<ReturnType<typeof timeTurn>>,
  keys: number,
  { name, peer }: System,
  windows: Awaited<ReturnType<Participants['open']>>,
): Promise<void> {
  if (sent !== keys) throw new Error(`${name}: ${keys} keys were typed, the page sent ${sent} messages.`)
  if (peer === undefined || peer.isSpoiled) return
  const { expected, lost, duplicated } = summariseSamples(samples, transmissionMs)
  if (lost + duplicated === 0) return
  const why = await windows[0]?.run(readFailure)
  throw new Error(
    `of ${expected} messages to windows it lost ${lost} and repeated ${duplicated}${why ? `; its page says ${why}` : ''}`,
  )
}

/** `systems`: those of one mode, each with a different editor; they take turns. */
export async function measureGrowing(
  systems: readonly System[],
  windows: Awaited<ReturnType<Participants['open']>>,
  { machines, participants }: Taking,
  warmupKeys: number,
  lab: Lab,
): Promise<readonly GrownRow[]> {
  const { paragraphCharacters, keysInTurn, turns, intervalMs } = growing
  const run = randomUUID().slice(0, 8)
  const text = 'the wind turns '.repeat(paragraphCharacters).slice(0, paragraphCharacters - 1)
  const grown: GrownRow[] = []
  for (const characters of growing.characters) {
    const paragraphs = Array.from({ length: characters / paragraphCharacters }, () => `${text}.`)
    for (let turn = 1; turn <= turns; turn += 1)
      for (const system of turn % 2 === 0 ? systems.toReversed() : systems) {
        lab.signal.throwIfAborted()
        const { name, editor, forgets } = system
        machines.say(`Measuring a document of ${characters} characters`)
        const channel = `grow-${run}-${editor}-${characters}-${turn}`
        await showPages(windows, recordingAddress(system, channel), { text: '', forgets })
        await fillPages(windows, paragraphs, editor)
        await warmUp(windows, warmupKeys, intervalMs)
        const { isPresent } = participants
        const firstKey = (turn - 1) * keysInTurn + 1
        const place = { session: 1, block: turn, firstKey, method: machines.method }
        const taken = await timeTurn(
          windows,
          system,
          place,
          async () => {
            const keys = [...textBetween(1, keysInTurn + 1)]
            return stampsOf(windows, await typeKeys(windows, keys, intervalMs, undefined, lab.signal))
          },
          isPresent,
        )
        if (taken.sent !== keysInTurn)
          throw new Error(`${name}: ${keysInTurn} keys were typed, the page sent ${taken.sent} messages.`)
        grown.push(...taken.samples.map((sample) => ({ ...keyRow(sample), characters })))
        lab.progress.say(
          `${name.padEnd(20)} ${characters} characters, turn ${turn}  ${formatOutcome(atOthers(taken.samples))}`,
        )
      }
  }
  return grown
}

function barOf(typed: number, keys: number): string {
  const whole = Math.round((typed / keys) * 24)
  return `${'━'.repeat(whole)}${'─'.repeat(24 - whole)}  ${typed}/${keys} keys`
}
