// A run's windows (this machine's, WebDrivers', joined devices'), their clocks and missed turns.

import type { Browser } from '../browser/browser.ts'
import { openWindows, type RecordingWindow } from '../browser/typing.ts'
import { count, figure, type Section, table } from '../report/section.ts'
import type { ClockReading } from './clock.ts'
import type { Machines } from './machines.ts'
import { labelOf } from './mode-names.ts'
import { hasArrived, medianMs, type Sample } from './samples.ts'
import { rounded } from './statistics.ts'

export interface RunWindow {
  readonly receiver: number
  /** Such as `window 2, this machine` or `device 1, Chrome 156 on Android`. */
  readonly name: string
  /** Largest error of its clock against the server's. */
  readonly boundMs: number
  /** Turns whose samples are excluded, each with the reason. */
  readonly missed: readonly string[]
}

/** Lasts the whole run; each session opens its own windows, and devices stay. */
export class Participants {
  readonly #devices: Machines['devices']
  readonly #own: number
  readonly #seen: { readonly name: string; boundMs: number; readonly missed: string[] }[]

  /** `windows`: their number without the joined devices, each of which is another. */
  constructor(windows: number, { browsers, devices }: Pick<Machines, 'browsers' | 'devices'>) {
    this.#devices = devices
    this.#own = windows
    // Window 1 types; browsers open the windows in rotation.
    const own = Array.from({ length: windows }, (_, index) => {
      const where = browsers[index % browsers.length]
      return `window ${index + 1}, ${where}${index === 0 ? ', types' : ''}`
    })
    const names = [...own, ...devices.map(({ name, agent }) => `${name}, ${agent}`)]
    this.#seen = names.map((name) => ({ name, boundMs: 0, missed: [] }))
  }

  /** For the report. */
  get windows(): readonly RunWindow[] {
    return this.#seen.map((window, index) => ({ receiver: index + 1, ...window }))
  }

  /** A session's windows, in order of `receiver`. */
  async open(browsers: readonly Browser[]): Promise<readonly RecordingWindow[]> {
    return [...(await openWindows(browsers, this.#own)), ...this.#devices]
  }

  /** Whether its samples in this turn count. */
  readonly isPresent = (receiver: number): boolean => {
    return (this.#devices[receiver - this.#own - 1]?.missed ?? null) === null
  }

  /**
   * Records the clocks of a turn and the windows that missed it; resolves to a sentence for each of the
   * latter.
   */
  noteTurn(turn: string, clocks: readonly ClockReading[]): readonly string[] {
    return clocks.flatMap(({ boundMs }, index) => {
      const window = this.#seen[index]
      if (window && this.isPresent(index + 1)) window.boundMs = Math.max(window.boundMs, boundMs)
      const { name = '', missed = null } = this.#devices[index - this.#own] ?? {}
      if (missed === null) return []
      window?.missed.push(`${turn}: ${missed}`)
      return [`without ${name}, which ${missed}`]
    })
  }
}

/** Medians in ms by mode; null without arrivals. */
export function summariseWindow(
  modes: readonly string[],
  samples: readonly Sample[],
  { receiver, name, boundMs, missed }: RunWindow,
) {
  const own = samples.filter((sample) => sample.receiver === receiver)
  const medians = modes.map((name) => [name, medianMs(own.filter(({ mode }) => mode === name))] as const)
  const n = own.filter(hasArrived).length
  const p50Ms = Object.fromEntries(medians)
  return { receiver, name, n, lost: own.length - n, p50Ms, boundMs: rounded(boundMs), missed }
}

const maxNamed = 5

/** Empty if all windows are on this machine. */
export function windowsSections(
  windows: readonly ReturnType<typeof summariseWindow>[],
  modes: readonly string[],
): readonly Section[] {
  if (windows.length === 0) return []
  const absent = windows
    .filter(({ missed }) => missed.length > 0)
    .map(({ name, missed }) => {
      const more = missed.length > maxNamed ? `; and ${count(missed.length - maxNamed)} more` : ''
      return `${name}, missed turns: ${missed.slice(0, maxNamed).join('; ')}${more}. Its samples in these turns are excluded from every figure.`
    })
  return [
    {
      title: 'Window by window',
      tables: [
        table(
          'Median transmission time to each window, and the largest error of its clock, in milliseconds',
          ['Window', ...modes.map(labelOf), 'Clock', 'Received', 'Lost', 'Turns missed'],
          windows.map(({ name, p50Ms, boundMs, n, lost, missed }) => [
            name,
            ...modes.map((mode) => p50Ms[mode]),
            n + lost === 0 ? '–' : `± ${figure(boundMs)}`,
            ...[n, lost, missed.length].map(count),
          ]),
        ),
      ],
      paragraphs: [
        'Over all sessions. A clock’s error is relative to the server’s clock; a time from window 1 to another window is off by at most the sum of both, and one from window 1 to itself by nothing.',
        ...absent,
      ],
    },
  ]
}
