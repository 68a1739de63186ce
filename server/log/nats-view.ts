// Loads a server's view of a NATS stream.

import { DeliverPolicy, type JetStreamClient, type JetStreamManager, type JsMsg } from '@nats-io/jetstream'
import type { ObjectStore } from '@nats-io/obj'
import type { Message } from '../../protocol/messages.ts'
import { keptAsText } from './kept-json.ts'
import type { LogParts, Memory } from './log.ts'
import { type Life, readKept, storeIn, subjectOf } from './nats-bucket.ts'
import { deliverWithinMs, type StoredDraft, undelivered } from './stream-log.ts'
import { View } from './view.ts'

interface ViewParts extends LogParts {
  readonly client: JetStreamClient
  readonly manager: JetStreamManager
  /** The stream's name. */
  readonly name: string
  readonly life: Life
  readonly bucket: ObjectStore
  /** See `memoryWithin`. */
  readonly memory?: Memory | undefined
}

/** A consumer that misses two of these heartbeats (ms) is checked; one that is gone ends. */
export const pulling = { expires: 5000, idle_heartbeat: 1000, abort_on_missing_resource: true } as const

/** Loads the content of the stream and the bucket. */
export async function loadView(parts: ViewParts): Promise<View> {
  const { client, manager, name, bucket, life } = parts
  const { state } = await manager.streams.info(name)
  const floor = state.messages > 0 ? state.first_seq - 1 : state.last_seq
  const stream = {
    ...storeIn(bucket, life),
    async purge(channel: string, before: number) {
      await manager.streams.purge(name, { filter: subjectOf(name, channel), seq: before })
    },
  }
  const loaded = new View({ ...parts, stream }, { floor, kept: await readKept(bucket, life, floor) })
  if (state.messages === 0) return loaded
  const consumer = await client.consumers.get(name, from(state.first_seq))
  const messages = await consumer.consume(pulling)
  const late = setInterval(() => {
    if (loaded.history.head === seen) messages.stop()
    seen = loaded.history.head
  }, deliverWithinMs)
  let seen = loaded.history.head
  try {
    for await (const received of messages) {
      loaded.take(messageIn(received))
      if (received.seq >= state.last_seq) return loaded
    }
  } finally {
    clearInterval(late)
  }
  throw new Error(undelivered)
}

export const from = (seq: number) => ({ deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: seq })

export function messageIn(received: JsMsg): Message {
  return keptAsText({ ...received.json<StoredDraft>(), seq: received.seq })
}
