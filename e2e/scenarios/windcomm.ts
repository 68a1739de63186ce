// The 2012 paper's "Experimental Design": a sensor's readings, timed to distant windows.

import { join } from 'node:path'
import { z } from 'zod'
import { paperBoundMs } from '../lab/clock.ts'
import { csvTime, formatCsv } from '../lab/csv.ts'
import type { Plan } from '../lab/estimate.ts'
import { defineExperiment } from '../lab/experiment.ts'
import { flag, seed, whole, wordsOnce } from '../lab/flags.ts'
import { withoutHost } from '../lab/machines.ts'
import { requireModes, variantOf } from '../lab/mode-names.ts'
import { checkedRows, deliveryColumns, number, readSummary, readText } from '../lab/reread.ts'
import { hasArrived, isFaulty } from '../lab/samples.ts'
import type { Turn } from '../lab/standings.ts'
import { rounded } from '../lab/statistics.ts'
import { profileName } from '../lab/testbed.ts'
import { profiles, readProfile, scaled } from '../network/profiles.ts'
import { onMachines, readMachines, realMachineFlags } from './windcomm-machines.ts'
import { method } from './windcomm-method.ts'
import { baseline, methods, modeOf, modesBeside, paperPace } from './windcomm-paper.ts'
import { cellsTable, pointsTable, sectionsOf } from './windcomm-report.ts'
import { analyse, latencyMs, simulatedIn, type WindRun } from './windcomm-summary.ts'
import {
  type Arrangement,
  measureWind,
  openSimulated,
  type SimulatedSite,
  type WindSample,
  warmUpReadings,
} from './windcomm-testbed.ts'

const profileNames = Object.keys(profiles).join(', ')

const paperSites = ['edmonton', 'lund', 'caracas', 'nagaoka']

