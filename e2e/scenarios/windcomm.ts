// The 2012 paper's "Experimental Design": a sensor's readings, timed to distant windows.

import { join } from 'node:path'
import { z } from 'zod'
import { paperBoundMs } from '../lab/clock.ts'
import type { Plan } from '../lab/estimate.ts'
import { defineExperiment } from '../lab/experiment.ts'
import { flag, seed, whole, wordsOnce } from '../lab/flags.ts'
import { requireModes } from '../lab/mode-names.ts'
import { deliveryColumns, number, readSummary, readText, rowsIn } from '../lab/reread.ts'
import { hasArrived, isFaulty } from '../lab/samples.ts'
import { profileName } from '../lab/testbed.ts'
import { profiles, readProfile, scaled } from '../network/profiles.ts'
import { csv, csvTime } from '../report/render.ts'
import { method } from './windcomm-method.ts'
import { baseline, methods, modeOf, modesBeside } from './windcomm-paper.ts'
import { cellsTable, pointsTable, sectionsOf } from './windcomm-report.ts'
import { analyse, latencyMs, type WindRun } from './windcomm-summary.ts'
import { measureWind, type Site, type WindSample, warmUpReadings } from './windcomm-testbed.ts'

const profileNames = Object.keys(profiles).join(', ')

export const windcomm = defineExperiment({
  name: 'windcomm',
  about: `Repeats the experiment of the 2012 WindComm paper: measures the transmission time of wind readings to windows behind\n    simulated long-distance networks, over the paper's three transports and three later ones, all at the same time.\n    Exits with status 1 if a reading was lost, repeated or reordered.`,
  flags: {
    sites: flag(
      wordsOnce.pipe(z.array(profileName)).default(['edmonton', 'lund', 'caracas', 'nagaoka']),
      'LIST',
      `networks: ${profileNames}; nagaoka+1% also loses one packet in a hundred (Linux, root)`,
    ),
    modes: flag(
      wordsOnce.default([...methods.map((method) => modeOf[method]), ...modesBeside]),
      'LIST',
      `modes, ${baseline} among them`,
    ),
    readings: flag(whole(2, 100_000).default(1200), 'N', 'readings measured in each window'),
    rate: flag(z.coerce.number().min(0.25).max(100).default(4), 'HZ', 'readings a second'),
    hold: flag(whole(0, 25_000).default(300), 'MS', 'longest time a long poll is held'),
    interval: flag(whole(10, 60_000).default(150), 'MS', 'pause between polls'),
    'browsers-at': flag(
      z.string().optional(),
      'S',
      'the site whose windows are real Chromium windows; none for no browser',
      'the first site',
    ),
    'clock-error': flag(
      z.coerce.number().min(0).default(paperBoundMs),
      'MS',
      'largest error of a clock; above it the run is refused, as in the paper',
    ),
    faster: flag(
      z.coerce.number().min(1).max(100).default(1),
      'N',
      'speeds up rate, hold, interval and delays by this factor',
    ),
    sessions: flag(
      whole(1, 100).default(1),
      'N',
      'times that all of it is repeated with other queues, stalls and losses; with 2 or more, intervals are over sessions',
    ),
    seed,
  },

  /** Rate and pauses are those after `faster` is applied; `browsersAt` is null for no browser. */
  options({ 'browsers-at': wished, 'clock-error': mostErrorMs, rate, hold, interval, ...given }) {
    const { sites, modes, faster } = given
    const [first] = sites
    if (!first) throw new Error('--sites names no site.')
    requireModes(modes)
    if (!modes.includes(baseline))
      throw new Error(`--modes must also name ${baseline}: all others are compared with it.`)
    const pace = { rateHz: rate * faster, holdMs: hold / faster, intervalMs: interval / faster }
    const refuse = (isWrong: boolean, flag: string, product: string, limit: string) => {
      if (isWrong) throw new Error(`${flag} and --faster ${faster} make ${product}; ${limit}.`)
    }
    refuse(pace.rateHz > 100, `--rate ${rate}`, `${pace.rateHz} Hz`, 'the sensor supports at most 100')
    refuse(
      !Number.isInteger(pace.holdMs),
      `--hold ${hold}`,
      `${pace.holdMs} ms`,
      'the server accepts whole ones',
    )
    refuse(
      !Number.isInteger(pace.intervalMs) || pace.intervalMs < 10,
      `--interval ${interval}`,
      `${pace.intervalMs} ms`,
      'the server accepts whole ones from 10 on',
    )
    const browsersAt = wished === 'none' ? null : (wished ?? first)
    if (browsersAt !== null && !sites.includes(browsersAt))
      throw new Error(`--browsers-at is "${browsersAt}", which is not among the sites ${sites.join(', ')}.`)
    return { ...given, ...pace, browsersAt, mostErrorMs }
  },

  plan: ({ readings, rateHz, browsersAt }): Plan => ({
    sessionMs: (browsersAt === null ? 4000 : 15_000) + (1000 * (warmUpReadings + readings)) / rateHz,
  }),

  networks: ({ sites }) => sites,

  reread,

  async measure(options, lab): Promise<WindRun> {
    const { modes, readings, rateHz, holdMs, intervalMs, faster, seed, browsersAt, mostErrorMs } = options
    const pace = faster === 1 ? '' : `, ${faster} times as fast: rate, hold, interval and delays together`
    lab.say(
      `${readings} readings at ${rateHz} Hz (${Math.round(readings / rateHz)} s) to ${options.sites.join(', ')} over ${modes.join(', ')}, all at once, seed ${seed}${pace}.`,
    )
    const sitesIn = (session: number) =>
      options.sites.map((name, place): Site => {
        const windows = name === browsersAt ? 'browser' : 'client'
        const profile = readProfile(name)
        if (!profile) throw new Error(`There is no network ${name}.`)
        // Different ones, so that stalls do not coincide.
        const own = seed + (session - 1) * options.sites.length + place
        return { name, profile: scaled(profile, faster), seed: own % 2 ** 32, windows }
      })
    const polling = { holdMs, intervalMs }
    const plan = { modes: requireModes(modes), readings, rateHz, polling, seed, mostErrorMs }
    const found = await lab.sessions(options.sessions, (session) =>
      measureWind({ ...plan, sites: sitesIn(session) }, lab),
    )
    lab.say('All readings are in; analysing them.')
    const circumstances = lab.circumstances({
      browser: found[0]?.browser ?? 'none',
      seed,
      server: 'a process of its own on this machine, its log in SQLite',
      parameters: {
        sites: options.sites.join(', '),
        modes: modes.join(', '),
        readings,
        ...(options.sessions > 1 && { sessions: options.sessions }),
        rateHz,
        holdMs,
        intervalMs,
        faster,
        browsersAt: browsersAt ?? 'none',
        seed,
      },
    })
    return {
      ...joinSessions(found),
      ...circumstances,
      rateHz,
      holdMs,
      intervalMs,
      faster,
      warmUpReadings,
      sites: sitesIn(1),
      modes,
    }
  },

  analyse,

  report: (run, summary) => ({
    title: 'windcomm over simulated networks',
    sections: sectionsOf(run, summary),
    method: method(summary),
    data: tablesOf(run),
    tables: [cellsTable(summary), pointsTable(summary)],
    // Contradicting the paper is not a failure.
    isFailure: summary.cells.some(isFaulty),
  }),
})

