// Writes a program's text as one message, and converts whole contents of earlier versions.

import { hash } from 'node:crypto'
import { type Draft, isKind, type Message, type Stored } from '../../protocol/messages.ts'
import { idTaken, isRefusal, Refusal } from '../../protocol/refusal.ts'
import type { Clock } from '../../protocol/time.ts'
import {
  type ChannelType,
  type Documents,
  type Prepare,
  type ReadableLog,
  type Store,
  TooCostly,
} from '../../server/index.ts'
import { documentDeleted } from './document-life.ts'
import { contentOf, findDocument, isDeleted } from './document-reader.ts'
import type { PageTasks, Rewriting } from './document-tasks.ts'

interface DocumentWriting extends Rewriting {
  /** The message's envelope; its kind and body are created here. */
  readonly draft: Pick<Draft, 'id' | 'channel' | 'from' | 'at'>
  /** The header If-Match (RFC 9110, 13.1.1); null without one. */
  readonly ifMatch: string | null
}

interface WriterParts {
  readonly documents: Documents<PageTasks>
  readonly log: Pick<ReadableLog, 'snapshot' | 'find'>
  readonly publish: (draft: Draft) => Stored | Promise<Stored>
  /** Limit of a message as JSON. */
  readonly maxMessageBytes: number
}

/**
 * Writes one message, an update with the difference. Concurrent changes by others stay. If nothing
 * changes, nothing is stored, and the answer has the number of the newest change (0 for none). Rejects with a `Refusal`: 409 `id-taken`, 410 `document-deleted`,
 * 412 `document-changed`, 413 `too-large`, 422 `too-costly`, and as `publish` does.
 */
export async function writeDocument(parts: WriterParts, writing: DocumentWriting): Promise<Stored> {
  const { log, publish, maxMessageBytes } = parts
  const { draft: envelope, ifMatch } = writing
  const { id, channel } = envelope
  const found = await findDocument(log, channel)
  const digest = digestOf(writing)
  // Runs after the read: a repeat that is stored in the meantime is refused because of its id.
  const known = await findRepeat(log, envelope, digest)
  if (known) return known
  if (isDeleted(found.messages)) throw documentDeleted(channel).about(id)
  if (ifMatch !== null && !isMatch(ifMatch, found)) {
    const sentence = `The document has changed since: its ETag is ${found.tag}. Read it again, and send that ETag in If-Match.`
    throw new Refusal('document-changed', sentence, id)
  }
  const update = await updateFor(parts, writing, found.messages)
  if (update === null) return { type: 'stored', id, seq: found.seq }
  const draft: Draft = { ...envelope, kind: 'update', body: { update, digest } }
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
  log: Pick<ReadableLog, 'find'>,
  draft: DocumentWriting['draft'],
  digest: string,
): Promise<Stored | null> {
  const { id, channel, from, at } = draft
  const known = await log.find({ id, channel, from })
  if (known === null) return null
  if (isKind(known, 'update') && known.at === at && known.body.digest === digest)
    return { type: 'stored', id, seq: known.seq }
  throw idTaken(draft)
}

function isMatch(ifMatch: string, { tag, seq }: { readonly tag: string; readonly seq: number }): boolean {
  return ifMatch.trim() === '*' ? seq > 0 : ifMatch.split(',').some((one) => one.trim() === tag)
}

/** Rejects with a `Refusal` (422 `too-costly`). */
async function updateFor(
  { documents }: Pick<WriterParts, 'documents'>,
  { draft, way, lines, isPlain }: DocumentWriting,
  messages: readonly Message[],
): Promise<string | null> {
  const { id, channel } = draft
  const rewriting = { way, lines, isPlain }
  documents.mustBeReadable(channel)
  try {
    return await documents.run('updateFor', messages, rewriting)
  } catch (error) {
    if (!(error instanceof TooCostly)) throw error
    // Determines whether the document or the text is too costly.
    await documents.read(channel, 'textOf', 'text/plain', messages)
    const sentence = `Writing the text ${error.message}: write it in parts, the later ones by POST.`
    throw new Refusal('too-costly', sentence, id)
  }
}

/** Other servers of the log may convert at the same time. */
const maxTries = 3

export type EditRules = Required<Pick<ChannelType, 'refuse'>> & { readonly prepare: Prepare }

/**
 * Rules of a document's type for edits, the whole contents that windows of earlier versions sent:
 * they are refused (409 `shared-document`), and if one is the newest content of a document, the first
 * read of the whole stores the same content as an update.
 */
export function convertEdits(documents: Pick<Documents<PageTasks>, 'read'>, now: Clock): EditRules {
  async function convert(messages: () => readonly Message[], store: Store): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const found = messages()
      const content = contentOf(found)
      if (!content || !isKind(content, 'edit')) return
      if (tries > maxTries) throw new Error('An edit of an earlier version was not converted.')
      try {
        await convertOnce(content, found, store)
      } catch (error) {
        // Read unconverted.
        if (isRefusal(error, 'too-costly') || isRefusal(error, 'document-deleted')) return
        throw error
      }
    }
  }

  /** Creates the same message on every server of the log. */
  async function convertOnce(
    { seq, channel, from, at }: Message,
    messages: readonly Message[],
    store: Store,
  ): Promise<void> {
    const update = await documents.read(channel, 'updateToPage', messages, seq)
    const draft: Draft<'update'> = {
      id: `${from}-update${seq}`,
      channel,
      kind: 'update',
      from,
      at,
      body: { update },
    }
    try {
      await store(draft, now())
    } catch (error) {
      // Another server had more of the document.
      if (!isRefusal(error, 'id-taken')) throw error
    }
  }

  return {
    refuse: (draft) => (draft.kind === 'edit' ? sharedDocument(draft) : null),
    prepare: ({ kinds }, messages, store) => (kinds.includes('edit') ? convert(messages, store) : null),
  }
}

function sharedDocument({ id, channel }: Draft): Refusal {
  const sentence = `"${channel}" is a shared document, which does not accept edits: programs write text to /api/documents/${encodeURIComponent(channel)}; an older window must be reloaded.`
  return new Refusal('shared-document', sentence, id)
}
