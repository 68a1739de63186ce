// Progress of a run: what is measured now, the time left, and on a terminal a live table of results.

import { fitted, several, type Table, tableText } from '../report/section.ts'
import { Estimate, formatClock, formatDuration, type Plan } from './estimate.ts'
import { type Compared, Standings, type Turn } from './standings.ts'
import { type Output, Progress } from './terminal-output.ts'

export class RunProgress extends Progress {
  readonly #signal: AbortSignal
  #step = ''
  #standings: Standings | null = null
  #estimate: Estimate | null = null
  /** The current session, and how many are planned. */
  #session = { number: 0, of: 0 }

  /** After an abort the changing lines stay as they are. */
  constructor(output: Output, signal: AbortSignal) {
    super(output)
    this.#signal = signal
    // Moves the cursor below the table, for whatever is written next.
    signal.addEventListener('abort', () => this.leave(), { once: true })
  }

  /** Shown only on a terminal, with the time left, until the next one. */
  step(words: string): void {
    this.#step = words
    this.#showState()
  }

  /** Is a step on a terminal, a sentence elsewhere. */
  announce(words: string): void {
    if (this.isTerminal) this.step(words)
    else this.say(words)
  }

  /** From here on a terminal shows a live table. */
  compare(compared: Compared): void {
    this.#standings = new Standings(compared)
    this.#showState()
  }

  /** Changes the live table on a terminal; elsewhere says `sentence`. */
  took(turn: Turn, sentence?: string): void {
    this.#standings?.add(turn)
    if (this.isTerminal) this.#showState()
    else if (sentence !== undefined) this.say(sentence)
  }

  /** Says how long these sessions will take, and shows the time left until it is disposed of. */
  startSessions(count: number, plan: Plan): Disposable {
    this.#estimate = new Estimate(count, plan, () => performance.now())
    this.#session = { number: 0, of: count }
    const { leftMs } = this.#estimate
    if (leftMs !== null) this.say(`This takes about ${formatDuration(leftMs)}.`)
    const shown = setInterval(() => this.#showState(), 1000).unref()
    return {
      [Symbol.dispose]: () => {
        clearInterval(shown)
        this.#estimate = null
      },
    }
  }

  /** `number`: from 1. */
  startSession(number: number): void {
    this.#session = { number, of: this.#session.of }
    this.#step = ''
  }

  sessionDone(): void {
    this.#standings?.sessionDone()
    this.#estimate?.sessionDone()
    const { number, of } = this.#session
    const leftMs = this.#estimate?.leftMs ?? 0
    if (this.isTerminal && this.#standings) this.#showState()
    else if (number < of && leftMs > 0)
      this.say(`Session ${number} of ${of} is done; about ${formatDuration(leftMs)} left.`)
  }

  /** The session will be measured again. */
  forgetSession(): void {
    this.#standings?.forgetSession()
  }

  #showState(): void {
    if (!this.isTerminal || this.#signal.aborted) return
    const leftMs = this.#estimate?.leftMs ?? null
    const left = leftMs === null ? '' : `${formatClock(leftMs)} left`
    if (this.#standings === null) {
      this.update([this.#step, left].filter(Boolean).join('  '))
      return
    }
    const { number, of } = this.#session
    const session = number === 0 ? '' : `Session ${number}${number > of ? '' : ` of ${of}`}`
    this.show([
      '',
      ...standingLines(this.#standings.table, this.columns, this.rows - linesAround),
      '',
      `  ${this.#step}`,
      `  ${[session, left].filter(Boolean).join(', ')}`,
    ])
  }
}

/** Around the live table: above it one, below it three, and the one of the cursor's next line. */
const linesAround = 5

/** The table within a terminal's width and height, which are in characters. */
export function standingLines(table: Table, columns: number, rows: number): readonly string[] {
  // The margin on the left, and the last column, which stays free.
  const lines = tableText(fitted(table, columns - 3)).split('\n')
  if (lines.length <= rows) return lines
  const most = Math.max(0, rows - 1)
  return [...lines.slice(0, most), `  … and ${several(lines.length - most, 'more row', 'more rows')}`]
}
