// `npm run doctor`: says what stands between windows and a server, and which mode to choose.

import { writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { leaveWhenDone } from '../../server/process.ts'
import type { Mode } from '../../server/wire/modes.ts'
import {
  choiceReason,
  choices,
  clockWords,
  getsThrough,
  http2Words,
  names,
  socketWords,
  streamWords,
} from '../../web/compare/diagnosis.ts'
import { readFlags, whole } from '../lab/flags.ts'
import { Progress, textTable } from '../lab/terminal-output.ts'
import { type Examination, examine, type Trial } from './examination.ts'

const help = `npm run doctor -- --url URL [flags]

  Tries every mode from this machine to a running server, through whatever stands between: does HTTP/2 arrive, are
  streams held back, is an idle connection cut, does a WebSocket get through, is the clock off. Names the mode to
  choose. Writes no message; it shows as a window on a page of its own.

  --url URL          the address that windows use, such as https://localhost:8443
  --invitation LINK  the whole link, if the server requires one
  --idle SECONDS     how long connections are left idle          40
  --patience SECONDS for a connection and its first bytes        5
  --json FILE        also writes what was found to a file

  Exits with 0 when some mode gets through, with 1 when none does or the server cannot be reached.
`

const schema = z.object({
  url: z.url({ protocol: /^https$/, error: 'must be an https address, https://localhost:8443' }),
  invitation: z.url({ error: 'must be the whole link of the invitation' }).optional(),
  idle: whole(1, 3600).default(40),
  patience: whole(1, 120).default(5),
  json: z.string().min(1).optional(),
})

export interface Diagnosis {
  /** One sentence for each question, in the order of the questions. */
  readonly findings: readonly string[]
  /** Null when nothing gets through. */
  readonly choice: Mode | null
  readonly reason: string
}

export function diagnose(examination: Examination): Diagnosis {
  const { trials } = examination
  const findings = [
    certificateWords(examination),
    http2Words(examination.alpn, trials),
    streamWords(trials),
    socketWords(trials),
    idleWords(examination),
    parallelWords(examination),
    clockWords(bestClock(trials)),
  ].filter((sentence) => sentence !== null)
  const [best] = choices(trials)
  return { findings, choice: best?.mode ?? null, reason: reasonFor(best, examination) }
}

function reasonFor(best: Trial | undefined, { idleMs }: Examination): string {
  if (!best) return 'no mode gets through'
  const stayed = `; it stayed open for ${seconds(idleMs)} without a byte from here`
  return choiceReason(best) + (best.mode.isPush && best.cutAfterMs === null ? stayed : '')
}

function certificateWords({ origin, distrust }: Examination): string {
  if (distrust === null) return `${origin} answers, with a certificate that this machine trusts.`
  return `${origin} answers; this machine does not trust its certificate (${distrust}), and browsers may warn.`
}

function idleWords({ trials, idleMs, heartbeatMs }: Examination): string | null {
  const streams = trials.filter((trial) => trial.mode.isPush && getsThrough(trial))
  if (streams.length === 0) return null
  const cut = streams.filter(({ cutAfterMs }) => cutAfterMs !== null)
  if (cut.length === 0) {
    const beats = heartbeatMs === null ? '' : ` The server sends a heartbeat every ${seconds(heartbeatMs)}`
    const tells =
      heartbeatMs !== null && idleMs < 2 * heartbeatMs
        ? '; a longer --idle, of two or more, would tell more.'
        : '.'
    return `Idle connections stay open: none was cut in ${seconds(idleMs)}.${beats && beats + tells}`
  }
  const shortest = Math.min(...cut.map(({ cutAfterMs }) => cutAfterMs ?? 0))
  const least = 1000
  const advice =
    shortest > 2 * least
      ? ` Heartbeats every ${seconds(heartbeatMs ?? 0)} come too late; start the server with --heartbeat-ms ${Math.max(least, Math.floor(shortest / 2000) * 1000)}, or let the proxy wait longer.`
      : ' Let the proxy wait longer.'
  return `Idle connections are cut after about ${seconds(shortest)} (${names(cut)}).${advice}`
}

function parallelWords({ parallel }: Examination): string | null {
  if (parallel === null) return null
  const { tried, opened } = parallel
  if (opened === tried)
    return `${tried} streams at once over HTTP/1.1 all open: six for each browser is the browser's own limit.`
  return `Of ${tried} streams at once over HTTP/1.1 ${opened} open: what stands between allows no more.`
}

/** Of the narrowest bound. */
const bestClock = (trials: readonly Trial[]) =>
  trials
    .flatMap(({ clock }) => (clock ? [clock] : []))
    .toSorted((one, other) => one.boundMs - other.boundMs)[0] ?? null

const seconds = (ms: number) => `${Number((ms / 1000).toFixed(ms < 2000 ? 1 : 0))} s`

function trialTable(trials: readonly Trial[]): string {
  const figure = (ms: number | null) => (ms === null ? '–' : ms.toFixed(1))
  return textTable<Trial>(
    [
      ['mode', ({ mode }) => mode.name],
      ['', wordOf],
      ['opened in, ms', ({ openMs }) => figure(openMs)],
      ['round trip, ms', ({ roundTripMs }) => figure(roundTripMs)],
      [
        'idle, cut after',
        (trial) => (trial.cutAfterMs === null || !getsThrough(trial) ? '–' : seconds(trial.cutAfterMs)),
      ],
    ],
    trials,
    2,
  )
}

function wordOf({ openMs, roundTripMs, closing }: Trial): string {
  if (openMs !== null) return roundTripMs === null ? 'opens, sends nothing' : 'gets through'
  return closing ? `fails (${closing.code})` : 'nothing arrives'
}

if (import.meta.main) {
  leaveWhenDone()
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
  const progress = new Progress(process.stdout)
  try {
    process.exitCode = await run(process.argv.slice(2), progress, stopping.signal)
  } catch (error) {
    progress.clear()
    console.error(stopping.signal.aborted ? '\n  Stopped.' : `\n  ${(error as Error).message}`)
    process.exitCode = stopping.signal.aborted ? 130 : 1
  }
}

async function run(argv: readonly string[], progress: Progress, signal: AbortSignal): Promise<number> {
  const isAsked = argv.some((flag) => flag === '--help' || flag === '-h')
  if (isAsked || argv.length === 0) {
    process.stdout.write(help)
    return isAsked ? 0 : 1
  }
  const { url, invitation, idle, patience, json } = readFlags(schema, argv)
  const options = { url, invitation, idleMs: idle * 1000, patienceMs: patience * 1000 }
  const examination = await examine(options, (step) => progress.update(`${step} …`), signal)
  progress.clear()
  const { findings, choice, reason } = diagnose(examination)
  console.log(`\n${trialTable(examination.trials)}\n`)
  for (const finding of findings) console.log(`  ${finding}`)
  console.log(`\n  ${choice ? `Choose ${choice.name} (${choice.label})` : 'Choose none'}: ${reason}.\n`)
  if (json !== undefined) {
    const found = { ...examination, findings, choice: choice?.name ?? null, reason }
    const named = (key: string, value: unknown) => (key === 'mode' ? (value as Mode).name : value)
    await writeFile(json, `${JSON.stringify(found, named, 2)}\n`)
  }
  return choice ? 0 : 1
}
