// A run's live table: the results so far, a row for each subject.

import { mean, meanOfRatios } from '../../client/statistics.ts'
import { count, interval, type Table, table } from '../report/section.ts'
import { labelOf } from './mode-names.ts'
import { type Sample, timesOf } from './samples.ts'
import { median } from './statistics.ts'

/** Describes the rows. */
export interface Compared {
  /** Title of the first column; default: Mode. */
  readonly title?: string
  /** Such as `Transmission time, in milliseconds`. */
  readonly caption: string
  /** In the table's order; others follow as they appear. */
  readonly subjects: readonly string[]
  /** The subject that a ratio is to; itself or undefined for none. */
  readonly baselineOf: (subject: string) => string | undefined
}

/** A subject's results from one of its turns. */
export interface Turn {
  readonly subject: string
  /** Such as a size: only the group of the last turn is shown, and compared within itself. */
  readonly group?: string
  /** Values of the messages that arrived, in the caption's unit. */
  readonly values: readonly number[]
  readonly received: number
  readonly expected: number
}

type SessionTurn = Turn & { readonly session: number }

/** Transmission times in ms. */
export function turnOf(subject: string, samples: readonly Sample[], group?: string): Turn {
  const values = timesOf(samples)
  return {
    subject,
    ...(group !== undefined && { group }),
    values,
    received: values.length,
    expected: samples.length,
  }
}

export class Standings {
  readonly #compared: Compared
  #turns: SessionTurn[] = []
  /** Sessions 1 to this one are whole. */
  #whole = 0

  constructor(compared: Compared) {
    this.#compared = compared
  }

  /** To the current session. */
  add(turn: Turn): void {
    this.#turns.push({ ...turn, session: this.#whole + 1 })
  }

  sessionDone(): void {
    this.#whole += 1
  }

  /** Discards the current session, which will be measured again. */
  forgetSession(): void {
    this.#turns = this.#turns.filter(({ session }) => session <= this.#whole)
  }

  /** The most telling columns come first: a narrow terminal leaves out the last. */
  get table(): Table {
    const { title = 'Mode', caption, subjects, baselineOf } = this.#compared
    const group = this.#turns.at(-1)?.group
    const turns = this.#turns.filter((turn) => turn.group === group)
    const bySubject = Map.groupBy(turns, ({ subject }) => subject)
    const rows = [...new Set([...subjects, ...bySubject.keys()])].map((subject) => {
      const own = bySubject.get(subject) ?? []
      const values = own.flatMap((turn) => turn.values)
      const baseline = baselineOf(subject)
      const { ratio, interval: ci95 } = this.#ratio(own, bySubject.get(baseline ?? '') ?? [])
      const expected = own.reduce((sum, turn) => sum + turn.expected, 0)
      const received = own.reduce((sum, turn) => sum + turn.received, 0)
      return [
        subject === baseline ? `${labelOf(subject)} (baseline)` : labelOf(subject),
        values.length === 0 ? null : mean(values),
        ratio,
        subject === baseline ? null : ci95 && interval(ci95),
        expected === 0 ? null : `${count(received)} of ${count(expected)}`,
        values.length === 0 ? null : median(values),
      ]
    })
    const about = `${caption}${group === undefined ? '' : `, ${group}`}, so far`
    return table(about, [title, 'Mean', 'Ratio', '95 % interval', 'Received', 'Median'], rows)
  }

  /** Ratio of the means: of the whole sessions if there are any, with the interval if there are several. */
  #ratio(own: readonly SessionTurn[], others: readonly SessionTurn[]) {
    const meanIn = (turns: readonly SessionTurn[], session?: number) => {
      const values = turns.flatMap((turn) =>
        session === undefined || turn.session === session ? turn.values : [],
      )
      return values.length === 0 ? Number.NaN : mean(values)
    }
    const ratioIn = (session?: number) => meanIn(own, session) / meanIn(others, session)
    const ofSessions = Array.from({ length: this.#whole }, (_, index) => ratioIn(index + 1)).filter(
      (ratio) => ratio > 0 && Number.isFinite(ratio),
    )
    if (ofSessions.length >= 2) return meanOfRatios(ofSessions)
    return { ratio: ofSessions[0] ?? ratioIn(), interval: null }
  }
}
