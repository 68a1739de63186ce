// HTTP endpoints of documents: the list, exports, history, and read-only invitations.

import type Router from '@koa/router'
import type { ParameterizedContext } from 'koa'
import { z } from 'zod'
import { escapeHtml } from '../../protocol/html-text.ts'
import { type Draft, fingerprintIn, type Kind } from '../../protocol/messages.ts'
import { Refusal } from '../../protocol/refusal.ts'
import type { Timers } from '../../protocol/time.ts'
import {
  type Caller,
  type Crosswind,
  type Documents,
  type ReadableLog,
  TooCostly,
} from '../../server/index.ts'
import { type Access, invitationPath } from '../access.ts'
import type { Directory } from '../document/directory.ts'
import { findDocument } from '../document/document-reader.ts'
import type { PageTasks } from '../document/document-tasks.ts'
import { writeDocument } from '../document/document-writes.ts'
import { kindOfFile } from '../document/file-kind.ts'
import type { Readings } from '../document/readings.ts'
import { admitChannel } from '../page-channels.ts'
import {
  type DocumentList,
  documentsPath,
  type ListedDocument,
  type TextType,
  textTypes,
} from '../shared/document-api.ts'
import { lineWith, plain, wordsIn } from '../shared/search.ts'
import { credentialsIn } from './session.ts'

interface DocumentParts {
  readonly crosswind: Pick<
    Crosswind,
    'caller' | 'clientCount' | 'documentThreads' | 'rateLimit' | 'limits' | 'mustBeCurrent' | 'readHistory'
  >
  /** The log in use, with what is known of its documents. */
  readonly onLog: () => {
    readonly log: Pick<ReadableLog, 'snapshot' | 'find'>
    readonly directory: Directory
    readonly readings: Readings
  }
  readonly timers: Timers
  readonly access: Access
}

const types = new Intl.ListFormat('en', { type: 'disjunction' }).format(textTypes)

/** Throws a `Refusal` (415 `wrong-type`). */
function typeSent(given: string): TextType {
  const [type = '', ...parameters] = given
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  const charset = parameters.find((one) => one.startsWith('charset='))?.slice('charset='.length)
  const known = textTypes.find((name) => name === type)
  if (known && (charset === undefined || /^"?utf-?8"?$/.test(charset))) return known
  const sentence = `A document must be sent as ${types} in UTF-8; this request has ${given ? `Content-Type ${given}` : 'no Content-Type'}.`
  throw new Refusal('wrong-type', sentence)
}

/**
 * Removes a byte order mark. Throws a `Refusal`: 415 `wrong-type` for a file of another kind, 400
 * `bad-shape` for another encoding.
 */
function textIn(bytes: Uint8Array, type: TextType): string {
  const kind = kindOfFile(bytes)
  if (kind) {
    const sentence = `The body is ${kind.name}, although Content-Type is ${type}; convert it to ${types} first.`
    throw new Refusal('wrong-type', sentence)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Refusal('bad-shape', 'The text is not in UTF-8; convert it first.')
  }
}

const exports: Readonly<Record<string, { readonly type: TextType; readonly wrap: typeof htmlPage }>> = {
  html: { type: 'text/html', wrap: htmlPage },
  md: { type: 'text/markdown', wrap: (_title, text) => text },
}

/** If an exported page is displayed after all, it runs nothing, loads nothing and has no origin. */
const exportHeaders = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
}

function htmlPage(title: string, content: string): string {
  return `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>body { max-width: 42rem; margin: 2rem auto; padding: 0 1rem; font: 1.125rem/1.6 serif } body > * { white-space: pre-wrap } li { text-align: start } img { max-width: 100% }</style>
</head>
<body data-crosswind>
${content}
</body>
</html>
`
}

