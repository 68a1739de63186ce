// Writes a program's text as one message, and converts content that the other editor mode left.

import { hash } from 'node:crypto'
import type { ChannelType, Prepare, Store } from '../channels/channel-type.ts'
import { idTaken, type Log } from '../log/log.ts'
import type { EditorName } from '../page/page-messages.ts'
import { type Draft, isKind, type Kind, type Message, type Stored } from '../wire/messages.ts'
import { isRefusal, Refusal } from '../wire/refusal.ts'
import type { Clock } from '../wire/time.ts'
import { documentDeleted } from './document-life.ts'
import { contentOf, findDocument, isDeleted } from './document-reader.ts'
import type { PageTasks, Rewriting } from './document-tasks.ts'
import { type Documents, isTooCostly, TooCostly } from './document-worker.ts'

interface DocumentWriting extends Rewriting {
  /** The message's envelope; its kind and body are created here. */
  readonly draft: Pick<Draft, 'id' | 'channel' | 'from' | 'at'>
  /** The header If-Match (RFC 9110, 13.1.1); null without one. */
  readonly ifMatch: string | null
}

interface WriterParts {
  readonly documents: Documents<PageTasks>
  readonly log: Pick<Log, 'snapshot' | 'find'>
  readonly publish: (draft: Draft) => Stored | Promise<Stored>
  readonly editor: EditorName
  /** Limit of a message as JSON. */
  readonly maxMessageBytes: number
}

/**
 * Writes one message: an update with the difference or, with the mirror editor, an edit. Concurrent
 * changes by others stay. If nothing changes, nothing is stored, and the answer has the number of
 * the newest change (0 for none). Rejects with a `Refusal`: 409 `id-taken`, 410 `document-deleted`,
 * 412 `document-changed`, 413 `too-large`, 422 `too-costly`, and as `publish` does.
 */
export async function writeDocument(parts: WriterParts, writing: DocumentWriting): Promise<Stored> {
  const { log, publish, maxMessageBytes } = parts
  const { draft: envelope, ifMatch } = writing
  const { id, channel } = envelope
  const found = await findDocument(log, channel)
  const digest = digestOf(writing)
  // Runs after the document was read: a repeat that is stored later is refused because of its id.
  const known = await findRepeat(log, envelope, digest)
  if (known) return known
  if (isDeleted(found.messages)) throw documentDeleted(channel).about(id)
  if (ifMatch !== null && !isMatch(ifMatch, found)) {
    const sentence = `The document has changed since: its ETag is ${found.tag}. Read it again, and send that ETag in If-Match.`
    throw new Refusal('document-changed', sentence, id)
  }
  const change = await changeFor(parts, writing, found.messages)
  if (change === null) return { type: 'stored', id, seq: found.seq }
  const draft: Draft =
    'update' in change
      ? { ...envelope, kind: 'update', body: { ...change, digest } }
      : { ...envelope, kind: 'edit', body: { ...change, digest } }
  const bytes = Buffer.byteLength(JSON.stringify(draft))
  if (bytes > maxMessageBytes) {
    const sentence = `As one message the text has ${bytes} bytes, more than ${maxMessageBytes} (limits.maxMessageBytes): write it in parts, the later ones by POST.`
    throw new Refusal('too-large', sentence, id)
  }
  try {
    return await publish(draft)
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'id-taken')) throw error
    const repeat = await findRepeat(log, envelope, digest)
    if (repeat) return repeat
    throw error
  }
}

/**
 * A digest of the text and the way of writing it: the message's content also depends on the
 * document at that time.
 */
function digestOf({ way, lines, isPlain }: DocumentWriting): string {
  return hash('sha256', JSON.stringify([way, isPlain, lines]), 'base64url').slice(0, digestLength)
}

const digestLength = 22

async function findRepeat(
  log: Pick<Log, 'find'>,
  draft: DocumentWriting['draft'],
  digest: string,
): Promise<Stored | null> {
  const { id, channel, from, at } = draft
  const known = await log.find({ id, channel, from })
  if (known === null) return null
  const isWritten = isKind(known, 'update') || isKind(known, 'edit')
  if (isWritten && known.at === at && known.body.digest === digest)
    return { type: 'stored', id, seq: known.seq }
  throw idTaken(draft)
}

