// `node e2e/network/main.ts --seconds 30`: all profiles at once, what was asked of each link and what pings measured.

import { z } from 'zod'
import { leaveWhenDone } from '../../server/leave.ts'
import { readFlags, whole, words } from '../bench/flags.ts'
import { decimals, textTable } from '../bench/table.ts'
import { mean, standardDeviation } from '../lab/stats/summary.ts'
import { type Pinged, ping } from './pings.ts'
import { type ProfileName, profiles } from './profiles.ts'

const names = Object.keys(profiles) as ProfileName[]

const flags = z.object({
  seconds: whole(1, 3600).default(30),
  seed: whole(0, 2 ** 31).default(1),
  profiles: words.pipe(z.array(z.enum(names))).default(names),
})

const everyMs = 250
const head = ['profile', 'way', 'pings', 'asked', 'sd', 'measured', 'sd', 'late mean', 'late p99', 'late max']

async function main(): Promise<void> {
  const { seconds, seed, profiles: chosen } = readFlags(flags, process.argv.slice(2))
  const count = (seconds * 1000) / everyMs
  const cpuBefore = process.cpuUsage()
  const found = await Promise.all(
    chosen.map((name) => ping({ profile: profiles[name], seed, count, everyMs })),
  )
  const { user, system } = process.cpuUsage(cpuBefore)
  const rows = chosen.flatMap((name, place) => rowsOf(name, found[place]))
  process.stdout.write(
    `${textTable(head, rows)}\n  All in ms. Processor: ${decimals((user + system) / 1000 / seconds, 1)} ms a second.\n`,
  )
}

function rowsOf(name: string, found: Pinged | undefined): string[][] {
  if (!found) return []
  return [
    row(name, 'up', found.askedUp, found.up, found.figures.up),
    row(name, 'down', found.askedDown, found.down, found.figures.down),
  ]
}

function row(
  name: string,
  way: string,
  asked: readonly number[],
  measured: readonly number[],
  { meanMs, p99Ms, maxMs }: Pinged['figures']['up'],
): string[] {
  const figures = [
    mean(asked),
    standardDeviation(asked),
    mean(measured),
    standardDeviation(measured),
    meanMs,
    p99Ms,
    maxMs,
  ]
  return [name, way, String(measured.length), ...figures.map((figure) => decimals(figure, 2))]
}

leaveWhenDone()
await main()
