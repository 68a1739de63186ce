// Data of a WindComm run (readings, samples, clocks, links), and its CSV tables.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type CheckedClock, type ClockReading, paperBoundMs } from '../lab/clock.ts'
import type { Environment } from '../lab/run-environment.ts'
import type { LinkFigures } from '../network/delay-link.ts'
import type { Profile } from '../network/profiles.ts'
import { csv, csvTime } from '../report/render.ts'
import { overtaken } from './keystrokes-analysis.ts'

/** Times are ms since the epoch by the server's clock. */
export interface Reading {
  readonly id: string
  readonly seq: number
  /** The host's stamp of the frame's first byte. */
  readonly at: number
  /** When the server could forward the reading: the paper's t0. */
  readonly acceptedAt: number
}

export interface WindSample {
  readonly site: string
  readonly mode: string
  /** Number among the counted readings, from 1. */
  readonly place: number
  readonly id: string
  readonly seq: number
  readonly acceptedAt: number
  /** Stamped before parsing: the paper's t4. Null if lost. */
  readonly receivedAt: number | null
  /** Deliveries: 0 is lost, more than 1 duplicated. */
  readonly copies: number
  /** It arrived after a later one of the log. */
  readonly reordered: boolean
}

export interface Site {
  readonly name: string
  /** As run, after scaling. */
  readonly profile: Profile
  /** The same for every method at this site. */
  readonly seed: number
  readonly windows: 'browser' | 'client'
}

export interface WindRun {
  readonly command: string
  readonly startedAt: string
  readonly finishedAt: string
  readonly environment: Environment
  /** Commit, if not the measuring one. */
  readonly analysedBy?: string
  readonly parameters: Readonly<Record<string, string | number | boolean>>
  /** Pace as run, after scaling. */
  readonly rateHz: number
  readonly holdMs: number
  readonly intervalMs: number
  /** Scales rate, hold, interval and delays together. */
  readonly faster: number
  readonly warmUpReadings: number
  readonly sites: readonly Site[]
  readonly modes: readonly string[]
  readonly readings: readonly Reading[]
  readonly samples: readonly WindSample[]
  readonly clock: RunClock
  readonly links: readonly LinkUse[]
  /** Up to the last late arrival. */
  readonly serverCpuMs: number
}

type Arrived = WindSample & { readonly receivedAt: number }

export function hasArrived(sample: WindSample): sample is Arrived {
  return sample.receivedAt !== null
}

/** One way, from the server's acceptance. */
export function latencyMs({ acceptedAt, receivedAt }: Arrived): number {
  return receivedAt - acceptedAt
}

export function cellOf({ samples }: WindRun, site: string, mode: string): readonly WindSample[] {
  return samples.filter((sample) => sample.site === site && sample.mode === mode)
}

export interface Receipt {
  readonly id: string
  readonly receivedAt: number
}

/** Includes lost readings; ignores receipts of uncounted ones. `receipts`: in order of arrival. */
export function matchReadings(
  readings: readonly Reading[],
  { site, mode }: Pick<WindSample, 'site' | 'mode'>,
  receipts: readonly Receipt[],
): readonly WindSample[] {
  const places = new Map(readings.map(({ id }, place) => [id, place]))
  const arrivals = Map.groupBy(
    receipts.filter(({ id }) => places.has(id)),
    ({ id }) => id,
  )
  const late = overtaken(arrivals.keys(), places)
  return readings.map(({ id, seq, acceptedAt }, place) => {
    const copies = arrivals.get(id) ?? []
    return {
      site,
      mode,
      place: place + 1,
      id,
      seq,
      acceptedAt,
      receivedAt: copies[0]?.receivedAt ?? null,
      copies: copies.length,
      reordered: late.has(id),
    }
  })
}

/** Offset and bound from exchanges. Stamps are not corrected: one machine has one clock. */
export interface ComparedClock extends CheckedClock {
  /** Of this clock's stamps against the server's. */
  readonly errorMs: number
}

/** Before and after the counted readings: `clients` for all of them, `SITE, MODE` for each page. */
export interface RunClock {
  readonly before: readonly ComparedClock[]
  readonly after: readonly ComparedClock[]
}

/** Uncorrected offset plus its uncertainty, ms. */
export function errorOf({ offsetMs, boundMs }: ClockReading): number {
  return Math.abs(offsetMs) + boundMs
}

