// What outlives a stream of NATS, in a bucket: its epoch, and the messages that its bounds erase.

import { createHash } from 'node:crypto'
import type { ObjectInfo, ObjectStore } from '@nats-io/obj'
import type { Kind, Message } from '../wire/messages.ts'
import type { BaseStore, StoredBase } from './folding.ts'

/** Of a stream: where it lost messages, numbers are given anew. */
export interface Life {
  /** When the stream was made; another one has numbers of its own. */
  readonly created: string
  /** How often it has lost its newest messages, as far as a server knew. */
  readonly setBacks: number
  /** Eight letters and digits. */
  readonly epoch: string
}

const lifeName = 'life'

/** The one of a stream that was made at that time. */
export async function readLife(bucket: ObjectStore, created: string): Promise<Life> {
  const { metadata } = (await bucket.info(lifeName)) ?? {}
  if (metadata?.created !== created) return { created, setBacks: 0, epoch: epochOf(created) }
  return { created, setBacks: Number(metadata.setBacks), epoch: String(metadata.epoch) }
}

/** Begins the next life, unless another server did. Rejects if two servers do at once: the one that failed tries again. */
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

/**
 * Messages that outlive the stream's bounds, as objects of a bucket: bases, past bases, and the newest of the other kinds. They are
 * read at the start and written later, one after the other; a newer one of another server stays.
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

  async function put(name: string, message: Message): Promise<void> {
    const known = await bucket.info(name)
    if (known && !known.deleted) {
      const mark = markIn(known, life.created)
      if (mark > own || (mark === own && Number(known.metadata?.seq) >= message.seq)) return
    }
    const meta = { name, metadata: { seq: String(message.seq), stream: own } }
    const options = known ? { previousRevision: known.revision } : {}
    await bucket.putBlob(meta, Buffer.from(JSON.stringify(message)), options)
  }

  /** Rejects if one of those before it was not written; it is tried again with the next. */
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
    unwritten.set(name, message)
    written().catch(onFailure)
  }

  const under = (prefix: string) => [...messages].filter(([name]) => name.startsWith(prefix))
  const bases: Omit<BaseStore, 'erase'> = {
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
    bases,
    erase(channel: string, before: number): void {
      // The newest last: while it is there, the next start finds the channel and erases the rest.
      for (const role of ['past', 'base', 'newest'] as const)
        for (const [name, { seq }] of under(`${role}.${tokenOf(channel)}.`)) if (seq < before) set(name, null)
    },
    stored: (isCumulative: (kind: Kind) => boolean): StoredBase[] =>
      under('base.')
        .filter(([, { kind }]) => isCumulative(kind))
        .map(([, message]) => ({
          ...{ channel: message.channel, kind: message.kind, seq: message.seq },
          bytes: bytesOf(message),
        })),
    newest: (isPlain: (kind: Kind) => boolean): Message[] =>
      under('newest.')
        .map(([, message]) => message)
        .filter(({ kind }) => isPlain(kind))
        .sort((one, other) => one.seq - other.seq),
    /** The newest of its channel and kind. */
    keep(message: Message): void {
      const name = nameOf('newest', message.channel, message.kind)
      if (messages.get(name)?.seq !== message.seq) set(name, message)
    },
    written,
  }
}

/**
 * Those of this stream: another one has given their numbers anew. One of an earlier life may have more than the stream, under numbers
 * that it gave again: it counts as what was before the stream's first message, and what follows is joined to it anew.
 */
export async function readKept(bucket: ObjectStore, life: Life, floor: number): Promise<KeptMessage[]> {
  const found = (await bucket.list()).filter(
    (info) => info.name !== lifeName && markIn(info, life.created).startsWith(life.created),
  )
  const read = async (info: ObjectInfo) => {
    const bytes = await bucket.getBlob(info.name)
    if (!bytes) return []
    const message = JSON.parse(Buffer.from(bytes).toString()) as Message
    if (markIn(info, life.created) === markOf(life)) return [{ name: info.name, message }]
    const isPast = info.name.startsWith('past.')
    const seq = Math.min(message.seq, floor)
    return seq === 0 || (isPast && seq < message.seq)
      ? []
      : [{ name: info.name, message: { ...message, seq } }]
  }
  return (await Promise.all(found.map(read))).flat()
}

/** Later ones are greater. */
const markOf = ({ created, setBacks }: Life) =>
  setBacks === 0 ? created : `${created} ${String(setBacks).padStart(4, '0')}`

/** Of the life in which an object was written; servers of version 0.2 did not say. */
function markIn({ metadata, mtime }: ObjectInfo, created: string): string {
  return metadata?.stream ?? (Date.parse(mtime) < Date.parse(created) ? '' : created)
}

/** A channel may have a dot, which parts the tokens of a subject. */
const tokenOf = (channel: string) => Buffer.from(channel).toString('base64url')

export const subjectOf = (stream: string, channel: string) => `${stream}.${tokenOf(channel)}`

const nameOf = (role: 'base' | 'past' | 'newest', channel: string, kind: Kind) =>
  `${role}.${tokenOf(channel)}.${kind}.`

const pastName = (channel: string, kind: Kind, seq: number) => nameOf('past', channel, kind) + seq

export const bytesOf = ({ body }: Message) => Buffer.byteLength(JSON.stringify(body))
