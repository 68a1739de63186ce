// `--simulate`: plays a WindSonic on a pseudo-terminal, until somebody ends it.

import { ConfigError } from '../config/error.ts'
import { messageOf } from '../sources/device/meaning.ts'
import { playOnTerminal } from '../sources/device/play-on-terminal.ts'
import { listed, readSettings } from '../sources/device/settings.ts'
import { readTrouble } from '../sources/device/troubles.ts'
import type { DeviceOptions } from '../sources/device/windsonic.ts'
import { createSeededRandom } from '../wire/random.ts'
import { SensorFailure } from './failure.ts'
import { notAllowed } from './flags.ts'
import type { Surroundings } from './surroundings.ts'

export interface Simulating {
  /** Where the pseudo-terminal is to be found. */
  readonly path: string
  readonly device: DeviceOptions
  /** The same seed makes the same wind; null takes chance. */
  readonly seed: number | null
}

type Words = ReadonlyMap<string, string>

/** Messages that come by themselves, by the names of their formats. */
const formats: Readonly<Record<string, string>> = { polar: 'M2', uv: 'M1', nmea: 'M5', tunnel: 'M12' }

/** What the flags ask for. Throws ConfigError for a value that is none. */
export function readSimulating(path: string, strength: DeviceOptions['strength'], own: Words): Simulating {
  return {
    path,
    seed: seedIn(own),
    device: {
      configuration: `${formatIn(own)} ${own.get('--settings') ?? ''}`.trim(),
      troubles: troublesIn(own),
      noise: noiseIn(own),
      ...(strength && { strength }),
    },
  }
}

function formatIn(own: Words): string {
  const given = own.get('--format') ?? 'polar'
  return formats[given] ?? fail('--format', given)
}

function seedIn(own: Words): number | null {
  const given = own.get('--seed')
  if (given === undefined) return null
  return /^\d{1,10}$/.test(given) ? Number(given) : fail('--seed', given)
}

/** Of the damaged messages a third each is cut, shifted and flipped. */
function noiseIn(own: Words): NonNullable<DeviceOptions['noise']> {
  const given = own.get('--noise') ?? '0'
  const share = /^\d+(\.\d+)?$/.test(given) ? Number(given) : 2
  if (share > 1) fail('--noise', given)
  return { cut: share / 3, shifted: share / 3, flipped: share / 3 }
}

function troublesIn(own: Words): NonNullable<DeviceOptions['troubles']> {
  const given = own.get('--trouble')
  return asConfigError(() => given?.split(',').map((text) => readTrouble(text.trim())) ?? [])
}

function fail(name: Parameters<typeof notAllowed>[0], given: string): never {
  throw notAllowed(name, given)
}

function asConfigError<Value>(read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw error instanceof Error ? new ConfigError(error.message) : error
  }
}

/** Resolves when the signal has ended it. Rejects with SensorFailure where no terminal can be made. */
export async function simulate(
  { path, device, seed }: Simulating,
  surroundings: Surroundings,
): Promise<void> {
  const { print, timers, signal } = surroundings
  const settings = asConfigError(() => readSettings(device.configuration ?? ''))
  const random = seed === null ? surroundings.random : createSeededRandom(seed)
  const playing = await playOnTerminal({ path, device, timers, random, signal }).catch(explain)
  const polled = messageOf(settings).isPolled ? ' --sensor-mode polled' : ''
  const inFile = `sensor: { source: 'serial', path: '${path}'${polled && ", mode: 'polled'"} }`
  const lines = [
    '',
    `  A made-up WindSonic is on ${path}: ${device.strength}, ${listed(settings)}`,
    '  Whoever opens it takes it for a real one.',
    '',
    `  See what it sends:          npm run sensor -- --listen --path ${path}${polled && ' --mode polled'}`,
    `  Show it in every window:    npm start -- --sensor-source serial --sensor-path ${path}${polled}`,
    `  The same in the config:     ${inFile}`,
    '',
    '  Ctrl-C ends it.',
    '',
  ]
  lines.forEach(print)
  await playing.ended.catch(explain)
}

function explain(error: unknown): never {
  throw new SensorFailure(error instanceof Error ? error.message : String(error))
}
