// Messages of 10 B to 1 MB from one window to all, size by size, in sessions.

import { createSeededRandom, shuffled } from '../../client/wire.ts'
import { startBrowser } from '../browser/browser.ts'
import { openWindows, sendProbes, showPages } from '../browser/typing.ts'
import type { Plan } from '../lab/estimate.ts'
import { flag, headed, numbers, seed, whole, wordsOnce } from '../lab/flags.ts'
import { requireMode, requireModes, requireRoom, usualBaseline } from '../lab/mode-names.ts'
import { describeNetworks, describePlace } from '../lab/network-report.ts'
import type { Lab } from '../lab/run-sessions.ts'
import { atOthers, formatOutcome } from '../lab/samples.ts'
import type { MeasuredServer } from '../lab/server-process.ts'
import { turnOf } from '../lab/standings.ts'
import { defineStudy, type StudyBytes, type StudyRun } from '../lab/study-experiment.ts'
import { modeFactor, transmission, transmissionRow } from '../lab/study-parts.ts'
import { profileFlag, recordingAddress, Testbed } from '../lab/testbed.ts'
import { timeTurn } from '../lab/turns.ts'
import { countModes, formatCounting } from '../lab/wire-bytes.ts'
import { several, sizeOf } from '../report/section.ts'

/** JSON and the log's own fields on top of the text. */
const envelopeBytes = 4096
/** The minimum that a server accepts by default: smaller limits would measure refusals. */
const usualMessageBytes = 1_048_576

/** Messages of each size whose bytes are counted. */
const counted = { pushed: 5, polled: 5 }

export const payload = defineStudy({
  name: 'payload',
  about: `Sends messages of increasing size from one window to all, one at a time, and measures the transmission time of each to each\n    window, in several sessions.`,
  flags: {
    sizes: flag(
      numbers('10,100,1000,10000,100000,1000000', 1, 2_000_000),
      'LIST',
      'bytes of a message’s text',
    ),
    modes: flag(wordsOnce.default(['sse/2', 'sse/1.1', 'websocket/1.1']), 'LIST', 'modes to compare'),
    windows: flag(whole(1, 50).default(3), 'N', 'simultaneously open windows'),
    sessions: flag(whole(1, 1000).default(3), 'N', 'at least 2 for intervals'),
    messages: flag(whole(1, 10_000).default(20), 'N', 'messages per size, mode and session'),
    warmup: flag(whole(0, 200).default(3), 'N', 'uncounted messages before them'),
    interval: flag(whole(1, 10_000).default(50), 'MS', 'minimum time between two messages'),
    wait: flag(whole(1, 600).default(10), 'S', 'a message that has not arrived by then is lost'),
    profile: profileFlag,
    seed,
    headed,
  },
  /** `baseline`: WebSocket, or else the first mode. */
  options(given) {
    requireRoom(requireModes(given.modes), given.windows, given.windows)
    return { ...given, baseline: usualBaseline(given.modes) ?? given.modes[0] ?? '' }
  },

  design: {
    question: 'How long does a message take, by its size?',
    factors: [
      modeFactor,
      { name: 'bytes', title: 'Size of the text', label: (bytes) => sizeOf(Number(bytes)) },
    ],
    // One message in many is slow for reasons of its own, more so if it is large.
    measures: [{ ...transmission, by: 'median' }],
    notes: () => [
      'A sample is one message at one receiving window; its time runs from being handed to the window’s outbox to the arrival of its last byte, parsed. The envelope, about 150 bytes, is not part of the size. One message is in flight at a time: its size over its time is what a single message reaches, not a mode’s capacity.',
      'The text is one repeated letter; no mode compresses messages, but a proxy in between might. Over loopback, bytes travel as fast as memory: what grows with the size is encoding, encryption, storing and parsing.',
    ],
  },

  wireWords: formatCounting('messages of each size', counted),

  plan: (options): Plan => ({ sessionMs: sessionMs(options) }),

  networks: ({ profile }) => profile,

  async measure(options, lab): Promise<StudyRun> {
    const { sessions, sizes, modes, windows: count, messages, warmup, interval, wait, profile } = options
    lab.progress.say(
      `${messages} messages of each of ${sizes.map(sizeOf).join(', ')} for each of ${modes.join(', ')} in each of ${several(sessions, 'session')}, ${count} windows; --seed ${options.seed}.`,
    )
    const compared = { caption: 'Transmission time in milliseconds', subjects: modes }
    lab.progress.compare({ ...compared, baselineOf: () => options.baseline })
    const random = createSeededRandom(options.seed)
    const largest = Math.max(usualMessageBytes, ...sizes.map((bytes) => bytes + envelopeBytes))
    const settings = {
      share: 'none',
      'limits-max-message-bytes': largest,
      'limits-queue-bytes-per-window': 4 * largest,
      'limits-outbox-bytes': 4 * largest,
    }
    const measured = await lab.sessions(sessions, async (session, opened) => {
      const testbed = new Testbed('payload', options, session, opened)
      const [server] = await testbed.startServer(settings)
      const browser = await startBrowser({ headed: options.headed })
      opened.defer(browser.quit)
      const windows = await openWindows([browser], count)
      const turns = []
      for (const name of shuffled(modes, random)) {
        const system = { name, mode: requireMode(name), server, editor: 'shared', forgets: false } as const
        const address = `${recordingAddress(system, 'payload')}&probes`
        await showPages(windows, address, { text: '', forgets: false })
        for (const bytes of shuffled(sizes, random)) {
          lab.signal.throwIfAborted()
          lab.progress.step(`${name}  ${sizeOf(bytes)}`)
          const send = (times: number) =>
            sendProbes(
              windows,
              { bytes, times, intervalMs: interval, receivedWithinMs: wait * 1000 },
              lab.signal,
            )
          if (warmup > 0) await send(warmup)
          const place = { session, block: 1, firstKey: 1 }
          const turn = await timeTurn(windows, system, place, () => send(messages))
          if (turn.sent !== messages)
            throw new Error(
              `${name}: ${messages} messages of ${sizeOf(bytes)} were published, ${turn.sent} fitted into the outbox.`,
            )
          turns.push({
            boundMs: turn.boundMs,
            cost: { mode: name, bytes, session, ...turn.use },
            samples: turn.samples.map((sample) => transmissionRow(sample, { bytes })),
          })
          lab.progress.took(
            turnOf(name, atOthers(turn.samples), sizeOf(bytes)),
            `${`${session}  ${name}`.padEnd(20)} ${sizeOf(bytes).padStart(7)}  ${formatOutcome(turn.samples)}`,
          )
        }
      }
      const wire =
        session === 1 && countsBytes(options) ? await countSizes(windows, server, options, lab) : []
      return { turns, wire, networkUses: await testbed.networkUses(), version: browser.version }
    })
    const turns = measured.flatMap((session) => session.turns)
    const { windows, seed, headed } = options
    return {
      ...lab.circumstances({
        browser: measured[0]?.version ?? '',
        server: describePlace(profile),
        parameters: {
          sizes: sizes.join(', '),
          windows,
          sessions,
          messages,
          warmup,
          interval,
          wait,
          seed,
          headed,
          ...(profile.length > 0 && { profile: profile.join(', ') }),
        },
      }),
      levels: { mode: modes, bytes: sizes },
      baseline: options.baseline,
      ...(countsBytes(options) && { wire: measured[0]?.wire ?? [] }),
      samples: turns.flatMap(({ samples }) => samples),
      costs: turns.map(({ cost }) => cost),
      boundMs: Math.max(...turns.map(({ boundMs }) => boundMs)),
      ...describeNetworks(
        profile,
        measured.map(({ networkUses }) => networkUses),
      ),
    }
  },
})

