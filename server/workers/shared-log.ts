// Shares one log among a machine's processes, over a stream with one JSON object per line.

import type { Duplex } from 'node:stream'
import { type Cursor, type Draft, isKind, type Kind, type Message } from '../../protocol/messages.ts'
import { Refusal, type RefusalCode } from '../../protocol/refusal.ts'
import { Followers } from '../log/history-log.ts'
import { type Bus, type Identified, type Log, logClosed, logUnavailable, type Outage } from '../log/log.ts'

/**
 * Arguments as plain data; a set of channels is a list. Both ends have the same version: shapes are
 * not checked.
 */
interface Calls {
  readonly append: [draft: Draft, acceptedAt: number]
  readonly find: [wanted: Identified]
  readonly read: [cursor: Cursor | null, channels: readonly string[]]
  readonly snapshot: [channels: readonly string[]]
  readonly readBefore: [channel: string, before: number, limit: number, kind?: Kind | undefined]
  readonly numberAt: [channel: string, at: number]
  readonly channels: [prefix: string, before: number, limit: number]
  readonly oldest: [channel: string, kind: Kind]
}

type Call = keyof Calls

type ToHost =
  | {
      readonly [Name in Call]: { readonly call: Name; readonly of: number; readonly with: Calls[Name] }
    }[Call]
  | { readonly note: object }
  | { readonly will: object }

interface Greeting {
  readonly heads: Readonly<Record<string, number>>
  /** See `OpenedLog`. */
  readonly maxBytes?: number | undefined
  readonly outage: Outage | null
}

type FromHost =
  | Greeting
  | { readonly message: Message; readonly cursor: string }
  | { readonly answerTo: number; readonly value: unknown }
  | { readonly answerTo: number; readonly error: SentError }
  | { readonly note: object }
  | { readonly outage: Outage | null }

/** Unread data of one process, 64 MiB, above which it is cut off. */
const maxUnreadBytes = 67_108_864

/** Notes received on `bus` come from the joined processes; those posted to it go to all of them. */
export function hostLog(log: Log, maxBytes?: number) {
  const links = new Map<Duplex, { will: object | null }>()
  const notes = new Set<(note: unknown) => void>()
  let outage: Outage | null = null
  const calls: { readonly [Name in Call]: (...given: Calls[Name]) => unknown } = {
    append: log.append,
    find: log.find,
    read: (cursor, channels) => log.read(cursor, new Set(channels)),
    snapshot: (channels) => log.snapshot(new Set(channels)),
    readBefore: log.readBefore,
    numberAt: log.numberAt,
    channels: log.channels,
    oldest: log.oldest,
  }
  log.follow((message, cursor, text) => {
    if (links.size === 0) return
    const line = text ? `{"message":${text},"cursor":"${cursor}"}\n` : lineOf({ message, cursor })
    for (const link of links.keys()) tell(link, line)
  })

  function tell(link: Duplex, line: string): void {
    if (!link.writable) return
    link.write(line)
    if (link.writableLength > maxUnreadBytes) link.destroy()
  }

  function tellAll(told: FromHost, except?: Duplex): void {
    if (links.size === 0) return
    const line = lineOf(told)
    for (const link of links.keys()) if (link !== except) tell(link, line)
  }

  function spread(note: object, from?: Duplex): void {
    tellAll({ note }, from)
    for (const take of notes) take(note)
  }

  async function answer(link: Duplex, asked: Extract<ToHost, { call: Call }>): Promise<void> {
    const answerTo = asked.of
    try {
      const call = calls[asked.call] as (...given: readonly unknown[]) => unknown
      tell(link, lineOf({ answerTo, value: await call(...asked.with) }))
    } catch (error) {
      tell(link, lineOf({ answerTo, error: sent(error) }))
    }
  }

  return {
    /** Serves the process at the other end of the stream. */
    attach(link: Duplex): void {
      const known = { will: null as object | null }
      links.set(link, known)
      tell(link, lineOf({ heads: Object.fromEntries(log.heads()), maxBytes, outage }))
      readLines(link, (asked: ToHost) => {
        if ('call' in asked) void answer(link, asked)
        else if ('note' in asked) spread(asked.note, link)
        else known.will = asked.will
      })
      link.once('end', () => link.end())
      link.once('close', () => {
        links.delete(link)
        if (known.will) spread(known.will)
      })
    },
    /** Reports the log's outage from now on. */
    tellOutage(now: Outage | null): void {
      outage = now
      tellAll({ outage })
    },
    bus: {
      post: (note) => tellAll({ note }),
      follow: (onNote) => void notes.add(onNote),
    } satisfies Bus,
  }
}

