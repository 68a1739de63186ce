// The bucket beside a NATS stream: its epoch, and messages that outlive its limits.

import { createHash } from 'node:crypto'
import type { ObjectInfo, ObjectStore } from '@nats-io/obj'
import type { Kind, Message } from '../../protocol/messages.ts'
import { KeptJson, keptAsText, messageText } from './kept-json.ts'
import { codeOf, codes, deliverWithinMs } from './nats-connection.ts'
import type { BaseStore } from './tables.ts'

/**
 * A period of a stream in which numbers are unique: after losing messages, it assigns their numbers
 * again.
 */
export interface Life {
  /** When the stream was created; a new stream starts its own numbering. */
  readonly created: string
  /** Number of times it has lost its newest messages, as far as the servers noticed. */
  readonly setBacks: number
  /** Eight letters and digits. */
  readonly epoch: string
}

const lifeName = 'life'

/** Reads the life of the stream with this creation time. */
export async function readLife(bucket: ObjectStore, created: string): Promise<Life> {
  const { metadata } = (await bucket.info(lifeName)) ?? {}
  if (metadata?.created !== created) return { created, setBacks: 0, epoch: epochOf(created) }
  return { created, setBacks: Number(metadata.setBacks), epoch: String(metadata.epoch) }
}

/**
 * Begins the next life, unless another server has. If two servers do so at once, one rejects and
 * must retry.
 */
export async function endLife(bucket: ObjectStore, { created, setBacks }: Life, now: number): Promise<void> {
  if ((await readLife(bucket, created)).setBacks > setBacks) return
  const known = await bucket.info(lifeName)
  const metadata = { created, setBacks: String(setBacks + 1), epoch: epochOf(`${created} ${now}`) }
  const options = known ? { previousRevision: known.revision } : {}
  await bucket.putBlob({ name: lifeName, metadata }, Buffer.from(JSON.stringify(metadata)), options)
}

function epochOf(words: string): string {
  const digits = BigInt(`0x${createHash('sha256').update(words).digest('hex')}`).toString(36)
  return digits.slice(0, 8)
}

export interface KeptMessage {
  readonly name: string
  readonly message: Message
}

interface KeptParts {
  readonly bucket: ObjectStore
  readonly life: Life
  readonly loaded: readonly KeptMessage[]
  readonly onFailure: (error: unknown) => void
}

/** Maximum number of attempts to write an object that other servers write at the same time. */
const maxAttempts = 10

/**
 * Messages that outlive the stream's limits, as objects of a bucket: bases, past bases, and the
 * newest of the other kinds. They are read at the start and written one after the other in the
 * background; newer ones of other servers stay.
 */
export function createKept({ bucket, life, loaded, onFailure }: KeptParts) {
  const own = markOf(life)
  const messages = new Map(loaded.map(({ name, message }) => [name, message]))
  const unwritten = new Map<string, Message | null>()
  let writing: Promise<void> | null = null

  async function writeAll(): Promise<void> {
    for (const [name, message] of unwritten) {
      if (message) await put(name, message)
      else await bucket.delete(name)
      if (unwritten.get(name) === message) unwritten.delete(name)
    }
  }

  /** Servers that drop the same messages write the same object: the second one checks again. */
  async function put(name: string, message: Message, attempts = maxAttempts): Promise<void> {
    try {
      await putOnce(name, message)
    } catch (error) {
      if (codeOf(error) !== codes.overtaken || attempts === 1) throw error
      await put(name, message, attempts - 1)
    }
  }

  async function putOnce(name: string, message: Message): Promise<void> {
    const known = await bucket.info(name)
    if (known && !known.deleted) {
      const mark = markIn(known, life.created)
      if (mark > own || (mark === own && Number(known.metadata?.seq) >= message.seq)) return
    }
    const meta = { name, metadata: { seq: String(message.seq), stream: own } }
    const options = known ? { previousRevision: known.revision } : {}
    await bucket.putBlob(meta, Buffer.from(messageText(message)), options)
  }

  /** Rejects if an earlier message could not be written; that one is retried with the next. */
  async function written(): Promise<void> {
    while (writing !== null || unwritten.size > 0) {
      writing ??= writeAll().finally(() => {
        writing = null
      })
      await writing
    }
  }

  function set(name: string, message: Message | null): void {
    if (message) messages.set(name, message)
    else messages.delete(name)
    // Written after those that it must not overtake.
    unwritten.delete(name)
    unwritten.set(name, message)
    written().catch(onFailure)
  }

  const under = (prefix: string) => [...messages].filter(([name]) => name.startsWith(prefix))
  const baseStore: BaseStore = {
    read: (channel, kind) => messages.get(nameOf('base', channel, kind)),
    write(base) {
      set(nameOf('base', base.channel, base.kind), base)
      return bytesOf(base)
    },
    past: (channel, kind) =>
      under(nameOf('past', channel, kind))
        .map(([, { seq }]) => seq)
        .sort((one, other) => one - other),
    readPast: (channel, kind, seq) => messages.get(pastName(channel, kind, seq)),
    keepPast: (base) => set(pastName(base.channel, base.kind, base.seq), base),
    forgetPast: (channel, kind, seq) => set(pastName(channel, kind, seq), null),
  }

  return {
    baseStore,
    erase(channel: string, before: number): void {
      // The newest is erased last: while it exists, the next start finds the channel and erases the rest.
      for (const role of ['floor', 'past', 'base', 'newest'] as const)
        for (const [name, { seq }] of under(`${role}.${tokenOf(channel)}.`)) if (seq < before) set(name, null)
    },
    /** The newest of each channel and cumulative kind. */
    bases: () => under('base.').map(([, message]) => message),
    newest: (): Message[] =>
      under('newest.')
        .map(([, message]) => message)
        .sort((one, other) => one.seq - other.seq),
    /** Keeps a message that is the newest of its channel and kind. */
    keep(message: Message): void {
      const name = nameOf('newest', message.channel, message.kind)
      if (messages.get(name)?.seq !== message.seq) set(name, message)
    },
    /** The newest number that each channel dropped, as far as known. */
    floors: () => under('floor.').map(([, message]) => message),
    keepFloor(channel: string, seq: number): void {
      const name = `floor.${tokenOf(channel)}.`
      if ((messages.get(name)?.seq ?? 0) < seq) set(name, floorAt(channel, seq))
    },
    written,
  }
}

