// The bucket beside a NATS stream: its epoch, and messages that outlive its limits.

import { createHash } from 'node:crypto'
import type { ObjectInfo, ObjectStore } from '@nats-io/obj'
import type { Message } from '../../protocol/messages.ts'
import { type KeptMessage, type KeptStore, tokenOf } from './kept.ts'
import { keptAsText, messageText } from './kept-json.ts'
import { codeOf, codes } from './nats-connection.ts'
import { deliverWithinMs } from './stream-log.ts'

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

/** Maximum number of attempts to write an object that other servers write at the same time. */
const maxAttempts = 10

/** Stores kept messages of this life as objects of the bucket. */
export function storeIn(bucket: ObjectStore, life: Life): KeptStore {
  const own = markOf(life)

  /** Servers that drop the same messages write the same object: the second one checks again. */
  async function write(name: string, message: Message, attempts = maxAttempts): Promise<void> {
    try {
      await writeOnce(name, message)
    } catch (error) {
      if (codeOf(error) !== codes.overtaken || attempts === 1) throw error
      await write(name, message, attempts - 1)
    }
  }

  async function writeOnce(name: string, message: Message): Promise<void> {
    const known = await bucket.info(name)
    if (known && !known.deleted) {
      const mark = markIn(known, life.created)
      if (mark > own || (mark === own && Number(known.metadata?.seq) >= message.seq)) return
    }
    const meta = { name, metadata: { seq: String(message.seq), stream: own } }
    const options = known ? { previousRevision: known.revision } : {}
    await bucket.putBlob(meta, Buffer.from(messageText(message)), options)
  }

  return {
    write: (name, message) => write(name, message),
    async erase(name) {
      await bucket.delete(name)
    },
  }
}

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

export const subjectOf = (stream: string, channel: string) => `${stream}.${tokenOf(channel)}`
