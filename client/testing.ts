// A link over in-memory transports; the test plays the server.

import assert from 'node:assert/strict'
import type {
  AwarenessFrame,
  AwarenessReport,
  BeatReport,
  DownFrame,
  Message,
  Stored,
  Welcome,
} from '../protocol/messages.ts'
import { type Mode, modeNamed, modes, type TransportName, transportNames } from '../protocol/modes.ts'
import { createManualTime } from '../protocol/testing.ts'
import type { Locks } from './browser-services.ts'
import { documentPolicy } from './document-policy.ts'
import type { DraftDatabase, DraftRecord, UnstoredDraft } from './draft-database.ts'
import { DraftKeeper } from './draft-keeper.ts'
import { DraftStore } from './draft-store.ts'
import { Link, type LinkListener, type LinkOptions, type LinkState } from './link.ts'
import { LinkClock } from './link-clock.ts'
import { Outbox, type OutboxState } from './outbox.ts'
import type { Closing, Opening, OpenTransport, WebTransport } from './transports/transport.ts'

type Windows = BeatReport['windows']

/** The test plays the server. */
export type FakeStream = ReturnType<typeof openFake>['stream']

export const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

export function createFakeTransports(outlivesPage = false) {
  const streams: FakeStream[] = []

  function transport(name: TransportName): WebTransport {
    return {
      name,
      open(opening) {
        const { stream, open } = openFake(name, opening)
        streams.push(stream)
        return { ...open, outlivesPage }
      },
    }
  }

  const named = transportNames.map((name) => [name, transport(name)] as const)
  return { streams, transports: Object.fromEntries(named) as Record<TransportName, WebTransport> }
}

/** Unlike a real transport, it still emits frames after `close()`, as a network can. */
function openFake(transport: TransportName, { base, mode, query, polling, onFrame, onClose }: Opening) {
  const waiting: { readonly id: string; readonly answer: PromiseWithResolvers<Stored> }[] = []
  const sent: string[] = []
  const said: Windows[] = []
  const reports: AwarenessReport[] = []
  let clockQuestions = 0
  let isClosed = false
  let isGone = false
  const welcome: Welcome = {
    type: 'welcome',
    window: query.get('window') ?? '',
    cursor: query.get('cursor') ?? 'life1:0',
    recovered: query.has('cursor'),
    http: mode.http,
    heartbeatMs: 15_000,
    at: 0,
    stateBytes: 4096,
  }

  function takeOldest(id: string) {
    const index = waiting.findIndex((sending) => sending.id === id)
    return index < 0 ? undefined : waiting.splice(index, 1)[0]?.answer
  }

  const stream = {
    transport,
    base,
    mode,
    query,
    polling,
    asked: Object.fromEntries(query),
    cursor: query.get('cursor'),
    sent,
    /** Window counts, sent by themselves and with heartbeats. */
    said,
    reports,
    beats: () => said.length,
    clockQuestions: () => clockQuestions,
    isClosed: () => isClosed,
    /** Whether its window left for good. */
    isGone: () => isGone,
    welcome: (change: Partial<Welcome> = {}) => onFrame({ ...welcome, ...change }, 0),
    message: (seq: number, channel?: string) =>
      onFrame({ type: 'message', message: messageOf(seq, channel) }, 0),
    heartbeat: (newest = 0) => onFrame({ type: 'heartbeat', newest, at: 1 }, 0),
    frame: (frame: DownFrame, receivedAt = 0) => onFrame(frame, receivedAt),
    end: (change: Partial<Closing> = {}) =>
      onClose({ code: 'lost', sentence: 'Lost.', retryAfterMs: null, ...change }),
    /** Settles the oldest unanswered send of the draft; so does `fail`. */
    store(id: string, seq: number) {
      takeOldest(id)?.resolve({ type: 'stored', id, seq })
      return settled()
    },
    fail(id: string, error: Error) {
      takeOldest(id)?.reject(error)
      return settled()
    },
  }
  const open: OpenTransport = {
    send({ id }) {
      sent.push(id)
      const answer = Promise.withResolvers<Stored>()
      waiting.push({ id, answer })
      return answer.promise
    },
    beat: (beat) => void said.push(beat?.windows),
    askClock() {
      clockQuestions += 1
    },
    sendAwareness: (report) => void reports.push(report),
    close(isForGood = false) {
      isClosed = true
      isGone = isForGood
    },
  }
  return { stream, open }
}

