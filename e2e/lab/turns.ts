// Turns of a session: their order, and one of them timed.

import type { ReceivedStamp, SentStamp } from '../../web/lab.ts'
import { type RecordingWindow, readClocks, readLink } from '../browser/typing.ts'
import { boundBetween, type ClockMethod, combine } from './clock.ts'
import { type Block, matchBlock } from './samples.ts'
import { originOf, type System, type Use } from './testbed.ts'

/**
 * Distributes machine drift over all subjects: each round starts further on, every other one is
 * reversed. Over as many rounds as subjects, each is early and late equally often, and none always
 * follows the same one.
 */
export function turnsOf<Subject>(
  subjects: readonly Subject[],
  rounds: number,
): readonly (readonly Subject[])[] {
  return Array.from({ length: rounds }, (_, round) => {
    const start = Math.round((round * subjects.length) / rounds)
    const turned = [...subjects.slice(start), ...subjects.slice(0, start)]
    return round % 2 === 0 ? turned : turned.reverse()
  })
}

interface TurnPlace extends Pick<Block, 'session' | 'block' | 'firstKey'> {
  readonly method?: ClockMethod
  /** A clock bound that is narrow enough. */
  readonly enoughMs?: number
  /** Whether windows may use another mode, because the caller reports which they use. */
  readonly mayFallBack?: boolean
}

/** `frontCpuMs`: of the front, if there is one. */
interface TurnUse extends Use {
  readonly frontCpuMs?: number
}

/**
 * Sends by `send` from the first window to all, and returns the samples, on one clock, which is
 * compared before and after, and their cost to the server. `isCounted`: windows whose clocks count,
 * asked at the end. Rejects if a window does not use the system's mode then, or before, unless
 * `mayFallBack`.
 */
export async function timeTurn(
  windows: readonly RecordingWindow[],
  system: System,
  { method = 'one machine', enoughMs, mayFallBack = false, ...place }: TurnPlace,
  send: () => Promise<{ sent: readonly SentStamp[]; received: readonly (readonly ReceivedStamp[])[] }>,
  isCounted: (receiver: number) => boolean = () => true,
) {
  const { name, server, front } = system
  const origin = originOf(system)
  if (!mayFallBack) await requireInUse(windows, system)
  const before = await readClocks(windows, method, origin, enoughMs)
  const usedBefore = await server.figures()
  const frontBefore = await front?.use()
  await server.stages()
  const { sent, received } = await send()
  const usedAfter = await server.figures()
  const frontAfter = await front?.use()
  if (!mayFallBack) await requireInUse(windows, system)
  const after = await readClocks(windows, method, origin, enoughMs)
  const clocks = before.map((one, window) => combine(one, after[window] ?? one))
  const offsetsMs = clocks.map(({ offsetMs }) => offsetMs)
  const stamps = await server.stages()
  const samples = matchBlock({ mode: name, ...place, sent, received, offsetsMs, stamps })
  const use: TurnUse = {
    cpuMs: usedAfter.cpuMs - usedBefore.cpuMs,
    rssBytes: Math.max(usedBefore.rssBytes, usedAfter.rssBytes),
    ...(frontBefore && frontAfter && { frontCpuMs: frontAfter.cpuMs - frontBefore.cpuMs }),
  }
  return {
    sent: sent.length,
    clocks,
    use,
    samples: samples.filter(({ receiver }) => isCounted(receiver)),
    boundMs: boundBetween(clocks.filter((_, window) => isCounted(window + 1))),
  }
}

/** A link may have fallen back, and a browser may use another version of HTTP than requested. */
async function requireInUse(
  windows: readonly RecordingWindow[],
  { name, mode, forgets }: System,
): Promise<void> {
  // An adapter's page does not report it.
  if (forgets) return
  for (const [index, window] of windows.entries()) {
    const { mode: used = mode.name, spokenHttp } = await window.run(readLink)
    if (used === mode.name && (spokenHttp ?? mode.http) === mode.http) continue
    const over = spokenHttp ? ` over HTTP/${spokenHttp}` : ''
    throw new Error(`${name} is not what was measured: window ${index + 1} used ${used}${over}.`)
  }
}