/** Throws, naming each clock whose error may exceed the paper's limit. */
export function refuseWrongClocks(clocks: readonly ComparedClock[], when: 'before' | 'after'): void {
  const wrong = clocks.filter(({ errorMs }) => errorMs > paperBoundMs)
  if (wrong.length === 0) return
  const found = wrong.map(({ name, errorMs }) => `${name} may be off by ${errorMs.toFixed(2)} ms`).join('; ')
  const outcome = when === 'before' ? 'Nothing was measured' : 'Nothing was written'
  throw new Error(
    `Clocks have to agree with the server's within ${paperBoundMs} ms, as in the paper; ${when} the run ${found}. ${outcome}: run it again when the machine has less to do.`,
  )
}

export interface LinkUse extends LinkFigures {
  readonly site: string
  readonly mode: string
  /** Actual minus scheduled departure, mean over both directions. */
  readonly lateMs: number
}

/** Times are ms since the epoch, three decimals; empty is "never". */
export function windcommTables({ samples, readings }: Pick<WindRun, 'samples' | 'readings'>) {
  return {
    'samples.csv': csv<WindSample>(
      [
        ['site', ({ site }) => site],
        ['mode', ({ mode }) => mode],
        ['reading', ({ place }) => place],
        ['seq', ({ seq }) => seq],
        ['id', ({ id }) => id],
        ['accepted_at', ({ acceptedAt }) => csvTime(acceptedAt)],
        ['received_at', ({ receivedAt }) => csvTime(receivedAt)],
        ['latency_ms', (sample) => csvTime(hasArrived(sample) ? latencyMs(sample) : null)],
        ['copies', ({ copies }) => copies],
        ['reordered', ({ reordered }) => reordered],
      ],
      samples,
    ),
    'readings.csv': csv<Reading>(
      [
        ['reading', (_, place) => place + 1],
        ['seq', ({ seq }) => seq],
        ['id', ({ id }) => id],
        ['at', ({ at }) => csvTime(at)],
        ['accepted_at', ({ acceptedAt }) => csvTime(acceptedAt)],
        ['serial_ms', ({ at, acceptedAt }) => csvTime(acceptedAt - at)],
      ],
      readings,
    ),
  }
}

/** From a report's folder. `analysedBy`: commit of the analysing code. Rejects with file, line and fault. */
export async function rereadRun(folder: string, analysedBy: string): Promise<WindRun> {
  const summaryPath = join(folder, 'summary.json')
  const summary: WindRun & { scenario?: string } = JSON.parse(await readText(summaryPath))
  if (summary.scenario !== 'windcomm')
    throw new Error(`${summaryPath} is of the scenario ${JSON.stringify(summary.scenario)}, not of windcomm.`)
  const readings = await readTable(join(folder, 'readings.csv'), readingRow)
  const path = join(folder, 'samples.csv')
  const samples = await readTable(path, sampleRow)
  const [sites, modes] = [summary.sites.length, summary.modes.length]
  const expected = sites * modes * readings.length
  if (samples.length === expected) return { ...summary, readings, samples, analysedBy }
  throw new Error(
    `${path} has ${samples.length} rows; ${sites} sites, ${modes} modes and ${readings.length} readings make ${expected}.`,
  )
}

const number = z.string().min(1).pipe(z.coerce.number())

const readingRow = z
  .object({ id: z.string(), seq: number, at: number, accepted_at: number })
  .transform(({ accepted_at: acceptedAt, ...reading }): Reading => ({ ...reading, acceptedAt }))

const sampleRow = z
  .object({
    ...{ site: z.string(), mode: z.string(), reading: number, seq: number, id: z.string() },
    ...{ accepted_at: number, copies: number, reordered: z.stringbool() },
    received_at: z
      .literal('')
      .transform(() => null)
      .or(number),
  })
  .transform(
    ({ reading: place, accepted_at: acceptedAt, received_at: receivedAt, ...sample }): WindSample => ({
      ...sample,
      place,
      acceptedAt,
      receivedAt,
    }),
  )

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new Error(`${path} cannot be read; --from takes the folder of a windcomm report.`, { cause })
  }
}

/** No cell contains commas or quotes. */
async function readTable<Row>(path: string, schema: z.ZodType<Row>): Promise<readonly Row[]> {
  const [columns = [], ...rows] = (await readText(path))
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','))
  return rows.map((cells, place) => {
    const row = Object.fromEntries(columns.map((column, at) => [column, cells[at]]))
    const { success, data, error } = schema.safeParse(row)
    if (success) return data
    const column = String(error.issues[0]?.path[0])
    throw new Error(`${path}, line ${place + 2}: ${column} is ${JSON.stringify(row[column])}.`)
  })
}