export function messageOf(seq: number, channel = 'main'): Message {
  const body = { html: `${seq}` }
  return { id: `w9-${seq}`, channel, kind: 'edit', from: 'w9', at: 0, body, seq, acceptedAt: 0 }
}

export function mode(name: string): Mode {
  return modeNamed(name) ?? assert.fail(`there is no mode ${name}`)
}

type News = Pick<BroadcastChannel, 'postMessage' | 'onmessage' | 'close'>

/** Web Locks, a draft database and its news in memory; each window ends when told to. */
export function createBrowser() {
  const records = new Map<string, DraftRecord>()
  const databases: DraftDatabase[] = []
  const holders = new Map<string, string>()
  const waiting: { readonly name: string; readonly window: string; readonly take: () => void }[] = []
  let maxRecords = Number.POSITIVE_INFINITY

  const news = new Map<string, News>()

  function openNews(window: string): News {
    const own: News = {
      onmessage: null,
      postMessage(data: string) {
        for (const other of news.values())
          if (other !== own) other.onmessage?.call(null as never, { data } as MessageEvent)
      },
      close: () => void news.delete(window),
    }
    news.set(window, own)
    return own
  }

  const database: Omit<DraftDatabase, 'onGone'> = {
    key: async (proposed) => proposed,
    close: () => undefined,
    async change(added, removed) {
      const after = new Map(records)
      for (const id of removed) after.delete(id)
      for (const record of added) after.set(record.draft.id, structuredClone(record))
      if (after.size > maxRecords) throw new Error('QuotaExceededError')
      records.clear()
      for (const [id, record] of after) records.set(id, record)
    },
    read: async (channel) =>
      [...records.values()]
        .filter((record) => channel === undefined || record.channel === channel)
        .toSorted((one, other) => one.order - other.order),
  }

  function grant(): void {
    const index = waiting.findIndex(({ name }) => !holders.has(name))
    const [next] = index < 0 ? [] : waiting.splice(index, 1)
    if (next === undefined) return
    holders.set(next.name, next.window)
    next.take()
    grant()
  }

  /** Exclusive locks, released when their window has ended. */
  function locksOf(window: string): Locks {
    const request = async (name: string, ...given: readonly unknown[]) => {
      await new Promise<void>((take) => {
        waiting.push({ name, window, take })
        grant()
      })
      await (given.at(-1) as () => unknown)()
      holders.delete(name)
      grant()
    }
    return { request } as unknown as Locks
  }

  return {
    ids: () => [...records.keys()],
    orderOf: (id: string) => records.get(id)?.order,
    /** Sets the database's quota. */
    limit(most: number): void {
      maxRecords = most
    },
    /** As the user can, while windows are open. */
    deleteDatabase(): void {
      records.clear()
      for (const { onGone } of databases) onGone()
    },
    open(window: string, change: Partial<ConstructorParameters<typeof DraftStore>[0]> = {}) {
      const left: (readonly UnstoredDraft[])[] = []
      const own: DraftDatabase = { ...database, onGone: () => undefined }
      databases.push(own)
      const store = new DraftStore({
        database: own,
        locks: locksOf(window),
        window,
        predecessor: null,
        channel: 'main',
        mayTake: true,
        news: openNews(window),
        timers: { now: () => 0 },
        onLeft: (found) => void left.push(found),
        ...change,
      })
      return { store, left }
    },
    async close(window: string): Promise<void> {
      news.delete(window)
      for (const [index, asking] of [...waiting.entries()].toReversed())
        if (asking.window === window) waiting.splice(index, 1)
      for (const [name, holder] of holders) if (holder === window) holders.delete(name)
      grant()
      await settled()
    },
  }
}

/** Allows several drafts in flight, so that their order shows. */
const several: Mode = { ...mode('sse/2'), maxInFlight: 32 }