export const windcomm = defineExperiment({
  name: 'windcomm',
  about: `Repeats the experiment of the 2012 WindComm paper: measures the transmission time of wind readings to windows behind\n    simulated long-distance networks, over the paper's three transports and three later ones, all at the same time.\n    --server, --remote, --join and --sensor serial measure real machines instead: this one, called here, and the others.\n    Exits with status 1 if a reading was lost, repeated or reordered.`,
  flags: {
    sites: flag(
      wordsOnce.pipe(z.array(profileName)).optional(),
      'LIST',
      `networks: ${profileNames}; nagaoka+1% also loses one packet in a hundred (Linux, root)`,
      paperSites.join(','),
    ),
    ...realMachineFlags,
    modes: flag(
      wordsOnce.default([...methods.map((method) => modeOf[method]), ...modesBeside]),
      'LIST',
      `modes, ${baseline} among them`,
    ),
    readings: flag(whole(2, 100_000).default(1200), 'N', 'readings measured in each window'),
    rate: flag(
      z.coerce.number().min(0.25).max(100).optional(),
      'HZ',
      'readings a second, of a simulated or polled sensor',
      String(paperPace.rateHz),
    ),
    hold: flag(
      whole(0, 25_000).optional(),
      'MS',
      'longest time a long poll is held',
      String(paperPace.holdMs),
    ),
    interval: flag(whole(10, 60_000).optional(), 'MS', 'pause between polls', String(paperPace.intervalMs)),
    'new-connections': flag(
      z.boolean().default(false),
      '',
      'the answer to each request over HTTP/1.1 ends its connection, so that each poll needs another',
    ),
    'browsers-at': flag(
      z.string().optional(),
      'S',
      'the site whose windows are real Chromium windows; none for no browser, of real machines on this one',
      'the first site',
    ),
    'clock-error': flag(
      z.coerce.number().min(0).optional(),
      'MS',
      'largest error of a clock; above it the run is refused, as in the paper',
      `${paperBoundMs}; on real machines any`,
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

  /**
   * Rate and pauses are those after `faster` is applied; null for those of the sensor and of a running server.
   * `browsersAt` is null for no browser on this machine; `machines` is null for simulated sites.
   */
  options({ 'browsers-at': wished, 'clock-error': maxErrorMs, ...given }) {
    const { modes, readings, faster, sessions, seed } = given
    requireModes(modes)
    if (!modes.includes(baseline))
      throw new Error(`--modes must also name ${baseline}: all others are compared with it.`)
    const newConnections = given['new-connections']
    const common = { modes, readings, faster, sessions, seed, newConnections }
    const machines = readMachines(given)
    if (machines && newConnections)
      throw new Error('--new-connections is of simulated sites: leave it out on real machines.')
    if (machines) {
      const { rateHz, polling } = machines
      if (wished !== undefined && wished !== 'here' && wished !== 'none')
        throw new Error(
          `--browsers-at is "${wished}": on real machines it is here, or none for no browser on this one.`,
        )
      const browsersAt = wished === 'none' ? null : 'here'
      const own = { sites: [], machines, browsersAt, maxErrorMs: maxErrorMs ?? null }
      const pauses = { holdMs: polling?.holdMs ?? null, intervalMs: polling?.intervalMs ?? null }
      return { ...common, rateHz, ...pauses, ...own }
    }
    const { rateHz: usualRate, holdMs: usualHold, intervalMs: usualInterval } = paperPace
    const { sites = paperSites, rate = usualRate, hold = usualHold, interval = usualInterval } = given
    const [first] = sites
    if (!first) throw new Error('--sites names no site.')
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
    const own = { sites, machines: null, browsersAt, maxErrorMs: maxErrorMs ?? paperBoundMs }
    return { ...common, ...pace, ...own }
  },

  plan({ readings, rateHz, browsersAt }): Plan {
    if (rateHz === null) return {}
    const openingMs = browsersAt === null ? 4000 : 15_000
    return { sessionMs: openingMs + (1000 * (warmUpReadings + readings)) / rateHz }
  },

  networks: ({ sites }) => sites,

  reread,

  async measure(options, lab): Promise<WindRun> {
    const { modes, readings, faster, seed, browsersAt, maxErrorMs } = options
    await using opened = new AsyncDisposableStack()
    const { machines } = options
    const where = await (machines ? onMachines({ ...options, machines }, lab, opened) : simulated(options))
    const { sites, polling } = where
    const names = sites.map(({ name }) => name).join(', ')
    const pace = faster === 1 ? '' : `, ${faster} times as fast: rate, hold, interval and delays together`
    const rate =
      options.rateHz === null
        ? 'at the sensor’s own rate'
        : `at ${options.rateHz} Hz (${Math.round(readings / options.rateHz)} s)`
    lab.progress.say(
      `${readings} readings ${rate} to ${names} over ${modes.join(', ')}, all at once, seed ${seed}${pace}.`,
    )
    // A single session has nothing to show before it ends.
    if (options.sessions > 1)
      lab.progress.compare({
        caption: 'One way in milliseconds',
        subjects: sites.flatMap((site) => modes.map((mode) => `${mode} ${site.name}`)),
        baselineOf: (subject) => `${baseline} ${variantOf(subject)}`,
      })
    const found = await lab.sessions(options.sessions, async (session, opened) => {
      const testbed = await where.open(session, opened, lab.signal)
      const measured = await measureWind({ readings, maxErrorMs }, testbed, lab)
      for (const turn of turnsIn(measured.samples)) lab.progress.took(turn)
      return measured
    })
    await where.end?.()
    lab.progress.say('All readings are in; analysing them.')
    const rateHz = options.rateHz ?? measuredRateHz(found)
    const { holdMs, intervalMs } = polling
    const { command, ...circumstances } = lab.circumstances({
      browser: found[0]?.browser ?? 'none',
      seed,
      server: where.server,
      parameters: {
        sites: names,
        modes: modes.join(', '),
        readings,
        ...(options.sessions > 1 && { sessions: options.sessions }),
        rateHz,
        holdMs,
        intervalMs,
        faster,
        browsersAt: browsersAt ?? 'none',
        ...(options.newConnections && { 'new-connections': true }),
        ...where.parameters,
        seed,
      },
    })
    return {
      ...joinSessions(found),
      ...circumstances,
      command: withoutHost(command),
      rateHz,
      holdMs,
      intervalMs,
      faster,
      warmUpReadings,
      sites,
      modes,
    }
  },

  analyse,

  report: (run, summary) => ({
    title:
      simulatedIn(summary.sites).length > 0
        ? 'windcomm over simulated networks'
        : 'windcomm on real machines',
    sections: sectionsOf(run, summary),
    method: method(summary),
    data: tablesOf(run),
    tables: [cellsTable(summary), pointsTable(summary)],
    // Contradicting the paper is not a failure.
    isFailure: summary.cells.some(isFaulty),
  }),
})

/** One for each method at each site. */
const turnsIn = (samples: readonly WindSample[]): readonly Turn[] =>
  [...Map.groupBy(samples, ({ mode, site }) => `${mode} ${site}`)].map(([subject, own]) => {
    const values = own.filter(hasArrived).map(latencyMs)
    return { subject, values, received: values.length, expected: own.length }
  })
type Simulated = Extract<ReturnType<typeof windcomm.options>, { readonly machines: null }>

function simulated(options: Simulated): Arrangement {
  const { sites, modes, rateHz, holdMs, intervalMs, faster, seed, browsersAt, newConnections } = options
  const sitesIn = (session: number) =>
    sites.map((name, place): SimulatedSite => {
      const windows = name === browsersAt ? 'browser' : 'client'
      const profile = readProfile(name)
      if (!profile) throw new Error(`There is no network ${name}.`)
      // Different ones, so that stalls do not coincide.
      const own = seed + (session - 1) * sites.length + place
      return { name, profile: scaled(profile, faster), seed: own % 2 ** 32, windows }
    })
  const polling = { holdMs, intervalMs }
  const plan = { modes: requireModes(modes), rateHz, polling, seed, newConnections }
  return {
    sites: sitesIn(1),
    polling,
    server: 'a process of its own on this machine, its log in SQLite',
    open: (session, opened, signal) => openSimulated({ ...plan, sites: sitesIn(session) }, opened, signal),
  }
}

/** Rate of the counted readings, over all sessions. */
function measuredRateHz(found: readonly Measured[]): number {
  const spans = found.map(({ readings }) => (readings.at(-1)?.at ?? 0) - (readings[0]?.at ?? 0))
  const intervals = found.reduce((sum, { readings }) => sum + readings.length - 1, 0)
  return rounded((1000 * intervals) / spans.reduce((sum, ms) => sum + ms, 0))
}

type Measured = Awaited<ReturnType<typeof measureWind>>

/** Readings are numbered on, from session to session. */
function joinSessions(
  found: readonly Measured[],
): Pick<
  WindRun,
  'sessions' | 'missed' | 'readings' | 'samples' | 'clock' | 'links' | 'bytes' | 'serverCpuMs'
> {
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
  const missed = found.flatMap(({ missed }, place) => missed.map((one) => ({ ...one, session: place + 1 })))
  return {
    sessions: found.length,
    ...(missed.length > 0 && { missed }),
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
    'samples.csv.gz': formatCsv(
      [
        'site',
        'mode',
        ['reading', ({ place }) => place],
        'seq',
        'id',
        'acceptedAt',
        'receivedAt',
        ['latency_ms', (sample) => csvTime(hasArrived(sample) ? latencyMs(sample) : null)],
        'copies',
        'reordered',
      ],
      samples,
    ),
    'readings.csv': formatCsv(
      [
        ['reading', (_, place) => place + 1],
        'seq',
        'id',
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
  const readings = checkedRows(readingsPath, await readText(readingsPath), readingRow)
  const samples = checkedRows(path, await readText(path), sampleRow)
  const sites = summary.sites.length
  const modes = summary.modes.length
  // Older ones do not say how many sessions they had.
  const { sessions = 1, missed = [] } = summary
  const expected = modes * readings.length * (sites - missed.length / sessions)
  if (samples.length === expected) return { ...summary, sessions, readings, samples }
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
