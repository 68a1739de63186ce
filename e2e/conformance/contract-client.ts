// Client of the contract suites: frames in order, and the answer to each draft.

import { EventEmitter, once } from 'node:events'
import type { TestContext } from 'node:test'
import { Doc, encodeStateAsUpdate } from 'yjs'
import { type Closing, RefusedError } from '../../client/engine.ts'
import type { DownFrame, Draft, HttpVersion, Mode, Refused, Stored } from '../../client/wire.ts'
import { type NodeOpening, type NodeTransport, nameOf, newKey, openTransport } from '../clients/client.ts'
import { connectHttp, type HttpClient } from '../clients/http-client.ts'

export interface ContractClient extends Omit<NodeTransport, 'send'> {
  /** Drops earlier frames; rejects if the stream ends first. */
  readonly next: <Type extends DownFrame['type']>(type: Type) => Promise<Extract<DownFrame, { type: Type }>>
  readonly waiting: () => readonly DownFrame[]
  /** Removes and returns the waiting frames. */
  readonly take: () => DownFrame[]
  /** Resolves to refusals too; accepts invalid drafts. */
  readonly send: (draft: unknown) => Promise<Stored | Refused>
  /** Resolves to the reason if the stream ends without `close`. */
  readonly ended: Promise<Closing>
}

/** Longest title of the page's documents, in UTF-16 units. */
const maxTitleLength = 80

/**
 * A text as a message: on an application's server JSON, on the page's a title or, if it is longer, an
 * update of about as many bytes.
 */
export function contentOf(isApplication: boolean, text: string) {
  if (isApplication) return { kind: 'json', body: { data: text } } as const
  if (text.length <= maxTitleLength) return { kind: 'title', body: { title: text } } as const
  return { kind: 'update', body: { update: updateWith(text) } } as const
}

/** The same one for the same text: sent again, it adds nothing to the document. */
function updateWith(text: string): string {
  const doc = new Doc()
  doc.clientID = text.length
  // In base64, three bytes are four.
  doc.getText('text').insert(0, text.slice(0, (text.length * 3) / 4))
  return Buffer.from(encodeStateAsUpdate(doc)).toString('base64')
}

/** How the clients of one mode reach a server. */
export interface Reached {
  readonly origin: string
  /** Connections of a new client. */
  readonly connect: () => HttpClient
}

interface Reachable {
  readonly origin: Readonly<Record<HttpVersion, string>>
  /** Trusted certificate, PEM; null trusts any. */
  readonly ca: string | null
  /** Session cookie, if required. */
  readonly cookie?: string | undefined
}

/** At the mode's own listener, without a front. */
export function reachDirectly({ origin, ca, cookie }: Reachable, { http }: Mode): Reached {
  return { origin: origin[http], connect: () => connectHttp(http, origin[http], ca, cookie) }
}

const usualPolling = { intervalMs: 20, holdMs: 300 }

interface ClientOpening extends Omit<NodeOpening, 'polling' | 'onFrame' | 'onClose'> {
  readonly polling?: NodeOpening['polling']
}

/** `query` needs `window` and `channels`; `key`, `cursor` and `opening` are optional. */
export function openClient({ polling = usualPolling, ...opening }: ClientOpening): ContractClient {
  const changes = new EventEmitter()
  const frames: DownFrame[] = []
  const ended = Promise.withResolvers<Closing>()
  let ending: Closing | null = null
  const transport = openTransport({
    ...opening,
    polling,
    onFrame(frame) {
      // Answers to `send`.
      if (frame.type === 'stored' || frame.type === 'refused') return
      frames.push(frame)
      changes.emit('change')
    },
    onClose(closing) {
      ending = closing
      ended.resolve(closing)
      changes.emit('change')
    },
  })
  return {
    ...transport,
    async next(type) {
      for (;;) {
        const frame = frames.shift()
        if (frame?.type === type) return frame as Extract<DownFrame, { type: typeof type }>
        if (frame) continue
        if (ending) throw new Error(`No ${type} arrived: the stream ended: ${ending.sentence}`)
        await once(changes, 'change')
      }
    },
    waiting: () => frames,
    take: () => frames.splice(0),
    ended: ended.promise,
    async send(draft) {
      try {
        return await transport.send(draft as Draft)
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error
        return { type: 'refused', id: null, code: error.code, message: error.message }
      }
    },
  }
}

/** A window of `key` whose name ends in `asked.window`; closed when the test ends. */
export function openNamed(
  context: TestContext,
  { origin, ca }: { readonly origin: Readonly<Record<HttpVersion, string>>; readonly ca: string },
  mode: Mode,
  { key, window = '', ...asked }: Record<'key', string> & Record<string, string>,
): ContractClient {
  const query = new URLSearchParams({ ...asked, key, window: nameOf(key, window) })
  const client = openClient({ mode, origin: origin[mode.http], ca, query })
  context.after(() => client.close())
  return client
}

/** A window on an application's server, which publishes JSON; closed when the test ends. */
export function openJson(t: TestContext, origin: string, mode: Mode, channels: string, cursor?: string) {
  const key = newKey()
  const window = nameOf(key, 'w1')
  const query = new URLSearchParams({ window, key, channels, ...(cursor && { cursor }) })
  const client = openClient({ mode, origin, path: '/realtime', ca: null, query })
  t.after(() => client.close())
  const [channel] = channels.split(',')
  const draft = (n: number, data: unknown) => ({
    id: `${window}-${n}`,
    channel,
    kind: 'json',
    from: window,
    at: 1,
    body: { data },
  })
  return { ...client, window, draft }
}
