// The 200-keystroke scenario of the 2021 paper (4.2): one window types, all receive, the modes take turns.

import { randomUUID } from 'node:crypto'
import type { Figures } from '../../server/monitor/figures.ts'
import type { Browser, BrowserWindow } from '../browser/browser.ts'
import { openWindows, readClocks, showPages, stampsOf, typeKeys, warmUp } from '../browser/typing.ts'
import { boundBetween, combine, type WindowClock } from '../lab/clock.ts'
import { matchBlock } from '../lab/matching.ts'
import type { Progress } from '../lab/progress.ts'
import type { ClockCheck, Sample, ServerUse } from '../lab/samples.ts'
import { addressOf, type Subject } from '../lab/subject.ts'

/** Before the first block; each key is also taken back, so that it is twice as many messages. */
const firstWarmupKeys = 40
const firstWarmupIntervalMs = 20

export interface KeystrokePlan {
  readonly subjects: readonly Subject[]
  /** Windows are dealt out to them in turn. */
  readonly browsers: readonly Browser[]
  readonly windows: number
  readonly keys: number
  readonly blocks: number
  readonly warmupKeys: number
  readonly intervalMs: number
  readonly clock: ClockCheck['method']
}

export interface Measured {
  readonly samples: readonly Sample[]
  readonly serverUse: Readonly<Record<string, ServerUse>>
  readonly clockBoundMs: number
}

interface Turn {
  readonly subject: Subject
  readonly block: number
  /** Number of the first key, counted through the mode's blocks, from 1. */
  readonly firstKey: number
  readonly keys: number
  readonly channel: string
}

/** Rejects when the signal aborts, when a page does not open, or when it does not send one message for each key. */
export async function runKeystrokes(
  plan: KeystrokePlan,
  progress: Progress,
  signal: AbortSignal,
): Promise<Measured> {
  const windows = await openWindows(plan.browsers, plan.windows)
  if (plan.warmupKeys > 0) await warmAllUp(plan, windows, progress, signal)
  const samples: Sample[] = []
  const uses = new Map<string, ServerUse>()
  const bounds: number[] = []
  for (const turn of turnsOf(plan)) {
    signal.throwIfAborted()
    const taken = await takeTurn(plan, turn, windows, progress, signal)
    samples.push(...taken.samples)
    bounds.push(taken.boundMs)
    uses.set(turn.subject.name, add(uses.get(turn.subject.name), taken.use))
    progress.turnDone(turn.subject.name, turn.block, taken.samples)
  }
  return { samples, serverUse: Object.fromEntries(uses), clockBoundMs: Math.max(...bounds) }
}

/**
 * Every mode once before the first block: otherwise the one that comes first pays for code that server and browser
 * have not run yet. Typed quickly, and left out.
 */
async function warmAllUp(
  { subjects }: KeystrokePlan,
  windows: readonly BrowserWindow[],
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  progress.say('Warming up every mode.')
  const channel = `warm-${randomUUID().slice(0, 8)}`
  for (const subject of subjects) {
    signal.throwIfAborted()
    await showPages(windows, addressOf(subject, channel), { text: '', forgets: subject.forgets })
    await warmUp(windows, firstWarmupKeys, firstWarmupIntervalMs)
  }
}

/** Each block has every mode once; the order rotates from block to block, so that no mode always follows the same one. */
function* turnsOf({ subjects, keys, blocks }: KeystrokePlan): Generator<Turn> {
  const run = randomUUID().slice(0, 8)
  for (let block = 1; block <= blocks; block += 1) {
    const firstKey = Math.floor(((block - 1) * keys) / blocks) + 1
    const nextKey = Math.floor((block * keys) / blocks) + 1
    for (let place = 0; place < subjects.length; place += 1) {
      const subject = subjects[(place + block - 1) % subjects.length]
      if (!subject) continue
      const channel = `keys-${run}-${subject.name.replaceAll(/[^a-z0-9.]/g, '-')}`
      yield { subject, block, firstKey, keys: nextKey - firstKey, channel }
    }
  }
}

async function takeTurn(
  plan: KeystrokePlan,
  turn: Turn,
  windows: readonly BrowserWindow[],
  progress: Progress,
  signal: AbortSignal,
) {
  const { subject, block, firstKey, keys, channel } = turn
  await showPages(windows, addressOf(subject, channel), {
    text: textUpTo(firstKey),
    forgets: subject.forgets,
  })
  await warmUp(windows, plan.warmupKeys, plan.intervalMs)

  const clocksBefore = await readClocks(windows, plan.clock)
  const usedBefore = await subject.server.figures()
  const onKey = (typed: number) => progress.key(subject.name, block, typed, keys)
  const typedText = Array.from({ length: keys }, (_, place) => characterAt(firstKey + place))
  const marks = await typeKeys(windows, typedText, plan.intervalMs, onKey, signal)
  const { sent, received } = await stampsOf(windows, marks)
  const usedAfter = await subject.server.figures()
  const clocksAfter = await readClocks(windows, plan.clock)

  if (sent.length !== keys)
    throw new Error(`${subject.name}: ${keys} keys were typed, the page sent ${sent.length} messages.`)
  const clocks = windows.map((_, index) => combine(at(clocksBefore, index), at(clocksAfter, index)))
  const stamps = received.map((list, index) => ({
    receiver: index + 1,
    received: list,
    offsetMs: at<WindowClock>(clocks, index).offsetMs,
  }))
  const samples = matchBlock({ mode: subject.name, block, firstKey, sent, windows: stamps })
  return { samples, use: usedBetween(usedBefore, usedAfter), boundMs: boundBetween(clocks) }
}

/** What a key adds: letters alone, for an editor treats spaces in ways of its own. */
function characterAt(key: number): string {
  return String.fromCharCode(97 + ((key - 1) % 26))
}

/** What was typed before that key. */
function textUpTo(key: number): string {
  return Array.from({ length: key - 1 }, (_, place) => characterAt(place + 1)).join('')
}

function usedBetween(before: Figures, after: Figures): ServerUse {
  return { cpuMs: after.cpuMs - before.cpuMs, rssBytes: Math.max(before.rssBytes, after.rssBytes) }
}

function add(known: ServerUse | undefined, more: ServerUse): ServerUse {
  if (!known) return more
  return { cpuMs: known.cpuMs + more.cpuMs, rssBytes: Math.max(known.rssBytes, more.rssBytes) }
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index]
  if (item === undefined) throw new Error(`There is no window ${index + 1}.`)
  return item
}
