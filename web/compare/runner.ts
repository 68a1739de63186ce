// Measures each mode in turns, with its own sender and receiver in this page and one clock.

import { probesChannel } from '../../app/shared/page-messages.ts'
import { type Closing, Connection, type Opening, type Transports } from '../../client/transports.ts'
import type { DownFrame } from '../../protocol/messages.ts'
import type { WindowHttp, WindowMode } from '../../protocol/modes.ts'
import { type Random, shuffled, type Timers } from '../../protocol/time.ts'
import { isLastRound, type Plan, pauseBefore, type Turn } from './comparison.ts'

export interface MeasuringParts {
  readonly transports: Transports
  readonly baseFor: (http: WindowHttp) => string
  readonly polling: Opening['polling']
  readonly key: string
  /**
   * Streams that this browser's windows hold in modes that limit their number: a page on another
   * port has other slots.
   */
  readonly heldStreams: number
  /** Returns a fresh name under the key. */
  readonly newName: () => string
  readonly timers: Timers
  readonly random: Random
}

/** About the size of a one-key update, in base64. */
const keystroke = 'x'.repeat(48)

const streamsPerTurn = 2

const notSupported: Closing = { code: 'unsupported', sentence: '', retryAfterMs: null }

/** Skips opening it: a stream beyond the browser's limit would hold up other windows. */
function fullTurn(mode: WindowMode): Turn {
  const closing: Closing = { code: 'full', sentence: '', retryAfterMs: null }
  return { mode, closing, openMs: null, serverHttp: null, roundTripMs: null, times: [] }
}

/** A separate connection, under a new name, that reads probes. */
function openProbing(
  mode: WindowMode,
  parts: MeasuringParts,
  listener: Pick<Opening, 'onFrame' | 'onClose'>,
) {
  const { transports, baseFor, polling, key, timers } = parts
  const name = parts.newName()
  const query = new URLSearchParams({ window: name, key, opening: '1', channels: probesChannel })
  const opening = { base: baseFor(mode.http), mode, query, polling, ...listener }
  return { name, connection: new Connection(transports[mode.transport], opening, timers) }
}

/** Measures the mode itself, without retries or fallback. Rejects with the signal's reason. */
export async function measureTurn(
  mode: WindowMode,
  plan: Plan,
  parts: MeasuringParts,
  signal: AbortSignal,
): Promise<Turn> {
  const { timers, random, heldStreams } = parts
  const { windowsPerBrowser } = mode
  if (windowsPerBrowser !== null && heldStreams + streamsPerTurn > windowsPerBrowser) return fullTurn(mode)
  /** Departures of the probes in flight, by id. */
  const sentAt = new Map<string, number>()
  const times = new Map<string, number>()
  let roundTripMs: number | null = null
  /** Whether the newest probe was answered. */
  let isAnswered = true
  let closing: Closing | null = null
  const changes = createSignalled(timers, signal)

  function open(onFrame: (frame: DownFrame, receivedAt: number) => void) {
    const state = { openMs: null as number | null, serverHttp: null as WindowHttp | null }
    const startedAt = timers.now()
    const opened = openProbing(mode, parts, {
      onFrame(frame, receivedAt) {
        if (frame.type === 'welcome') {
          state.serverHttp = frame.http
          // Otherwise another mode would be timed.
          if (mode.isOverUdp && frame.http !== mode.http) closing ??= notSupported
          else state.openMs ??= receivedAt - startedAt
          changes.happened()
        }
        onFrame(frame, receivedAt)
      },
      onClose(given) {
        closing ??= given
        changes.happened()
      },
    })
    return { ...opened, state }
  }

  const receiver = open((frame, receivedAt) => {
    if (frame.type !== 'message') return
    const { id } = frame.message
    const at = sentAt.get(id)
    // Ignores repeats: a poll may repeat a message.
    if (at === undefined || times.has(id)) return
    times.set(id, receivedAt - at)
    changes.happened()
  })
  const sender = open(() => undefined)

  function send(id: string): void {
    const at = timers.now()
    isAnswered = false
    sentAt.set(id, at)
    const draft = { id, channel: probesChannel, kind: 'probe', from: sender.name, at } as const
    sender.connection.uplink.send({ ...draft, body: { text: keystroke } }).then(
      () => {
        const tookMs = timers.now() - at
        roundTripMs = Math.min(roundTripMs ?? tookMs, tookMs)
        answered()
      },
      // A probe without an answer counts as missing.
      answered,
    )
    function answered(): void {
      isAnswered = true
      changes.happened()
    }
  }

  try {
    const isOpen = () => receiver.state.openMs !== null && sender.state.openMs !== null
    await changes.until(() => isOpen() || closing !== null, plan.openWithinMs)
    const ids: string[] = []
    const firstAt = timers.now()
    while (isOpen() && !closing && ids.length < plan.warmUp + plan.probes) {
      const hasEnough = ids.length >= plan.warmUp + plan.minProbes
      if (hasEnough && timers.now() - firstAt >= plan.turnMs) break
      await changes.until(() => closing !== null, pauseBefore(plan, random))
      ids.push(`${sender.name}-${ids.length + 1}`)
      send(ids.at(-1) ?? '')
      await changes.until(() => closing !== null || isAnswered, plan.arriveWithinMs)
    }
    await changes.until(() => closing !== null || times.size === ids.length, plan.arriveWithinMs)
    return {
      mode,
      openMs: isOpen() ? receiver.state.openMs : null,
      serverHttp: receiver.state.serverHttp,
      roundTripMs,
      closing,
      times: isOpen() ? ids.slice(plan.warmUp).map((id) => times.get(id) ?? null) : [],
    }
  } finally {
    sender.connection.leave()
    receiver.connection.leave()
  }
}