type Measured = Awaited<ReturnType<typeof measureWind>>

/** Readings are numbered on, from session to session. */
function joinSessions(
  found: readonly Measured[],
): Pick<WindRun, 'sessions' | 'readings' | 'samples' | 'clock' | 'links' | 'bytes' | 'serverCpuMs'> {
  const worst = (when: 'before' | 'after') =>
    [
      ...Map.groupBy(
        found.flatMap(({ clock }) => clock[when]),
        ({ name }) => name,
      ).values(),
    ].flatMap((each) => each.toSorted((one, other) => other.errorMs - one.errorMs).slice(0, 1))
  let before = 0
  const samples = found.flatMap(({ readings, samples }) => {
    const numbered = samples.map((sample) => ({ ...sample, place: sample.place + before }))
    before += readings.length
    return numbered
  })
  return {
    sessions: found.length,
    readings: found.flatMap(({ readings }) => readings),
    samples,
    clock: { before: worst('before'), after: worst('after') },
    links: found.flatMap(({ links }, place) =>
      links.map((link) => ({ ...link, ...(found.length > 1 && { session: place + 1 }) })),
    ),
    bytes: found[0]?.bytes ?? [],
    serverCpuMs: found.reduce((sum, { serverCpuMs }) => sum + serverCpuMs, 0),
  }
}

/** Times are ms since the epoch, three decimals; empty is "never". */
function tablesOf({ samples, readings }: WindRun) {
  return {
    'samples.csv.gz': csv(
      [
        ...(['site', 'mode'] as const),
        ['reading', ({ place }) => place],
        ...(['seq', 'id', 'acceptedAt', 'receivedAt'] as const),
        ['latency_ms', (sample) => csvTime(hasArrived(sample) ? latencyMs(sample) : null)],
        ...(['copies', 'reordered'] as const),
      ],
      samples,
    ),
    'readings.csv': csv(
      [
        ['reading', (_, place) => place + 1],
        ...(['seq', 'id'] as const),
        ['at', ({ at }) => csvTime(at)],
        'acceptedAt',
        ['serial_ms', ({ at, acceptedAt }) => csvTime(acceptedAt - at)],
      ],
      readings,
    ),
  }
}

async function reread(folder: string): Promise<WindRun> {
  const summary = await readSummary<Omit<WindRun, 'sessions'> & { sessions?: number }>(folder, 'windcomm')
  const readingsPath = join(folder, 'readings.csv')
  const path = join(folder, 'samples.csv.gz')
  const readings = rowsIn(readingsPath, await readText(readingsPath), readingRow)
  const samples = rowsIn(path, await readText(path), sampleRow)
  const sites = summary.sites.length
  const modes = summary.modes.length
  const expected = sites * modes * readings.length
  // Older ones do not say how many sessions they had.
  if (samples.length === expected) return { ...summary, sessions: summary.sessions ?? 1, readings, samples }
  throw new Error(
    `${path} has ${samples.length} rows; ${sites} sites, ${modes} modes and ${readings.length} readings make ${expected}.`,
  )
}

const readingRow = z.object({ id: z.string(), seq: number, at: number, acceptedAt: number })

const sampleRow = z
  .object({
    ...deliveryColumns,
    site: z.string(),
    mode: z.string(),
    reading: number,
    seq: number,
    acceptedAt: number,
  })
  .transform(({ reading: place, ...sample }): WindSample => ({ ...sample, place }))