/**
 * Returns the log at the other end of the stream. Rejects if the stream ends before the host has
 * answered.
 */
export async function joinLog(link: Duplex, onFailure: (error: unknown) => void) {
  const heads = new Map<string, number>()
  const followers = new Followers(onFailure)
  const notes = new Set<(note: unknown) => void>()
  const waiting = new Map<number, PromiseWithResolvers<unknown>>()
  const greeted = Promise.withResolvers<Greeting>()
  let asked = 0
  let outage: Outage | null = null
  let isClosed = false
  let closing: Promise<void> | null = null

  /** Requests of one turn are sent in one write: a window that joins makes two. */
  function write(line: ToHost): void {
    if (!link.writable) return
    if (link.writableCorked === 0) {
      link.cork()
      process.nextTick(() => link.uncork())
    }
    link.write(lineOf(line))
  }

  function ask<Value>(call: Call, given: Calls[Call]): Promise<Value> {
    if (isClosed) return Promise.reject(logClosed())
    if (!link.writable) return Promise.reject(logUnavailable('the process with the log has ended'))
    asked += 1
    const answer = Promise.withResolvers<unknown>()
    waiting.set(asked, answer)
    write({ call, of: asked, with: given } as ToHost)
    return answer.promise as Promise<Value>
  }

  function take(told: FromHost): void {
    if ('message' in told) {
      const { channel, seq } = told.message
      if (isKind(told.message, 'erasure')) {
        if ((heads.get(channel) ?? 0) <= told.message.body.head) heads.delete(channel)
      } else heads.set(channel, seq)
      followers.tell(told.message, told.cursor)
    } else if ('answerTo' in told) settle(told)
    else if ('note' in told) for (const onNote of notes) onNote(told.note)
    else {
      outage = told.outage
      if (!('heads' in told)) return
      for (const [channel, seq] of Object.entries(told.heads)) heads.set(channel, seq)
      greeted.resolve(told)
    }
  }

  function settle(told: Extract<FromHost, { answerTo: number }>): void {
    const answer = waiting.get(told.answerTo)
    waiting.delete(told.answerTo)
    if ('error' in told) answer?.reject(received(told.error))
    else answer?.resolve(told.value)
  }

  async function finish(): Promise<void> {
    isClosed = true
    await Promise.allSettled(Array.from(waiting.values(), ({ promise }) => promise))
    link.end()
  }

  readLines(link, take)
  link.once('close', () => {
    const ended = logUnavailable('the process with the log has ended')
    greeted.reject(ended)
    for (const { reject } of waiting.values()) reject(ended)
    waiting.clear()
  })
  const { maxBytes } = await greeted.promise

  const log: Log = {
    append: (draft, acceptedAt) => ask('append', [draft, acceptedAt]),
    find: ({ id, from, channel }) => ask('find', [{ id, from, channel }]),
    read: (cursor, channels) => ask('read', [cursor, [...channels]]),
    snapshot: (channels) => ask('snapshot', [[...channels]]),
    readBefore: (...which) => ask('readBefore', which),
    numberAt: (channel, at) => ask('numberAt', [channel, at]),
    channels: (prefix, before, limit) => ask('channels', [prefix, before, limit]),
    oldest: (channel, kind) => ask('oldest', [channel, kind]),
    follow: followers.add,
    heads: () => heads,
    close() {
      closing ??= finish()
      return closing
    },
  }
  const bus: Bus = {
    post: (note) => write({ note }),
    follow: (onNote) => void notes.add(onNote),
    bequeath: (will) => write({ will }),
  }
  return { log, bus, outage: () => outage, ...(maxBytes !== undefined && { maxBytes }) }
}

const lineOf = (told: FromHost | ToHost) => `${JSON.stringify(told)}\n`

function readLines<Line>(link: Duplex, onLine: (line: Line) => void): void {
  let rest = ''
  // 'close' follows, and is handled there.
  link.on('error', () => undefined)
  link.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(JSON.parse(line) as Line)
  })
}

/** A refusal, or an unexpected error, which has no code. */
interface SentError {
  readonly code?: RefusalCode
  readonly id?: string | null
  readonly message: string
  readonly retryAfterMs?: number | null
}

function sent(error: unknown): SentError {
  if (!(error instanceof Refusal)) return { message: error instanceof Error ? error.message : String(error) }
  const { code, id, message, retryAfterMs } = error
  return { code, id, message, retryAfterMs }
}

function received({ code, id, message, retryAfterMs }: SentError): Error {
  return code ? new Refusal(code, message, id, retryAfterMs) : new Error(message)
}