/** Waits for a condition, checked after each change, up to a time limit. */
function createSignalled(timers: Timers, signal: AbortSignal) {
  let look: () => void = () => undefined
  return {
    happened: () => look(),
    until(isMet: () => boolean, withinMs: number): Promise<void> {
      return new Promise((resolve, reject) => {
        const stopTimer = timers.later(end, withinMs)
        function end(): void {
          stopTimer()
          signal.removeEventListener('abort', abort)
          look = () => undefined
          resolve()
        }
        function abort(): void {
          // Rejects first: only the first of the two counts.
          reject(signal.reason)
          end()
        }
        look = () => {
          if (isMet()) end()
        }
        if (signal.aborted) return abort()
        signal.addEventListener('abort', abort, { once: true })
        look()
      })
    },
  }
}

export interface Progress {
  /** Complete rounds only: a stopped one does not count. */
  readonly rounds: readonly (readonly Turn[])[]
  readonly current: readonly Turn[]
  /** Null between turns. */
  readonly measuring: WindowMode | null
  readonly isPaused: boolean
  /** Time since the start, without pauses. */
  readonly tookMs: number
}

interface ComparisonParts {
  readonly modes: readonly WindowMode[]
  readonly plan: Plan
  readonly timers: Timers
  readonly random: Random
  readonly measure: (mode: WindowMode, signal: AbortSignal) => Promise<Turn>
  /** Browsers slow a hidden page's timers. `onChange` returns the function that ends it. */
  readonly visibility: {
    readonly isVisible: () => boolean
    readonly onChange: (run: () => void) => () => void
  }
  /** Called between turns, never during one. */
  readonly onProgress: (progress: Progress) => void
  readonly signal: AbortSignal
}

/**
 * Runs rounds in which each mode has a turn, in random order. A mode that does not open gets no
 * further turn. While the page is hidden it pauses, then repeats the round. Resolves to the
 * complete rounds, also when stopped.
 */
export async function compare(parts: ComparisonParts): Promise<Progress['rounds']> {
  const { modes, plan, timers, random, measure, visibility, onProgress, signal } = parts
  const rounds: (readonly Turn[])[] = []
  const failed = new Map<WindowMode, Turn>()
  let current: Turn[] = []
  let tookMs = 0
  const tell = (measuring: WindowMode | null, isPaused = false) =>
    onProgress({ rounds: [...rounds], current: [...current], measuring, isPaused, tookMs })

  /** False if the page was hidden meanwhile. */
  async function wholeRound(): Promise<boolean> {
    const hiding = new AbortController()
    const stopWatching = visibility.onChange(() => visibility.isVisible() || hiding.abort())
    const ending = AbortSignal.any([signal, hiding.signal])
    current = []
    const startedAt = timers.now()
    const passedMs = tookMs
    try {
      for (const mode of shuffled(modes, random)) {
        const known = failed.get(mode)
        if (!known) tell(mode)
        const turn = known ?? (await measure(mode, ending))
        if (turn.openMs === null) failed.set(mode, turn)
        current.push(turn)
        tookMs = passedMs + timers.now() - startedAt
      }
      return true
    } catch (error) {
      if (!ending.aborted) throw error
      tookMs = passedMs
      return false
    } finally {
      stopWatching()
    }
  }

  while (!signal.aborted) {
    if (!visibility.isVisible()) {
      current = []
      tell(null, true)
      await untilVisible(visibility, signal)
    } else if (await wholeRound()) {
      rounds.push(current)
      current = []
      const nothingOpens = modes.every((mode) => failed.has(mode))
      if (nothingOpens || isLastRound(plan, rounds.length, tookMs)) break
    }
  }
  current = []
  tell(null)
  return rounds
}

function untilVisible(visibility: ComparisonParts['visibility'], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!visibility.isVisible() && !signal.aborted) return
      stop()
      signal.removeEventListener('abort', look)
      resolve()
    }
    const stop = visibility.onChange(look)
    signal.addEventListener('abort', look)
  })
}

/**
 * Counts how many streams open simultaneously in a mode, and over which version. `transports` must
 * be without slots, which would limit them.
 */
export async function countStreams(
  mode: WindowMode,
  count: number,
  withinMs: number,
  parts: MeasuringParts,
): Promise<{ readonly opened: number; readonly http: WindowHttp }> {
  let opened = 0
  let { http } = mode
  const streams = Array.from({ length: count }, () =>
    openProbing(mode, parts, {
      onFrame(frame) {
        if (frame.type !== 'welcome') return
        opened += 1
        http = frame.http
      },
      onClose: () => undefined,
    }),
  )
  await new Promise<void>((resolve) => parts.timers.later(resolve, withinMs))
  for (const { connection } of streams) connection.leave()
  return { opened, http }
}