/** RFC 6266, with the name in UTF-8 (RFC 8187) and an ASCII one for older clients. */
function attachment(name: string): string {
  const file = name.replaceAll(/[/\\?*:|"<>]/g, '-')
  const encoded = encodeURIComponent(file).replaceAll(
    /['()]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  )
  return `attachment; filename="${file.replaceAll(/[^ -~]|%/g, '_')}"; filename*=UTF-8''${encoded}`
}

/** The newest documents are listed. */
const maxListed = 1000

/** Characters, with the commas between the words. */
const maxSearchLength = 200

/** What is not read by then is not searched, and its heading not shown as a title: the next request finds more read. */
const maxReadingMs = 1000

const maxInvitationBytes = 1024
const invitationSchema = z.strictObject({
  channel: z.string(),
  may: z.enum(['read', 'write'], 'must be "read" or "write"'),
  hours: z.number().min(0.01).max(8760),
})

const listPath = '/api/documents'
const textPath = `${listPath}/:channel`
const historyPath = '/api/history'

export function mountDocuments(router: Router, parts: DocumentParts): void {
  router.use([listPath, historyPath, `${documentsPath}:channel`], (_ctx, next) => {
    parts.crosswind.mustBeCurrent()
    return next()
  })
  mountList(router, parts)
  mountExports(router, parts)
  mountTexts(router, parts)
  mountHistory(router, parts)
  mountInvitations(router, parts)
}

function mountList(router: Router, { crosswind, onLog, timers }: DocumentParts): void {
  const limitSearches = crosswind.rateLimit(5, 'Searches are limited to five a second')

  router.get(listPath, async (ctx) => {
    const caller = await crosswind.caller(ctx.req)
    const words = wordsIn(queryOf(ctx).get('search') ?? '')
    if (words.join().length > maxSearchLength)
      throw new Refusal('bad-shape', `A search has at most ${maxSearchLength} characters.`)
    if (words.length > 0) limitSearches(caller)
    const { directory, readings } = onLog()
    const { stored } = crosswind.documentThreads<PageTasks>()
    const readable = [...(await directory.entries())]
      .filter(([channel]) => caller.mayRead(channel))
      .sort(([, one], [, other]) => (other.at ?? Infinity) - (one.at ?? Infinity))
    const shown = readable.slice(0, maxListed)
    const deadline = timers.now() + maxReadingMs
    const own = stored.for(caller.connection)
    let unsearched = 0
    const documents: ListedDocument[] = []
    for (const [channel, { title, at, deletedAt, textSeq }] of shown) {
      const isTooCostly = stored.isQuarantined(channel)
      const isAsked = words.length > 0 || title === ''
      const hasText = textSeq > 0 && deletedAt === null
      const leftMs = deadline - timers.now()
      const canRead = isAsked && hasText && !isTooCostly && leftMs > 0
      const reading = canRead ? await readings.of(channel, textSeq, own, leftMs) : null
      const name = title || (reading?.heading ?? '')
      const plainName = plain(`${name} ${channel}`)
      const plainText = reading?.plainText ?? ''
      if (words.length > 0 && hasText && reading === null) unsearched += 1
      if (!words.every((word) => plainName.includes(word) || plainText.includes(word))) continue
      documents.push({
        channel,
        title: name,
        at,
        deletedAt,
        windows: crosswind.clientCount(channel),
        mayWrite: caller.mayWrite(channel),
        isTooCostly,
        found: lineWith(words, reading?.text ?? '', plainText),
      })
    }
    const list: DocumentList = {
      documents,
      omitted: Math.max(0, readable.length - maxListed),
      unsearched,
      mayCreate: caller.write.includes('*'),
    }
    ctx.set('Cache-Control', 'no-store')
    ctx.body = list
  })
}

function mountExports(router: Router, { crosswind, onLog }: DocumentParts): void {
  // Reading a long document costs the server up to a second.
  const limitExports = crosswind.rateLimit(2, 'Exports are limited to two a second')
  for (const [extension, { type, wrap }] of Object.entries(exports))
    router.get(`${documentsPath}:channel/export.${extension}`, async (ctx) => {
      const channel = admitChannel(ctx.params.channel ?? '')
      const caller = await crosswind.caller(ctx.req)
      caller.mustRead(channel)
      limitExports(caller)
      const { log, directory, readings } = onLog()
      const { messages } = await findDocument(log, channel)
      const own = crosswind.documentThreads<PageTasks>().stored.for(caller.connection)
      const entry = (await directory.entries()).get(channel)
      const heading = async () => (await readings.ofMessages(channel, messages, own, maxReadingMs))?.heading
      const title = entry?.title || (await heading()) || channel
      ctx.set({ ...exportHeaders, 'Content-Disposition': attachment(`${title}.${extension}`) })
      ctx.type = `${type}; charset=utf-8`
      ctx.body = wrap(title, await own.read(channel, 'textOf', type, messages))
    })
}

/** Reads, replaces, extends and deletes a document's text. */
function mountTexts(router: Router, { crosswind, onLog }: DocumentParts): void {
  const limitTexts = crosswind.rateLimit(10, 'Reading or writing is limited to ten texts a second')

  router.get(textPath, async (ctx) => {
    const channel = admitChannel(ctx.params.channel ?? '')
    const caller = await crosswind.caller(ctx.req)
    caller.mustRead(channel)
    const accepted = ctx.accepts([...textTypes])
    const type = textTypes.find((name) => name === accepted)
    if (!type) {
      const sentence = `A document is available as ${types}; name one of them in Accept.`
      throw new Refusal('not-acceptable', sentence)
    }
    limitTexts(caller)
    const { messages, tag } = await findDocument(onLog().log, channel)
    ctx.set({ ...exportHeaders, ETag: tag })
    ctx.vary('Accept')
    ctx.type = `${type}; charset=utf-8`
    const own = crosswind.documentThreads<PageTasks>().stored.for(caller.connection)
    ctx.body = await own.read(channel, 'textOf', type, messages)
  })

  router.delete(textPath, async (ctx) => {
    const caller = await crosswind.caller(ctx.req)
    ctx.body = await caller.publish(draftFor(caller, ctx, 'deletion', { deleted: true }))
  })

  for (const [verb, way] of [
    ['put', 'replace'],
    ['post', 'append'],
  ] as const)
    router[verb](textPath, async (ctx) => {
      const caller = await crosswind.caller(ctx.req)
      const draft = draftFor(caller, ctx, 'update', { update: 'AAA=' })
      const type = typeSent(ctx.get('Content-Type'))
      limitTexts(caller)
      const text = textIn(await caller.readBody(), type)
      const client = [caller.connection, fingerprintIn(draft.from) ?? draft.from]
      const { stored, sent } = crosswind.documentThreads<PageTasks>()
      const lines = await linesSent(sent.for(...client), type, text, draft.id)
      const ifMatch = ctx.get('If-Match') || null
      const writing = { draft, way, lines, isPlain: type === 'text/plain', ifMatch }
      const own = {
        documents: stored.for(...client),
        log: onLog().log,
        publish: (one: Draft) => caller.publish(one),
        maxMessageBytes: crosswind.limits.maxMessageBytes,
      }
      ctx.body = await writeDocument(own, writing)
    })
}

/** The draft of a writing request: `kind` and `body` are a deletion's, or replaced later. */
function draftFor(caller: Caller, ctx: ParameterizedContext, kind: Kind, body: object): Draft {
  const query = queryOf(ctx)
  return caller.draft({
    id: query.get('id') ?? undefined,
    from: query.get('from') ?? undefined,
    channel: admitChannel(ctx.params.channel ?? ''),
    at: Number(query.get('at') ?? 0),
    kind,
    body,
  })
}

const queryOf = ({ querystring }: Pick<ParameterizedContext, 'querystring'>) =>
  new URLSearchParams(querystring)

/** Characters that may take as much time as a document; fewer take it in proportion. */
const longText = 1_000_000

/** Rejects with a `Refusal` (422 `too-costly`). */
async function linesSent(texts: Documents<PageTasks>, type: TextType, text: string, id: string) {
  try {
    return await texts.within(text.length / longText).run('linesFrom', type, text)
  } catch (error) {
    if (!(error instanceof TooCostly)) throw error
    const sentence = `Reading the text ${error.message}: send it in parts, the later ones by POST, or as text/plain.`
    throw new Refusal('too-costly', sentence, id)
  }
}

function mountHistory(router: Router, { crosswind }: DocumentParts): void {
  const limitPortions = crosswind.rateLimit(10, 'The history is limited to ten portions a second')
  router.get(historyPath, async (ctx) => {
    const channel = admitChannel(queryOf(ctx).get('channel') ?? '')
    const caller = await crosswind.caller(ctx.req)
    caller.mustRead(channel)
    limitPortions(caller)
    const history = await crosswind.readHistory(channel, { after: queryOf(ctx).get('after') })
    if (history === null) {
      const sentence = 'The log has erased the updates after that; start again without "after".'
      throw new Refusal('history-erased', sentence)
    }
    ctx.set('Cache-Control', 'no-store')
    ctx.body = history
  })
}

function mountInvitations(router: Router, { access, crosswind }: DocumentParts): void {
  const limitInvitations = crosswind.rateLimit(5, 'Invitations are limited to five a second')
  router.post('/api/invitations', async (ctx) => {
    const caller = await crosswind.caller(ctx.req)
    const asked = await caller.readJson({ what: 'Invitations', maxBytes: maxInvitationBytes })
    const { data, error } = invitationSchema.safeParse(asked)
    if (error) {
      const [issue] = error.issues
      const sentence = `Invalid invitation: ${issue?.path.join('.') || 'it'}: ${issue?.message}.`
      throw new Refusal('bad-shape', sentence)
    }
    const channel = admitChannel(data.channel)
    limitInvitations(caller)
    // By the session alone: a ticket says nothing about the end of its invitation.
    const { token, expiresAt } = await access.invite(credentialsIn(ctx.req), { ...data, channel })
    ctx.set('Cache-Control', 'no-store')
    ctx.body = { link: invitationPath(token), expiresAt }
  })
}
