// The log in a store of another package: servers append to it and read it.

import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import type { Message } from '../../protocol/messages.ts'
import type { Random } from '../../protocol/time.ts'
import { keptAsText, messageText } from './kept-json.ts'
import {
  type Bus,
  keyOf,
  type LogFigures,
  type LogParts,
  type Memory,
  newEpoch,
  type OpenedLog,
  refusedForMs,
} from './log.ts'
import type { LogStore, MessageMark, SharedStorage, StoreDraft, StoredText, StorePage } from './store.ts'
import {
  asError,
  type Entry,
  figuresWithinMs,
  noteReader,
  publishWithinMs,
  retryMs,
  StreamLog,
  whenReady,
} from './stream-log.ts'
import { View } from './view.ts'

interface StoreLogParts extends LogParts {
  readonly random: Random
  /** See `memoryWithin`. */
  readonly memory?: Memory
}

/** Interval of reads that nothing has asked for: a notification may be lost. */
const readEachMs = 500
/** A store that has not answered a read for this time counts as away. */
const silentMs = 2000
/** Drafts that are appended together. */
const mostInBatch = { drafts: 500, characters: 1_048_576 }

/** Waits for the store; rejects if waiting is useless. */
export async function openStoreLog(storage: SharedStorage, parts: StoreLogParts): Promise<OpenedLog> {
  const { place } = storage
  const { onFailure } = parts
  let log: StoreLog | null = null
  let onNote: (note: string) => void = () => undefined
  let onReturned: () => void = () => undefined
  const store = storage.connect({
    onAppended: () => log?.wake(),
    onNote: (note) => onNote(note),
    onReturned: () => onReturned(),
  })
  const bus: Bus = {
    post: (note) => store.post(JSON.stringify(note)),
    follow(onParsed, returned) {
      onNote = noteReader(onParsed, onFailure)
      onReturned = returned
    },
  }
  try {
    await whenReady(place, parts, () => store.open())
    const loaded = await whenReady(`the messages of ${place}`, parts, () => load(store, parts))
    log = new StoreLog(storage, store, parts, loaded)
    const { outage, lost } = log
    return { log, bus, outage, lost, figures: () => figuresOf(store) }
  } catch (error) {
    await store.close()
    throw error
  }
}

async function figuresOf(store: LogStore): Promise<LogFigures> {
  return Promise.race([
    store.figures().catch(() => ({})),
    pause<LogFigures>(figuresWithinMs, {}, { ref: false }),
  ])
}

interface Loaded {
  readonly epoch: string
  readonly view: View
}

/** The messages are read before what is kept of erased ones: another server may be erasing some. */
async function load(store: LogStore, parts: StoreLogParts): Promise<Loaded> {
  const stored: StoredText[] = []
  let page = await readExisting(store, 0)
  for (; page.messages.length > 0; page = await readExisting(store, stored.at(-1)?.seq ?? 0))
    stored.push(...page.messages)
  const { epoch, head } = page
  const floor = stored[0] ? stored[0].seq - 1 : head
  const stream = {
    write: (name: string, message: Message) =>
      store.keep({ name, seq: message.seq, text: messageText(message) }),
    erase: store.forget,
    purge: store.purge,
  }
  const kept = (await store.kept()).map(({ name, text }) => ({
    name,
    message: keptAsText(JSON.parse(text) as Message),
  }))
  const view = new View({ ...parts, stream }, { floor, kept })
  for (const one of stored) view.take(messageIn(one))
  if (view.history.head < head) view.history.skip(head)
  return { epoch, view }
}

async function readExisting(store: LogStore, after: number): Promise<StorePage> {
  const page = await store.read(after)
  if (page === null) throw new Error('its log was deleted')
  return page
}

const messageIn = ({ seq, text }: StoredText): Message => keptAsText({ ...JSON.parse(text), seq })

class StoreLog extends StreamLog {
  readonly #storage: SharedStorage
  readonly #store: LogStore
  readonly #random: Random
  #waiting: Entry[] = []
  #isSending = false
  #isStopping = false
  #isWoken = false
  #onWoken: () => void = () => undefined
  /** When the pending read began, on the clock of `performance.now`; null if none is pending. */
  #readingSince: number | null = null
  readonly #looking: NodeJS.Timeout
  readonly #following: Promise<void>

  constructor(storage: SharedStorage, store: LogStore, parts: StoreLogParts, { epoch, view }: Loaded) {
    super(parts, epoch, view)
    this.#storage = storage
    this.#store = store
    this.#random = parts.random
    this.#looking = setInterval(() => this.#look(), readEachMs)
    this.#following = this.#follow()
  }

  /** Reads what is new, now or after the pending read. */
  wake(): void {
    this.#isWoken = true
    this.#onWoken()
  }

  async #follow(): Promise<void> {
    while (!this.#isStopping && !this.isLost) {
      this.#isWoken = false
      try {
        this.#readingSince = performance.now()
        const page = await this.#store.read(this.history.head)
        if (this.#isStopping || this.isLost) return
        await this.#take(page)
        if (page && this.history.head < page.head) continue
      } catch (error) {
        this.away = this.#clauseOf(error)
        await pause(retryMs)
        continue
      } finally {
        this.#readingSince = null
      }
      await this.#untilWoken()
    }
  }