/** The form of everything in the bucket. */
const floorAt = (channel: string, seq: number): Message<'erasure'> => ({
  id: '',
  channel,
  kind: 'erasure',
  from: '',
  at: 0,
  body: { head: 0 },
  seq,
  acceptedAt: 0,
})

/**
 * Reads only objects of this stream: another one has its own numbering. An object of an earlier
 * life may contain messages that the stream lost and whose numbers it assigned again: it is placed
 * before the stream's first message, so that everything after it is folded in again.
 */
export async function readKept(bucket: ObjectStore, life: Life, floor: number): Promise<KeptMessage[]> {
  const found = (await bucket.list()).filter(
    (info) => info.name !== lifeName && markIn(info, life.created).startsWith(life.created),
  )
  const read = async (info: ObjectInfo) => {
    const content = await contentOf(bucket, info.name)
    if (content === null) return []
    const message = keptAsText(JSON.parse(content) as Message)
    if (markIn(info, life.created) === markOf(life)) return [{ name: info.name, message }]
    const isPast = info.name.startsWith('past.')
    const seq = Math.min(message.seq, floor)
    return seq === 0 || (isPast && seq < message.seq)
      ? []
      : [{ name: info.name, message: { ...message, seq } }]
  }
  return (await Promise.all(found.map(read))).flat()
}

/**
 * Null if the object was deleted. Rejects when NATS stops delivering it: another server may have
 * replaced it meanwhile, and the library would wait for ever.
 */
async function contentOf(bucket: ObjectStore, name: string): Promise<string | null> {
  const found = await bucket.get(name)
  if (!found) return null
  const reader = found.data.getReader()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(new Error(`the object ${name} does not arrive`))
    void reader.cancel()
  }, deliverWithinMs)
  const chunks: Uint8Array[] = []
  const read = async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      chunks.push(part.value)
      timer.refresh()
    }
  }
  const isWhole = found.error.then((failure) => {
    if (failure) throw failure
  })
  try {
    await Promise.race([Promise.all([read(), isWhole]), late.promise])
    return Buffer.concat(chunks).toString()
  } finally {
    clearTimeout(timer)
  }
}

/** Later marks sort after earlier ones. */
const markOf = ({ created, setBacks }: Life) =>
  setBacks === 0 ? created : `${created} ${String(setBacks).padStart(4, '0')}`

/** The life in which an object was written; servers of version 0.2 did not record it. */
function markIn({ metadata, mtime }: ObjectInfo, created: string): string {
  return metadata?.stream ?? (Date.parse(mtime) < Date.parse(created) ? '' : created)
}

/** A channel may contain a dot, which separates the tokens of a subject. */
const tokenOf = (channel: string) => Buffer.from(channel).toString('base64url')

export const subjectOf = (stream: string, channel: string) => `${stream}.${tokenOf(channel)}`

const nameOf = (role: 'base' | 'past' | 'newest', channel: string, kind: Kind) =>
  `${role}.${tokenOf(channel)}.${kind}.`

const pastName = (channel: string, kind: Kind, seq: number) => nameOf('past', channel, kind) + seq

export const bytesOf = ({ body }: Message) =>
  body instanceof KeptJson ? body.size : Buffer.byteLength(JSON.stringify(body))