/** Over no simulated network. */
const countsBytes = ({ profile, windows }: Options) => profile.length === 0 && windows > 1

async function countSizes(
  windows: Awaited<ReturnType<typeof openWindows>>,
  server: MeasuredServer,
  { modes, sizes, interval, wait }: Options,
  lab: Lab,
): Promise<readonly StudyBytes[]> {
  const systems = requireModes(modes).map((mode) => ({ name: mode.name, mode, server, forgets: false }))
  const limits = { intervalMs: interval, receivedWithinMs: wait * 1000 }
  const found = await countModes(
    windows,
    systems,
    (system) => ({
      address: `${recordingAddress(system, 'payload')}&probes`,
      sends: sizes.map((bytes) => (times) => sendProbes(windows, { bytes, times, ...limits }, lab.signal)),
      numbers: counted,
    }),
    lab,
  )
  return found.flatMap((rows) => rows.map((row, place) => ({ ...row, bytes: sizes[place] ?? 0 })))
}

const startMs = 5000
const pageMs = 1500
/** Time for a message, besides the interval. */
const messageMs = 60

/** On two idle cores. */
function sessionMs(options: Options): number {
  const { modes, sizes, sessions, messages, warmup, interval } = options
  const countedMs = sizes.length * 2 * counted.pushed * (2 * interval + messageMs)
  const bytesMs = countsBytes(options) ? (modes.length * (pageMs + countedMs)) / sessions : 0
  return (
    bytesMs + startMs + modes.length * (pageMs + sizes.length * (messages + warmup) * (interval + messageMs))
  )
}

type Options = ReturnType<typeof payload.options>