function isMatch(ifMatch: string, { tag, seq }: { readonly tag: string; readonly seq: number }): boolean {
  return ifMatch.trim() === '*' ? seq > 0 : ifMatch.split(',').some((one) => one.trim() === tag)
}

/** Rejects with a `Refusal` (422 `too-costly`). */
async function changeFor(
  { documents, editor }: Pick<WriterParts, 'documents' | 'editor'>,
  { draft, way, lines, isPlain }: DocumentWriting,
  messages: readonly Message[],
): Promise<{ readonly update: string } | { readonly html: string } | null> {
  const { id, channel } = draft
  const rewriting = { way, lines, isPlain }
  const isShared = editor === 'shared'
  documents.mustBeReadable(channel)
  try {
    const made = await documents.run(isShared ? 'updateFor' : 'htmlFor', messages, rewriting)
    if (made === null) return null
    return isShared ? { update: made } : { html: made }
  } catch (error) {
    if (!(error instanceof TooCostly)) throw error
    // Finds out whether the document or the text is too costly.
    await documents.read(channel, 'textOf', 'text/plain', messages)
    const sentence = `Writing the text ${error.message}: write it in parts, the later ones by POST.`
    throw new Refusal('too-costly', sentence, id)
  }
}

/** Other servers of the log may convert at the same time. */
const maxTries = 3

export type EditorRules = Required<Pick<ChannelType, 'refuse'>> & { readonly prepare: Prepare }

/**
 * What a document's type declares on a server whose windows show one kind of content: `shared`
 * updates or `mirror` edits. The other kind is refused (409 `shared-document` or `mirrored-page`). If
 * an earlier server with the other setting left newer content in it, the first read of the whole
 * stores the same content in this server's kind.
 */
export function keepToEditor(
  editor: EditorName,
  documents: Pick<Documents<PageTasks>, 'read'>,
  now: Clock,
): EditorRules {
  const other: Kind = editor === 'shared' ? 'edit' : 'update'

  async function convert(messages: () => readonly Message[], store: Store): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const found = messages()
      if (contentOf(found)?.kind !== other) return
      if (tries > maxTries) throw new Error(`The pages of the other editor were not converted.`)
      try {
        await convertOnce(found, store)
      } catch (error) {
        // Read unconverted.
        if (isTooCostly(error) || isRefusal(error, 'document-deleted')) return
        throw error
      }
    }
  }

  /** Creates the same message on every server of the log. */
  async function convertOnce(messages: readonly Message[], store: Store): Promise<void> {
    const content = contentOf(messages)
    if (!content) return
    const { seq, channel, from, at } = content
    const draft: Draft =
      editor === 'shared'
        ? {
            id: `${from}-update${seq}`,
            channel,
            kind: 'update',
            from,
            at,
            body: { update: await documents.read(channel, 'updateToPage', messages, seq) },
          }
        : {
            id: `${from}-edit${seq}`,
            channel,
            kind: 'edit',
            from,
            at,
            body: { html: await documents.read(channel, 'textOf', 'text/html', messages) },
          }
    try {
      await store(draft, now())
    } catch (error) {
      // Another server had more of the document.
      if (!isRefusal(error, 'id-taken')) throw error
    }
  }

  return {
    refuse(draft) {
      if (draft.kind !== other) return null
      return editor === 'shared' ? sharedDocument(draft) : mirroredPage(draft)
    },
    prepare: ({ kinds }, messages, store) => (kinds.includes(other) ? convert(messages, store) : null),
  }
}

function sharedDocument({ id, channel }: Draft): Refusal {
  const sentence = `"${channel}" is a shared document, which does not accept edits: programs write text to /api/documents/${encodeURIComponent(channel)}; an older window must be reloaded.`
  return new Refusal('shared-document', sentence, id)
}

function mirroredPage({ id, channel }: Draft): Refusal {
  const sentence = `This server mirrors whole pages (editor: mirror) and does not accept updates: programs write text to /api/documents/${encodeURIComponent(channel)}; an older window must be reloaded.`
  return new Refusal('mirrored-page', sentence, id)
}