interface Special {
  readonly cursor: string
  /** See `OpenTransport`. */
  readonly outlivesPage: boolean
  /** Default: true. */
  readonly opens: boolean
  readonly LinkClass: typeof Link
  /** Null if drafts end with the window. */
  readonly store: ConstructorParameters<typeof DraftKeeper>[1]['store'] | null
}

type PolicyOptions = Parameters<typeof documentPolicy>[0]
type Circumstances = Partial<LinkOptions & LinkListener & PolicyOptions & Special>

export function openLink(change: Circumstances = {}) {
  const time = createManualTime()
  const startAt = time.now()
  const { streams, transports } = createFakeTransports(change.outlivesPage)
  const heard = {
    states: [] as string[],
    newest: null as LinkState | null,
    messages: [] as number[],
    newLogs: 0,
    missed: [] as string[],
    /** Messages sent when the page ended: an address, and ids. */
    last: [] as (readonly [base: string, ...ids: string[]])[],
    windows: [] as number[],
    awareness: [] as AwarenessFrame[],
    unstored: [] as number[],
    outbox: null as OutboxState | null,
    stored: [] as string[],
    refused: [] as string[],
    statesRefused: [] as string[],
    renamed: [] as string[],
  }
  const window = change.window ?? 'w1'
  const policy = documentPolicy({
    bounds: { messages: 1000, bytes: 1_000_000 },
    random: () => 1,
    ...change,
    window,
  })
  const options: LinkOptions = {
    transports,
    baseFor: (http) => `https://localhost:${http}`,
    polling: { intervalMs: 1000, holdMs: 20_000 },
    window,
    proof: [['key', 'k1']],
    channels: ['main', 'wind'],
    mode: several,
    modes,
    renewSession: () => Promise.resolve(),
    timers: time,
    random: () => 1,
    clock: LinkClock,
    platform: {
      send: () => Promise.reject(new Error('There is no server.')),
      fetch(address, { body }) {
        const ids = String(body).match(/(?<="id":")[^"]+/g) ?? []
        heard.last.push([address.replace(/\/messages.*/, ''), ...ids])
        return new Promise(() => undefined)
      },
    },
    ...change,
    outbox: (listener) => new Outbox({ window, timers: time }, policy, listener),
  }
  const listener: LinkListener = {
    onState(told) {
      const { status, mode, spokenHttp, reason, retryAt } = told
      const said = {
        open: `HTTP/${spokenHttp}`,
        opening: '',
        waiting: `${retryAt === null ? '–' : retryAt - startAt}: ${reason}`,
      }
      heard.newest = told
      heard.states.push(`${status} ${mode} ${said[status]}`.trim())
    },
    onMessage: ({ seq }) => void heard.messages.push(seq),
    onNewLog() {
      heard.newLogs += 1
    },
    onMissed: (from, to) => void heard.missed.push(`${from} to ${to}`),
    onPresence: ({ windows }) => void heard.windows.push(windows),
    onAwareness: (frame) => void heard.awareness.push(frame),
    onStateRefused(channel, { code, message }) {
      heard.statesRefused.push(`${channel} ${code} ${/\d+/.exec(message)?.[0]}`)
    },
    onOutbox(outbox) {
      heard.outbox = outbox
      heard.unstored.push(outbox.unstored)
    },
    onStored: ({ id }, seq) => void heard.stored.push(`${id} as ${seq}`),
    onRefused: ({ id }, sentence) => void heard.refused.push(`${id}: ${sentence}`),
    onRenamed: (id, draft) => void heard.renamed.push(`${id} to ${draft.id}`),
    ...change,
  }
  const { LinkClass = Link, opens = true } = change
  const link = new LinkClass(options, listener)
  const { store = null } = change
  const keeper = store && new DraftKeeper(link.outbox, { window, store, timers: time, savesOnClose: false })
  if (opens) link.open(change.cursor)
  const newest = (): FakeStream => streams.at(-1) ?? assert.fail('nothing was opened')
  const publish = (update = '') => link.publish('main', 'update', { update })
  return { link, keeper, time, streams, newest, heard, publish }
}
