// The fanout bench from options to figures: servers and clients start, contenders take turns, rows come out.

import { connections, type Mode } from '../../server/wire/modes.ts'
import { type LoadProcess, startLoadProcess } from '../load/load-process.ts'
import { peerHttp } from '../load/target.ts'
import { type Contender, type RunningServer, startMode, startPeer } from './contender.ts'
import type { FanoutOptions } from './fanout-options.ts'
import { type FanoutRow, fanoutRows, type RoundFigures } from './fanout-rows.ts'
import type { Progress } from './progress.ts'
import { tallied } from './tallied.ts'
import { takeTurn } from './turn.ts'
import { split, turnsOf } from './turns.ts'

export interface FanoutResult {
  readonly rows: readonly FanoutRow[]
  /** Beside each row: windows that share a connection; null where each has its own. */
  readonly sharing: readonly (number | null)[]
  /** Windows that ended by themselves and messages that were refused, in words. */
  readonly failures: readonly string[]
}

const openingAtOnce = 32
const graceMs = 5000
/** A server tells its windows who is here up to this long after the last one joined (`hub/presence.ts`), and a poll later. */
const settleMs = (windows: number) => 300 + windows * 1.2

export async function fanout(
  options: FanoutOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<FanoutResult> {
  await using opened = new AsyncDisposableStack()
  const contenders = await openContenders(options, opened, progress, signal)
  const load = startLoadProcess(signal)
  opened.defer(load.end)
  const measured = new Map(contenders.map((contender) => [contender, [] as RoundFigures[]]))
  // Each server's first messages run code that nothing has compiled yet: a turn that nobody counts.
  for (const contender of contenders) {
    progress.say(`warming up  ${titleOf(contender)}`)
    await turn(contender, load, options, { round: 'warmup', messages: options.rate }, signal)
  }
  const messages = split(options.rate * options.seconds, options.rounds)
  for (const [round, order] of turnsOf(contenders, options.rounds).entries()) {
    for (const contender of order) {
      progress.say(`round ${round + 1} of ${options.rounds}  ${titleOf(contender)}`)
      const figures = await turn(
        contender,
        load,
        options,
        { round: `r${round}`, messages: messages[round] ?? 0 },
        signal,
      )
      measured.get(contender)?.push(figures)
    }
  }
  progress.clear()
  return {
    rows: fanoutRows(measured),
    sharing: contenders.map(({ sharing }) => sharing),
    failures: Array.from(measured, ([{ name }, rounds]) =>
      rounds.flatMap(({ failures }) => failures.map((why) => `${name}: ${why}`)),
    ).flat(),
  }
}

/** Modes in the order asked for, each with every number of windows to a browser that makes a difference; then peers. */
async function openContenders(
  options: FanoutOptions,
  opened: AsyncDisposableStack,
  progress: Progress,
  signal: AbortSignal,
): Promise<Contender[]> {
  const contenders: Contender[] = []
  const [firstSharing = 1] = options.perBrowser
  async function start(name: string, starting: Promise<RunningServer>): Promise<RunningServer> {
    progress.say(`starting  ${name}`)
    const server = await starting
    opened.defer(server.close)
    signal.throwIfAborted()
    return server
  }
  for (const mode of options.modes) {
    const load = {
      windows: options.windows,
      perBrowser: Math.max(...options.perBrowser),
      messagesPerSecond: options.rate,
    }
    const server = await start(mode.name, startMode(mode, load))
    for (const perBrowser of sharingOf(mode, options)) {
      contenders.push({
        name: mode.name,
        perBrowser: perBrowser ?? firstSharing,
        sharing: perBrowser,
        server,
      })
    }
  }
  for (const peer of options.peers) {
    const server = await start(peer, startPeer(peer))
    for (const perBrowser of sharingOf({ http: peerHttp[peer] }, options)) {
      contenders.push({ name: peer, perBrowser: perBrowser ?? firstSharing, sharing: perBrowser, server })
    }
  }
  return contenders
}

/** Over HTTP/1.1 each window has a connection of its own: one measurement serves for all numbers. */
function sharingOf({ http }: Pick<Mode, 'http'>, { perBrowser }: FanoutOptions): readonly (number | null)[] {
  return connections[http].isShared ? perBrowser : [null]
}

function titleOf({ name, sharing }: Contender): string {
  return sharing === null ? name : `${name}, ${sharing} to a browser`
}

async function turn(
  { name, perBrowser, server }: Contender,
  load: LoadProcess,
  { windows, rate, warmup }: FanoutOptions,
  { round, messages }: { readonly round: string; readonly messages: number },
  signal: AbortSignal,
): Promise<RoundFigures> {
  const plan = {
    windows,
    perBrowser,
    rate,
    warmupMessages: Math.ceil((warmup * rate) / 1000),
    messages,
    openingAtOnce,
    settleMs: settleMs(windows),
    graceMs,
    channel: `bench-${perBrowser}-${round}`,
  }
  try {
    const { before, after, measured } = await takeTurn(server, [load], plan, signal)
    return { cpuMs: after.cpuMs - before.cpuMs, ...tallied(measured, windows * messages) }
  } catch (cause) {
    throw new Error(`${name}: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}
