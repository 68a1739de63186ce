// Erases dropped messages and whole channels from a log's tables, later and in portions.

import type { Message } from '../../protocol/messages.ts'
import type { Channel, Pile } from './channel.ts'
import type { Folding } from './folding.ts'
import type { Defer, OnFailure } from './log.ts'
import type { Tables } from './tables.ts'

/** Number and size of the messages that are erased together. */
const portion = {
  /** So that the rows of a database page are erased together. */
  least: { messages: 64, bytes: 262_144 },
  /** So that no append waits long. */
  most: { messages: 256, bytes: 2_097_152 },
}

/**
 * `full`: only if there are enough dropped messages for a portion; `any`: any number; `last`: any
 * number, and nothing is folded first.
 */
type Erasing = 'full' | 'any' | 'last'

/** A message that counts as gone, or all of a channel's up to a number. */
interface Dropped {
  readonly channel: Channel
  readonly seq: number
  readonly bytes: number
}

/** A channel whose messages may be erased up to a number, except some. */
interface Erasable {
  readonly name: string
  /** In the tables. */
  readonly number: number
  readonly upTo: number
  readonly survivors: readonly number[]
  /** Reads the survivors. */
  readonly newest: () => readonly Message[]
}

/** A portion of the dropped messages. */
interface Taken {
  readonly channels: readonly Erasable[]
  /** Erases them from the tables. */
  readonly erase: () => void
  /** Call when they are erased for good. Returns the size of their bodies. */
  readonly done: () => number
}

interface EraserParts {
  readonly tables: Tables
  readonly folding: Folding
  readonly newestOf: (pile: Pile) => Message
  /** If false, the log's owner erases dropped messages (`take`). */
  readonly erasesDropped: boolean
  readonly defer: Defer
  readonly onFailure: OnFailure
  /**
   * Called in the transaction that erases messages, with the numbers up to which it does, by the
   * numbers of their channels.
   */
  readonly onErasing: (upTo: ReadonlyMap<number, number>) => void
  /** Called after its commit, with the size of the erased bodies. */
  readonly onErased: (bytes: number) => void
  /** Called when nothing is left of any erased channel. */
  readonly onNothingLeft: () => void
}

export class Eraser {
  readonly #parts: EraserParts
  /** In the order in which they were dropped. */
  readonly #dropped: Dropped[] = []
  #droppedBytes = 0
  /** Numbers of erased channels, nameless in the tables, that still have messages there. */
  #nameless: number[] = []
  /** Numbers of erased channels without messages whose names the tables still have, by name. */
  readonly #named = new Map<string, number>()
  #isPlanned = false
  #isClosed = false

  constructor(parts: EraserParts) {
    this.#parts = parts
  }

  /** Continues with the erased channels in the tables. */
  load(): void {
    this.#nameless = this.#parts.tables.erased()
  }

  drop(dropped: Dropped): void {
    this.#dropped.push(dropped)
    this.#droppedBytes += dropped.bytes
  }

  /** Erases the messages of a channel that has no name in the tables. */
  eraseMessages({ number }: Channel): void {
    this.#nameless.push(number)
    this.plan()
  }

  /** Erases the name of a channel without messages. */
  eraseName({ name, number }: Channel): void {
    this.#named.set(name, number)
    this.plan()
  }

  /** Erases the name at once, because a new channel needs it. */
  freeName(name: string): void {
    const number = this.#named.get(name)
    if (number !== undefined) this.#parts.tables.eraseChannel(number)
  }

  get #isFull(): boolean {
    const { least } = portion
    return this.#dropped.length >= least.messages || this.#droppedBytes >= least.bytes
  }

  /** Each channel of the next portion and its newest number; empty if there are too few for one. */
  #next(mayBeFew: boolean): { readonly upTo: ReadonlyMap<Channel, number>; readonly count: number } {
    const { most } = portion
    const upTo = new Map<Channel, number>()
    let count = 0
    if (!mayBeFew && !this.#isFull) return { upTo, count }
    for (let sum = 0; count < Math.min(this.#dropped.length, most.messages) && sum < most.bytes; count += 1) {
      const one = this.#dropped[count]
      if (!one) break
      sum += one.bytes
      upTo.set(one.channel, one.seq)
    }
    return { upTo, count }
  }

  /**
   * The channels from which a portion of dropped messages may be erased, up to which number, and the
   * messages up to there that stay. Null if there are none.
   */
  take(erasing: Erasing = 'full'): Taken | null {
    const { tables, folding } = this.#parts
    const { upTo, count } = this.#next(erasing !== 'full')
    const present = [...upTo].filter(([channel]) => !channel.isGone)
    const isFolded = present.map(([channel, seq]) => folding.mayErase(channel, seq, erasing !== 'last'))
    if (count === 0 || (present.length > 0 && !isFolded.includes(true))) return null
    const erasable = present.filter((_channel, index) => isFolded[index])
    const channels = erasable.map(([channel, seq]) => this.#erasableOf(channel, seq))
    return {
      channels,
      erase() {
        for (const { number, upTo, survivors } of channels) tables.erase(number, upTo, survivors)
      },
      done: () => {
        for (const [channel, seq] of erasable) channel.erasedTo = seq
        const bytes = this.#dropped.splice(0, count).reduce((sum, one) => sum + one.bytes, 0)
        this.#droppedBytes -= bytes
        // Messages that are in no base yet are erased later.
        for (const [index, [channel, seq]] of present.entries())
          if (!isFolded[index]) this.drop({ channel, seq, bytes: 0 })
        return bytes
      },
    }
  }

  #erasableOf({ name, number, piles }: Channel, upTo: number): Erasable {
    const { newestOf } = this.#parts
    const survivors = [...piles.values()].filter((pile) => !pile.isCumulative && pile.newest <= upTo)
    return {
      name,
      number,
      upTo,
      survivors: survivors.map((pile) => pile.newest),
      newest: () => survivors.map(newestOf),
    }
  }

  /** Plans to erase a portion of the dropped messages if there are enough. */
  consider(): void {
    if (this.#parts.erasesDropped && this.#isFull) this.plan()
  }

  /** Erases a portion in a later turn. */
  plan(): void {
    if (this.#isPlanned || this.#isClosed) return
    this.#isPlanned = true
    this.#parts.defer(() => {
      this.#isPlanned = false
      try {
        this.erase()
      } catch (error) {
        this.#parts.onFailure(error)
      }
    })
  }

  /** Erases a portion. If it fails, the next call erases it. */
  erase(erasing: Erasing = 'full'): void {
    const { tables, erasesDropped, onErasing, onErased, onNothingLeft } = this.#parts
    if (!tables.isOpen) return
    const taken = erasesDropped ? this.take(erasing) : null
    const [nameless] = this.#nameless
    if (!taken && nameless === undefined && this.#named.size === 0) return
    const named = [...this.#named]
    const isOver = tables.transaction(() => {
      taken?.erase()
      for (const [, number] of named) tables.eraseChannel(number)
      onErasing(new Map(taken?.channels.map(({ number, upTo }) => [number, upTo])))
      return nameless !== undefined && tables.erasePortion(nameless, portion.most)
    })
    // After the commit: a rollback erases nothing.
    onErased(taken?.done() ?? 0)
    for (const [name, number] of named) {
      this.#named.delete(name)
      this.#nameless.push(number)
    }
    if (isOver) this.#nameless = this.#nameless.filter((number) => number !== nameless)
    if (this.#nameless.length > 0) this.plan()
    else if (isOver) onNothingLeft()
  }

  /** From now on nothing is erased in later turns. */
  close(): void {
    this.#isClosed = true
  }
}
