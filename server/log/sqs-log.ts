// The log behind an Amazon SQS queue, which each draft passes before the server's log stores it.

import { setTimeout as pause } from 'node:timers/promises'
import {
  type BatchResultErrorEntry,
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SetQueueAttributesCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
import type { Draft } from '../../protocol/messages.ts'
import { idTaken } from '../../protocol/refusal.ts'
import { type Clock, type Random, retryPauseMs } from '../../protocol/time.ts'
import { draftText, keptAsText } from './kept-json.ts'
import { isRepeat, keyOf, type Log, logClosed, logUnavailable, type OnFailure, type Outage } from './log.ts'

export interface SqsSettings {
  /** A server with SQS's API; null means AWS in the region. */
  readonly endpoint: string | null
  readonly region: string
  /** Created if missing; the dead-letter queue has the suffix "-dead". */
  readonly queue: string
  /** A message that was received but not deleted arrives again after this time. */
  readonly visibilitySeconds: number
  /** A message that was received this often without being deleted becomes a dead letter. */
  readonly maxReceives: number
}

interface SqsLogParts {
  /** Stores, numbers and delivers messages from the queue; closed together with it. */
  readonly log: Log
  readonly now: Clock
  readonly random: Random
  readonly onFailure: OnFailure
}

/**
 * Concurrent long receives: two, so that one waits while the other's messages arrive; more under
 * load.
 */
const receivers = { least: 2, most: 8 }
const receivePauses = { firstMs: 100, longestMs: 2000 }
/** Extra time for a message to arrive again after its visibility time-out. */
const graceMs = 5000
const watchMs = 250

/** A draft in progress, until the log behind the queue has answered. */
interface Entry extends PromiseWithResolvers<number> {
  readonly draft: Draft
  readonly key: string
  /** As JSON, with `acceptedAt`. */
  readonly text: string
}

/** The drafts of one sender, in order. */
interface Line {
  /** In the queue, as one message. */
  sent: readonly Entry[]
  /** When it was sent; null until the queue has it. */
  sentAt: number | null
  /** Queued for the next message. */
  waiting: Entry[]
}

/**
 * A log whose appends go through the queue. Each message of the queue is a JSON array with drafts of one sender, each with `acceptedAt`.
 *
 * A standard queue does not preserve order, and a message that its receiver lost arrives much later
 * than the next one. So a sender has only one message in the queue at a time; what it appends
 * meanwhile goes together in the next. Holding early messages back at the receiver would save a
 * waiting sender one round trip, but a crash would leave messages in the queue that arrive out of
 * order.
 */
export class SqsLog implements Log {
  readonly #settings: SqsSettings
  readonly #parts: SqsLogParts
  readonly #queue: Queue
  readonly #pending = new Map<string, Entry>()
  readonly #lines = new Map<string, Line>()
  readonly #stopping = new AbortController()
  readonly #receiving = new Set<Promise<void>>()
  readonly #comesWithinMs: number
  readonly #watching: Promise<void>
  /** Time at which a receive last returned as many messages as possible. */
  #fullAt = Number.NEGATIVE_INFINITY
  #outage: Outage | null = null
  #isClosed = false
  #closing: Promise<void> | null = null
  #restoring: Promise<void> | null = null

  /** Rejects with a sentence if the queue cannot be used. */
  static async open(settings: SqsSettings, parts: SqsLogParts): Promise<SqsLog> {
    return new SqsLog(settings, parts, await openQueue(settings, parts.onFailure))
  }

  private constructor(settings: SqsSettings, parts: SqsLogParts, queue: Queue) {
    this.#settings = settings
    this.#parts = parts
    this.#queue = queue
    this.#comesWithinMs = settings.visibilitySeconds * 1000 + graceMs
    for (let count = 0; count < receivers.least; count += 1) this.#receive()
    this.#watching = this.#watch()
  }

  readonly append = async (given: Draft, acceptedAt: number): Promise<number> => {
    if (this.#isClosed) throw logClosed()
    const draft = keptAsText(given)
    const key = keyOf(draft)
    const unanswered = this.#pending.get(key)
    if (unanswered && !isRepeat(draft, unanswered.draft)) throw idTaken(draft)
    return unanswered?.promise ?? this.#enter(draft, acceptedAt, key)
  }

  readonly find: Log['find'] = async (wanted) => {
    await this.#pending.get(keyOf(wanted))?.promise.catch(() => undefined)
    return this.#parts.log.find(wanted)
  }

  readonly read: Log['read'] = (cursor, channels) => this.#parts.log.read(cursor, channels)

  readonly snapshot: Log['snapshot'] = (channels) => this.#parts.log.snapshot(channels)

  readonly readBefore: Log['readBefore'] = (...which) => this.#parts.log.readBefore(...which)

  readonly numberAt: Log['numberAt'] = (channel, at) => this.#parts.log.numberAt(channel, at)

  readonly channels: Log['channels'] = (...which) => this.#parts.log.channels(...which)

  readonly oldest: Log['oldest'] = (channel, kind) => this.#parts.log.oldest(channel, kind)

  readonly follow: Log['follow'] = (onMessage) => this.#parts.log.follow(onMessage)

  readonly heads: Log['heads'] = () => this.#parts.log.heads()

  readonly close: Log['close'] = () => {
    this.#closing ??= this.#finish()
    return this.#closing
  }

  /** See `OpenedLog`. */
  get maxBytes(): number {
    return this.#queue.maxBytes - envelopeBytes
  }

  readonly outage = (): Outage | null => this.#outage

  /** See `LogFigures`. */
  queued() {
    return this.#queue.counts()
  }

  #fail(error: unknown): void {
    const reason = `the queue ${this.#settings.queue} fails: ${error instanceof Error ? error.message : error}`
    this.#outage = { reason, since: this.#outage?.since ?? this.#parts.now(), isCutOff: false }
  }

  #enter(draft: Draft, acceptedAt: number, key: string): Promise<number> {
    const text = draftText(draft, acceptedAt).replaceAll(/[\ufffe\uffff]/g, escaped)
    const entry = { ...Promise.withResolvers<number>(), draft, key, text }
    this.#pending.set(key, entry)
    const line = this.#lines.get(draft.from)
    if (line) line.waiting.push(entry)
    else {
      const begun = { sent: [], sentAt: null, waiting: [entry] }
      this.#lines.set(draft.from, begun)
      // Sends together the drafts that the sender appends at once.
      queueMicrotask(() => void this.#sendNext(draft.from, begun))
    }
    return entry.promise
  }

  async #sendNext(sender: string, line: Line): Promise<void> {
    const count = countWithin(line.waiting, this.#queue.maxBytes)
    const sent = line.waiting.splice(0, count)
    const at = this.#parts.now()
    line.sent = sent
    line.sentAt = null
    try {
      await this.#queue.send(`[${sent.map(({ text }) => text).join(',')}]`)
      this.#outage = null
      // It may have been received already.
      if (line.sent === sent) line.sentAt = at
      if (this.#receiving.size * maxInBatch < this.#lines.size) this.#receive()
    } catch (cause) {
      this.#fail(cause)
      if (cause instanceof QueueDoesNotExist) await this.#restore(cause)
      if (line.sent === sent) this.#refuse(sender, line, cause)
    }
  }

  /**
   * Refuses all drafts of the line: the sender repeats them, in order. A late copy is recognised as
   * a repeat.
   */
  #refuse(sender: string, { sent, waiting }: Line, cause: unknown): void {
    this.#lines.delete(sender)
    for (const { key, reject } of [...sent, ...waiting]) {
      this.#pending.delete(key)
      reject(logUnavailable(cause))
    }
  }

  /**
   * A message that cannot be read or stored, and whose sender cannot be told, stays in the queue, to
   * arrive again and become a dead letter.
   */
  async #handleReceived({ body, handle }: Received): Promise<void> {
    const drafts = readDrafts(body)
    if (!drafts) return
    const ends = await Promise.allSettled(
      drafts.map(({ acceptedAt, ...draft }) => this.#parts.log.append(draft, acceptedAt)),
    )
    let isDone = true
    for (const [index, draft] of drafts.entries()) {
      const end = ends[index] as PromiseSettledResult<number>
      const entry = this.#pending.get(keyOf(draft))
      if (entry && isRepeat(draft, entry.draft)) this.#settle(entry, end)
      else if (end.status === 'rejected') isDone = false
    }
    if (isDone) this.#queue.remove(handle)
  }

  #settle(entry: Entry, end: PromiseSettledResult<number>): void {
    const { key, draft, resolve, reject } = entry
    this.#pending.delete(key)
    if (end.status === 'fulfilled') resolve(end.value)
    else reject(end.reason)
    const line = this.#lines.get(draft.from)
    if (!line) return
    const others = (one: Entry) => one !== entry
    // A copy of an earlier attempt may have arrived before the draft was sent again.
    line.waiting = line.waiting.filter(others)
    if (!line.sent.includes(entry)) return
    line.sent = line.sent.filter(others)
    if (line.sent.length > 0) return
    if (line.waiting.length > 0) void this.#sendNext(draft.from, line)
    else this.#lines.delete(draft.from)
  }

  #receive(): void {
    if (this.#receiving.size >= receivers.most) return
    const ended: Promise<void> = this.#receiveWhileBusy().finally(() => this.#receiving.delete(ended))
    this.#receiving.add(ended)
  }

  async #receiveWhileBusy(): Promise<void> {
    let failures = 0
    while (!this.#stopping.signal.aborted) {
      try {
        const received = await this.#queue.receive(this.#stopping.signal)
        this.#outage = null
        failures = 0
        if (received.length === maxInBatch) {
          this.#fullAt = this.#parts.now()
          this.#receive()
        } else if (received.length === 0 && this.#receiving.size > receivers.least) return
        await Promise.all(received.map((one) => this.#handleReceived(one)))
      } catch (error) {
        if (this.#stopping.signal.aborted) return
        this.#fail(error)
        this.#parts.onFailure(error)
        if (error instanceof QueueDoesNotExist) await this.#restore(error)
        await pause(retryPauseMs(failures, receivePauses, this.#parts.random), undefined, {
          signal: this.#stopping.signal,
        }).catch(() => undefined)
        failures += 1
      }
    }
  }

  /** Messages of a deleted queue are lost: their senders repeat them. */
  async #restore(cause: unknown): Promise<void> {
    this.#restoring ??= this.#queue
      .restore()
      .catch(this.#parts.onFailure)
      .finally(() => {
        this.#restoring = null
        for (const [sender, line] of [...this.#lines])
          if (line.sentAt !== null) this.#refuse(sender, line, cause)
      })
    await this.#restoring
  }

  /** Fails a message that misses its deadline, unless the queue is backlogged. */
  async #watch(): Promise<void> {
    const { signal } = this.#stopping
    while (await pause(watchMs, true, { signal }).catch(() => false)) {
      const before = this.#parts.now() - this.#comesWithinMs
      if (this.#fullAt > before) continue
      const cause = new Error(
        `A message did not arrive through the queue ${this.#settings.queue} within ${this.#comesWithinMs} ms.`,
      )
      for (const [sender, line] of [...this.#lines])
        if (line.sentAt !== null && line.sentAt < before) this.#refuse(sender, line, cause)
    }
  }

  async #finish(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(Array.from(this.#pending.values(), ({ promise }) => promise))
    this.#stopping.abort()
    await Promise.all([...this.#receiving, this.#watching])
    await this.#queue.close()
    await this.#parts.log.close()
  }
}

/** Room for the queue's additions to a draft's JSON: `acceptedAt` and the array. */
const envelopeBytes = 1024

/** SQS accepts the characters of XML 1.0: of the others, JSON leaves only these unescaped. */
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16)}`

/** Returns at least one. */
function countWithin(entries: readonly Entry[], maxBytes: number): number {
  let bytes = 2
  for (const [index, { text }] of entries.entries()) {
    bytes += Buffer.byteLength(text) + 1
    if (bytes > maxBytes && index > 0) return index
  }
  return entries.length
}

type SentDraft = Draft & { readonly acceptedAt: number }

/** Null for anything that no server has written. */
function readDrafts(body: string): readonly SentDraft[] | null {
  try {
    const read: unknown = JSON.parse(body)
    return Array.isArray(read) && read.length > 0 && read.every(isSentDraft) ? read : null
  } catch {
    return null
  }
}

function isSentDraft(read: unknown): read is SentDraft {
  if (typeof read !== 'object' || read === null) return false
  const { id, channel, kind, from, at, acceptedAt, body } = read as Readonly<Record<string, unknown>>
  return (
    [id, channel, kind, from].every((name) => typeof name === 'string' && /^\S+$/.test(name)) &&
    [at, acceptedAt].every((ms) => typeof ms === 'number') &&
    typeof body === 'object' &&
    body !== null
  )
}

interface Received {
  readonly body: string
  readonly handle: string
}

/** SQS accepts and returns up to this many in one request. */
const maxInBatch = 10
const receiveSeconds = 20
const deadDays = 14
/** Deadline for an answer, beyond the time that a receive waits. */
const answerWithinMs = 5000
/** See `LogFigures`. */
const countsWithinMs = 300
/** For a service that does not state it; AWS states more. */
const usualMostBytes = 262_144

/** The queue and its dead-letter queue, both created if missing. */
type Queue = Awaited<ReturnType<typeof openQueue>>

async function openQueue(settings: SqsSettings, onFailure: OnFailure) {
  const { endpoint, region, queue: name, visibilitySeconds, maxReceives } = settings
  const client = new SQSClient({
    region,
    // Behind a port of another machine or a container, the address in a queue's URL may differ from
    // the endpoint.
    ...(endpoint !== null && { endpoint, useQueueUrlAsEndpoint: false }),
    requestHandler: { connectionTimeout: answerWithinMs },
  })
  const soon = () => ({ abortSignal: AbortSignal.timeout(answerWithinMs) })

  async function openOne(QueueName: string, wanted: Readonly<Record<string, string>>) {
    const { QueueUrl } = await client.send(new GetQueueUrlCommand({ QueueName }), soon()).catch((error) => {
      if (!(error instanceof QueueDoesNotExist)) throw error
      return client.send(new CreateQueueCommand({ QueueName, Attributes: wanted }), soon())
    })
    const read = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] })
    const { Attributes } = await client.send(read, soon())
    const has: Readonly<Record<string, string | undefined>> = Attributes ?? {}
    // Avoids asking for a permission that it does not need.
    const other = Object.entries(wanted).filter(([attribute, value]) => !isSameValue(has[attribute], value))
    if (other.length > 0)
      await client.send(
        new SetQueueAttributesCommand({ QueueUrl, Attributes: Object.fromEntries(other) }),
        soon(),
      )
    return { QueueUrl, has }
  }

  async function openBoth() {
    const dead = await openOne(`${name}-dead`, { MessageRetentionPeriod: String(deadDays * 86_400) })
    const opened = await openOne(name, {
      VisibilityTimeout: String(visibilitySeconds),
      ReceiveMessageWaitTimeSeconds: String(receiveSeconds),
      RedrivePolicy: JSON.stringify({
        deadLetterTargetArn: dead.has.QueueArn,
        maxReceiveCount: maxReceives,
      }),
    })
    return { ...opened, deadUrl: dead.QueueUrl }
  }

  /** Undefined for a queue that does not answer in time. */
  async function countsOf(QueueUrl: string | undefined) {
    const read = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] })
    const abortSignal = AbortSignal.timeout(countsWithinMs)
    const { Attributes } = await client.send(read, { abortSignal }).catch(() => ({ Attributes: undefined }))
    return (
      Attributes && {
        waiting: Number(Attributes.ApproximateNumberOfMessages),
        received: Number(Attributes.ApproximateNumberOfMessagesNotVisible),
      }
    )
  }

  let { QueueUrl, deadUrl, has } = await openBoth().catch((cause) => {
    client.destroy()
    throw new Error(explain(cause, settings), { cause })
  })
  const maxBytes = Number(has.MaximumMessageSize ?? usualMostBytes)
  const sends = new Batches(maxBytes, (bodies) => {
    const Entries = bodies.map((MessageBody, index) => ({ Id: String(index), MessageBody }))
    return client.send(new SendMessageBatchCommand({ QueueUrl, Entries }), soon())
  })
  // Handles are no payload, and are not counted.
  const removals = new Batches(Number.POSITIVE_INFINITY, (handles) => {
    const Entries = handles.map((ReceiptHandle, index) => ({ Id: String(index), ReceiptHandle }))
    return client.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }), soon())
  })

  return {
    maxBytes,
    /** Resolves when the queue has it. */
    send: (body: string) => sends.add(body),
    /** Resolves as soon as there are messages, or to an empty list after a while. */
    async receive(stopping: AbortSignal): Promise<Received[]> {
      const abortSignal = AbortSignal.any([
        stopping,
        AbortSignal.timeout(receiveSeconds * 1000 + answerWithinMs),
      ])
      const { Messages = [] } = await client.send(
        new ReceiveMessageCommand({
          QueueUrl,
          MaxNumberOfMessages: maxInBatch,
          WaitTimeSeconds: receiveSeconds,
        }),
        { abortSignal },
      )
      return Messages.map(({ Body = '', ReceiptHandle = '' }) => ({ body: Body, handle: ReceiptHandle }))
    },
    /** Deletes soon. A message that stays arrives again, and is recognised. */
    remove: (handle: string) => void removals.add(handle).catch(onFailure),
    /** Call after the queue was deleted. */
    async restore(): Promise<void> {
      ;({ QueueUrl, deadUrl } = await openBoth())
    },
    async counts() {
      const [own, dead] = await Promise.all([countsOf(QueueUrl), countsOf(deadUrl)])
      return { ...own, ...(dead && { dead: dead.waiting + dead.received }) }
    },
    async close(): Promise<void> {
      await removals.whenDone()
      client.destroy()
    },
  }
}

/** Compares an attribute; a policy is JSON, whose spelling differs between services. */
function isSameValue(has: string | undefined, wanted: string): boolean {
  if (has === undefined || !wanted.startsWith('{')) return has === wanted
  const known = JSON.parse(has) as Readonly<Record<string, unknown>>
  return Object.entries(JSON.parse(wanted)).every(([key, value]) => String(known[key]) === String(value))
}

/** Failed entries are identified by their index as `Id`. */
type SendBatch = (
  entries: readonly string[],
) => Promise<{ readonly Failed?: BatchResultErrorEntry[] | undefined }>

const maxRequests = 8

/**
 * Gathers entries during one turn of the event loop, or for as long as enough requests are in
 * progress.
 */
class Batches {
  readonly #maxBytes: number
  readonly #send: SendBatch
  #waiting: (PromiseWithResolvers<void> & { readonly entry: string })[] = []
  readonly #requests = new Set<Promise<void>>()
  #isPlanned = false

  /** `maxBytes` limits the entries of one request. */
  constructor(maxBytes: number, send: SendBatch) {
    this.#maxBytes = maxBytes
    this.#send = send
  }

  add(entry: string): Promise<void> {
    const added = { ...Promise.withResolvers<void>(), entry }
    this.#waiting.push(added)
    if (!this.#isPlanned) {
      this.#isPlanned = true
      setImmediate(() => {
        this.#isPlanned = false
        this.#fill()
      })
    }
    return added.promise
  }

  async whenDone(): Promise<void> {
    while (this.#waiting.length > 0 || this.#requests.size > 0) {
      this.#fill()
      await Promise.race(this.#requests)
    }
  }

  #fill(): void {
    while (this.#waiting.length > 0 && this.#requests.size < maxRequests) {
      const request: Promise<void> = this.#request().finally(() => {
        this.#requests.delete(request)
        this.#fill()
      })
      this.#requests.add(request)
    }
  }

  async #request(): Promise<void> {
    let count = 0
    let bytes = 0
    for (const { entry } of this.#waiting.slice(0, maxInBatch)) {
      bytes += Buffer.byteLength(entry)
      if (count > 0 && bytes > this.#maxBytes) break
      count += 1
    }
    const batch = this.#waiting.splice(0, count)
    try {
      const { Failed = [] } = await this.#send(batch.map(({ entry }) => entry))
      for (const { Id, Code, Message } of Failed)
        batch[Number(Id)]?.reject(new Error(`SQS refused an entry: ${Message ?? Code}.`))
      for (const { resolve } of batch) resolve()
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}

interface SdkError extends Error {
  readonly code?: string
  /** No status: there was no answer. */
  readonly $metadata?: { readonly httpStatusCode?: number }
}

/** A sentence about the problem and one about its remedy. */
function explain(cause: unknown, { endpoint, region, queue }: SqsSettings): string {
  const { name, message, code, $metadata } = cause as SdkError
  const where = endpoint ?? `AWS in ${region}`
  const why = (message || code || name).replace(/\.$/, '')
  if (name === 'CredentialsProviderError')
    return `There are no credentials for SQS at ${where}: ${why}. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; a local server accepts any.`
  const status = $metadata?.httpStatusCode
  if (status === undefined)
    return `No SQS server answers at ${where} (sqs.endpoint): ${why}. Start one, or name another.`
  if (status === 401 || status === 403 || /AccessDenied|Signature|InvalidClientTokenId/.test(name))
    return `SQS at ${where} denies these credentials access to the queue ${queue} (sqs.queue): ${why}. Allow them to create, read and write it and ${queue}-dead, or name another.`
  return `The queue ${queue} (sqs.queue) of SQS at ${where} cannot be used: ${name}: ${why}.`
}
