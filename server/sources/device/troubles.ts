// What can be wrong with a sensor and its line, as a plan made beforehand.

/**
 * - `blocked-u`, `blocked-v`, `blocked`: an axis or both see nothing; frames without values, status 01, 02 or 04.
 * - `cut`, `shifted`, `flipped`: every message loses a part, is read from the middle of a character, has wrong bits.
 * - `stall`: the converter holds everything back, then hands it over at once.
 * - `silence`: nothing comes and nothing is kept.
 * - `wrong-baud`: the host reads four times as fast as the sensor sends.
 */
export const troubleKinds = [
  'blocked-u',
  'blocked-v',
  'blocked',
  'cut',
  'shifted',
  'flipped',
  'stall',
  'silence',
  'wrong-baud',
] as const

export type TroubleKind = (typeof troubleKinds)[number]

export interface Trouble {
  readonly kind: TroubleKind
  /** After the sensor started. */
  readonly atSeconds: number
  readonly forSeconds: number
}

/** The longest stall that the field has shown. */
export const longestStallSeconds = 9

/** Status codes of the manual (1405-PS-0019, section 11.5). */
const faults: ReadonlyArray<readonly [TroubleKind, string]> = [
  ['blocked', '04'],
  ['blocked-u', '01'],
  ['blocked-v', '02'],
]

/** Throws a RangeError that names the first trouble that cannot be had. */
export function checkTroubles(troubles: readonly Trouble[]): void {
  for (const { kind, atSeconds, forSeconds } of troubles) {
    const text = `${kind}@${atSeconds}+${forSeconds}`
    if (!troubleKinds.includes(kind))
      throw new RangeError(`"${kind}" is no trouble: choose ${troubleKinds.join(', ')}.`)
    if (!(atSeconds >= 0 && forSeconds > 0 && Number.isFinite(atSeconds + forSeconds)))
      throw new RangeError(`${text} is no time: begin at 0 s or later, for more than 0 s.`)
    if (kind === 'stall' && forSeconds > longestStallSeconds)
      throw new RangeError(`${text} is too long: a stall lasts up to ${longestStallSeconds} s.`)
  }
}

/** Reads `stall@30+9`: which, from which second, for how many. Throws a RangeError that says how to write one. */
export function readTrouble(text: string): Trouble {
  const [, word, at, duration] = /^([a-z-]+)@(\d+(?:\.\d+)?)\+(\d+(?:\.\d+)?)$/.exec(text) ?? []
  const kind = troubleKinds.find((known) => known === word)
  if (!kind) {
    const kinds = troubleKinds.join(', ')
    throw new RangeError(`"${text}" is no trouble: write one like stall@30+9, with one of ${kinds}.`)
  }
  const trouble = { kind, atSeconds: Number(at), forSeconds: Number(duration) }
  checkTroubles([trouble])
  return trouble
}

/** The one of this kind that lasts at this second after the start, or null. */
export function lasting(troubles: readonly Trouble[], kind: TroubleKind, seconds: number): Trouble | null {
  const isNow = (trouble: Trouble) =>
    trouble.kind === kind && seconds >= trouble.atSeconds && seconds < trouble.atSeconds + trouble.forSeconds
  return troubles.find(isNow) ?? null
}

/** The status of a frame at this second after the start. */
export function statusAt(troubles: readonly Trouble[], seconds: number): string {
  const fault = faults.find(([kind]) => lasting(troubles, kind, seconds))
  return fault ? fault[1] : '00'
}
