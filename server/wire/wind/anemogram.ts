// An hour of wind as it goes to a window that has just come: what the server's anemograph drew, small enough to send.

import type { WindHistory } from './history.ts'
import { type Strip, stripOf, traceFrom } from './strip.ts'
import { type Trace, traceOf } from './trace.ts'

export interface Anemogram {
  /** Place in the log of the newest reading that is in it; 0 where there is none. */
  readonly seq: number
  /** When the newest reading was made, where that was a fault, in whole ms of the anemograph's time; else null. */
  readonly faultAt: number | null
  /** The hour before the newest reading that is no fault, by the second; without: */
  readonly seconds: Strip
  /** the last minute of it, each reading, in ms. */
  readonly full: Strip
}

/** As a window has it. */
export interface PastWind extends Pick<Anemogram, 'seq' | 'faultAt'> {
  readonly trace: Trace
}

const secondMs = 1000

/** `newest`: what its history does not say of the newest reading. */
export function anemogramOf(
  history: Pick<WindHistory, 'since'>,
  { seq, faultAt }: Pick<Anemogram, 'seq' | 'faultAt'>,
): Anemogram {
  const { seconds, full } = traceOf(history)
  return {
    seq,
    faultAt: faultAt === null ? null : Math.ceil(faultAt),
    seconds: stripOf(seconds, secondMs),
    full: stripOf(full, 1),
  }
}

/** Throws a `TypeError` or a `RangeError` where it is no anemogram. */
export function readAnemogram(given: unknown): PastWind {
  const { seq, faultAt, seconds, full } = fieldsOf(given)
  if (!isCount(seq) || !(faultAt === null || isNumber(faultAt)))
    throw new TypeError('An anemogram says its "seq", and its "faultAt" or null.')
  const trace = [...traceFrom(readStrip(seconds), secondMs, secondMs), ...traceFrom(readStrip(full), 1, 0)]
  return { seq, faultAt, trace }
}

function readStrip(given: unknown): Strip {
  const { after, count, faster, below, above, turn, anew } = fieldsOf(given)
  return {
    after: numbers(after),
    count: numbers(count),
    faster: numbers(faster),
    below: numbers(below),
    above: numbers(above),
    turn: list(turn, (value) => value === null || isNumber(value)),
    anew: numbers(anew),
  }
}

function fieldsOf(given: unknown): Readonly<Record<string, unknown>> {
  if (typeof given === 'object' && given !== null) return { ...given }
  throw new TypeError(`${JSON.stringify(given)} is no anemogram, nor a strip of one.`)
}

const isNumber = (value: unknown): value is number => Number.isFinite(value)
const isCount = (value: unknown): value is number => isNumber(value) && Number.isInteger(value) && value >= 0
const numbers = (given: unknown) => list(given, isNumber)

function list<Value>(given: unknown, isValue: (value: unknown) => value is Value): readonly Value[] {
  if (Array.isArray(given) && given.every(isValue)) return given
  throw new TypeError('A column of a strip is no list of numbers.')
}