  async #untilWoken(): Promise<void> {
    if (this.#isWoken || this.#isStopping) return
    const woken = Promise.withResolvers<void>()
    const timer = setTimeout(woken.resolve, readEachMs)
    this.#onWoken = woken.resolve
    await woken.promise
    clearTimeout(timer)
  }

  /** Takes the messages of a page, if it is of the same log. */
  async #take(page: StorePage | null): Promise<void> {
    const { name } = this.#storage
    if (page === null) return this.lose(`the log of ${name} was deleted`)
    if (page.epoch !== this.epoch) return this.lose(`the log of ${name} has begun another epoch`)
    if (!this.#continues(page)) return this.#endEpoch()
    for (const stored of page.messages) {
      if (stored.seq !== this.history.head + 1) return this.loseUnreceived(stored.seq - 1)
      this.receive(messageIn(stored))
    }
    if (page.messages.length === 0 && this.history.head < page.head) this.loseUnreceived(page.head)
    else this.hear()
  }

  /** Also true if the newest message has been erased since. */
  #continues({ head, last }: StorePage): boolean {
    const newest = this.history.last
    if (head < this.history.head) return false
    return !last || !newest || isMarked(newest, last)
  }

  /** The log lost its newest messages, and assigns their numbers again. */
  async #endEpoch(): Promise<void> {
    const { name } = this.#storage
    await this.#store.endEpoch(this.epoch, newEpoch(this.#random))
    this.onLoss(
      `The log of ${name} lost its newest messages: a server of ${name} lost them in a power cut, was replaced by a copy that did not have them, or was restored from a backup. Windows get a snapshot.`,
    )
    this.lose(`the log of ${name} lost its newest messages`)
  }

  #clauseOf(error: unknown): string {
    return `${this.#storage.name}: ${asError(error).message}`
  }

  #look(): void {
    const isSilent = this.#readingSince !== null && performance.now() - this.#readingSince > silentMs
    if (isSilent) this.away ??= `${this.#storage.name} does not answer`
    if (this.refuseOverdue()) this.wake()
    if (this.refused && this.now() - this.refused.at > refusedForMs) this.refused = null
  }

  protected override async newest(): Promise<number> {
    return (await readExisting(this.#store, this.history.head)).head
  }

  protected override send(entry: Entry): void {
    this.#waiting.push(entry)
    if (this.#isSending) return
    this.#isSending = true
    void this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    // Drafts of one turn are stored together.
    await turn()
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch()
      try {
        await this.#append(batch)
      } catch (cause) {
        const reason = this.isLost ? this.away : this.#clauseOf(cause)
        if (reason !== null && this.away === null) this.notTaken(reason)
        // Also refuses the drafts behind it: the senders repeat all of them, in order.
        this.refuse([...batch, ...this.#waiting.splice(0)], reason)
      }
    }
    this.#isSending = false
  }

  #nextBatch(): Entry[] {
    let characters = 0
    const end = this.#waiting.findIndex(({ payload }, index) => {
      characters += payload.length
      return index > 0 && (index === mostInBatch.drafts || characters > mostInBatch.characters)
    })
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end)
  }

  /** Retries until the store has them: it knows those that were stored but not acknowledged. */
  async #append(batch: readonly Entry[]): Promise<void> {
    const endsAt = performance.now() + publishWithinMs
    let drafts = batch.map((entry) => ({ entry, draft: storeDraftOf(entry, null) }))
    while (drafts.length > 0) {
      if (this.isLost) throw new Error('its log was replaced')
      const known = { epoch: this.epoch, head: this.history.head }
      const numbers = await this.#store
        .append(
          drafts.map(({ draft }) => draft),
          known,
        )
        .catch(asError)
      this.wake()
      if (numbers instanceof Error) {
        if (performance.now() + retryMs > endsAt) throw numbers
        await pause(retryMs)
      } else if (numbers === null) throw new Error('its log was replaced')
      // The store has a message that the view has dropped.
      else
        drafts = drafts.flatMap(({ entry }, index) => {
          const seq = numbers[index] ?? 0
          const isErased = seq <= this.history.head && this.pending.get(entry.key) === entry
          return isErased ? [{ entry, draft: storeDraftOf(entry, seq) }] : []
        })
    }
  }

  protected override async leave(): Promise<void> {
    this.#isStopping = true
    clearInterval(this.#looking)
    this.wake()
    await this.#following
  }

  protected override async finish(): Promise<void> {
    await super.finish()
    await this.#store.close()
  }
}

function storeDraftOf({ draft, key, payload, acceptedAt }: Entry, erased: number | null): StoreDraft {
  return { key, channel: draft.channel, acceptedAt, text: payload, erased }
}

function isMarked(message: Message, { key, acceptedAt }: MessageMark): boolean {
  return keyOf(message) === key && message.acceptedAt === acceptedAt
}
