// The processes of one server to each other: what one posts, all others get.

import cluster, { type Worker } from 'node:cluster'

/** With other processes of the same server, each with listening sockets of its own on the same ports (SO_REUSEPORT). */
export interface PortSharing {
  /** It makes sure that no other program has the ports. */
  readonly isFirst: boolean
  /** Of all of them, so that TLS sessions resume at any. */
  readonly ticketKeys: Buffer
}

/** The processes of one server, to each of them: what one posts, all others get. */
export interface Siblings {
  /** Of this process: `log`, `worker-1` …; that of one that ended passes to the one that takes its place. */
  readonly name: string
  /** All, this one included. */
  readonly count: number
  /** Plain data. */
  readonly post: (note: object) => void
  readonly follow: (onNote: (note: unknown) => void) => void
  /** Null where `node:cluster` opens the ports, or where there are none. */
  readonly sharing: PortSharing | null
}

/** Between processes of a server, any number of times. */
export interface Noted {
  readonly type: 'note'
  readonly note: object
}

/** In a worker's environment: its number, that it waits to be told the ports, and the ticket keys. */
export const numberVariable = 'WORKER_NUMBER'
export const waitsVariable = 'WORKER_WAITS'
export const ticketKeysVariable = 'WORKER_TICKET_KEYS'

/** In the first process, which passes on what workers post. */
export function hostSiblings(count: number) {
  const followers = new Set<(note: unknown) => void>()
  function spread(note: object, from?: Worker): void {
    for (const worker of Object.values(cluster.workers ?? {}))
      if (worker && worker !== from && worker.isConnected())
        worker.send({ type: 'note', note } satisfies Noted, ignoreEnd)
  }
  return {
    name: 'log',
    count: count + 1,
    post: (note: object) => spread(note),
    follow: (onNote) => void followers.add(onNote),
    sharing: null,
    take(said: unknown, from: Worker): void {
      if (!isNoted(said)) return
      spread(said.note, from)
      for (const onNote of followers) onNote(said.note)
    },
  } satisfies Siblings & { take: (said: unknown, from: Worker) => void }
}

/** In a worker. */
export const workerName = () => `worker-${process.env[numberVariable]}`

/** In a worker. */
export function joinSiblings(count: number): Siblings {
  const { [waitsVariable]: waits, [ticketKeysVariable]: ticketKeys } = process.env
  return {
    sharing:
      ticketKeys === undefined
        ? null
        : { isFirst: waits === undefined, ticketKeys: Buffer.from(ticketKeys, 'hex') },
    name: workerName(),
    count: count + 1,
    post: (note) => void (process.connected && process.send?.({ type: 'note', note } satisfies Noted)),
    follow: (onNote) => void process.on('message', (said) => isNoted(said) && onNote(said.note)),
  }
}

export const isNoted = (said: unknown): said is Noted =>
  typeof said === 'object' && said !== null && 'type' in said && said.type === 'note'

/** A worker that has just ended takes nothing: its replacement asks anew. */
export const ignoreEnd = () => undefined
