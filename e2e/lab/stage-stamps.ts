// Stamps of a message's stages in a server process: loaded into it by `--import`, queried over IPC.

import { subscribe } from 'node:diagnostics_channel'

/** By the server's clock, ms since the epoch; null if the server does not report it. */
export interface ServerStamps {
  /** The request's headers, or the frame, have arrived. */
  arrivedAt: number | null
  /** The log's commit begins; a relay begins to send. */
  committingAt: number | null
  storedAt: number | null
  /** The bytes for all streams were given to Node; waiting polls are woken. */
  writtenAt: number | null
}

export type StampsById = Readonly<Record<string, ServerStamps>>

/** Older messages are dropped. */
const maxMessages = 10_000

const now = () => performance.timeOrigin + performance.now()

/** Subscribes to the server's diagnostics channels. */
function recordStages() {
  const arrivals = new WeakMap<object, number>()
  const stamps = new Map<string, ServerStamps>()

  subscribe('crosswind:arrived', (source) => void arrivals.set(source as object, now()))
  subscribe('crosswind:admitted', (given) => {
    const { id, source } = given as { readonly id: string; readonly source: object }
    const [oldest] = stamps.size < maxMessages ? [] : stamps.keys()
    if (oldest !== undefined) stamps.delete(oldest)
    const arrivedAt = arrivals.get(source) ?? null
    stamps.set(id, { arrivedAt, committingAt: null, storedAt: null, writtenAt: null })
  })
  for (const [channel, name] of [
    ['crosswind:committing', 'committingAt'],
    ['crosswind:stored', 'storedAt'],
    ['crosswind:told', 'writtenAt'],
  ] as const) {
    subscribe(channel, (group) => {
      const at = now()
      for (const { draft } of group as readonly { readonly draft: { readonly id: string } }[]) {
        const known = stamps.get(draft.id)
        if (known) known[name] = at
      }
    })
  }
  return (): StampsById => {
    const taken = Object.fromEntries(stamps)
    stamps.clear()
    return taken
  }
}

// Only in a process that a lab has started with `--import` of this file.
if (process.send !== undefined && process.execArgv.includes(import.meta.url)) {
  const take = recordStages()
  process.on('message', (message) => {
    if (message === 'take stages') process.send?.({ type: 'stages', stamps: take() })
  })
}
