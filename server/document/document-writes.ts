// Writes documents: a program's text as one message, and what another editor left as a message of this one.

import { hash } from 'node:crypto'
import * as Y from 'yjs'
import { IdTaken, isRepeat, type Log } from '../log/log.ts'
import { Refusal } from '../refusal.ts'
import {
  type Draft,
  type EditorName,
  isKind,
  type Kind,
  type Message,
  type Stored,
} from '../wire/messages.ts'
import type { Clock } from '../wire/time.ts'
import { contentOf, documentOf, findDocument, linesIn } from './document-reader.ts'
import { writeHtml } from './html.ts'
import { type Change, documentText, isEnded, type Line, linesOf } from './rich-text.ts'
import { changesBetween } from './text-diff.ts'

interface DocumentWriting {
  /** Who writes which message where; its kind and body are made here. */
  readonly draft: Pick<Draft, 'id' | 'channel' | 'from' | 'at'>
  readonly way: 'replace' | 'append'
  readonly lines: readonly Line[]
  /** The lines are text alone: in a shared document what stays keeps its formatting. */
  readonly isPlain: boolean
  /** The header If-Match (RFC 9110, 13.1.1); null without one. */
  readonly ifMatch: string | null
}

interface WriterParts {
  readonly log: Pick<Log, 'snapshot' | 'find'>
  readonly publish: (draft: Draft) => Stored | Promise<Stored>
  readonly editor: EditorName
  /** Of a message as JSON. */
  readonly maxMessageBytes: number
}

/**
 * Writes as one message: an update of the difference, or with the mirror editor an edit. What others write meanwhile
 * stays. Where nothing changes nothing is stored, and the answer has the number of the newest change, 0 for none.
 * Rejects with a `Refusal`: 409 `id-taken`, 412 `document-changed`, 413 `too-large`, and as `publish` does.
 */
export async function writeDocument(parts: WriterParts, writing: DocumentWriting): Promise<Stored> {
  const { log, publish, editor, maxMessageBytes } = parts
  const { draft: envelope, ifMatch } = writing
  const { id, channel } = envelope
  const found = await findDocument(log, channel)
  const digest = digestOf(writing)
  // After the document was read: a repeat that is stored later is refused for its id.
  const known = await findRepeat(log, envelope, digest)
  if (known) return known
  if (ifMatch !== null && !isMatch(ifMatch, found)) {
    const sentence = `The document has changed since: its ETag is ${found.tag}. Read it again, and write with that.`
    throw new Refusal(412, 'document-changed', sentence, id)
  }
  const draft =
    editor === 'shared'
      ? updateDraft(
          envelope,
          updateFrom(found.messages, (text) => changesFor(writing, text)),
          digest,
        )
      : await editDraft(writing, found.messages, digest)
  if (draft === null) return { type: 'stored', id, seq: found.seq }
  const bytes = Buffer.byteLength(JSON.stringify(draft))
  if (bytes > maxMessageBytes) {
    const sentence = `As one message the text has ${bytes} bytes, more than ${maxMessageBytes} (limits.maxMessageBytes): write it in parts, the later ones by POST.`
    throw new Refusal(413, 'too-large', sentence, id)
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

/** Of the text and what is to be done with it: the message's content also depends on the document of its time. */
function digestOf({ way, lines, isPlain }: DocumentWriting): string {
  return hash('sha256', JSON.stringify([way, isPlain, lines]), 'base64url').slice(0, digestLength)
}

const digestLength = 22

async function findRepeat(
  log: Pick<Log, 'find'>,
  { id, channel, from, at }: DocumentWriting['draft'],
  digest: string,
): Promise<Stored | null> {
  const known = await log.find({ id, channel, from })
  if (known === null) return null
  const isWritten = isKind(known, 'update') || isKind(known, 'edit')
  if (isWritten && known.at === at && known.body.digest === digest)
    return { type: 'stored', id, seq: known.seq }
  const sentence = `"${from}" has sent another message "${id}" on channel "${channel}": take an id that it has not used there.`
  throw new Refusal(409, 'id-taken', sentence, id)
}

function isMatch(ifMatch: string, { tag, seq }: { readonly tag: string; readonly seq: number }): boolean {
  return ifMatch.trim() === '*' ? seq > 0 : ifMatch.split(',').some((one) => one.trim() === tag)
}

function updateDraft(
  { id, channel, from, at }: DocumentWriting['draft'],
  update: string | null,
  digest?: string,
): Draft<'update'> | null {
  if (update === null) return null
  const body = digest === undefined ? { update } : { update, digest }
  return { id, channel, kind: 'update', from, at, body }
}

async function editDraft(
  { draft: { id, channel, from, at }, way, lines }: DocumentWriting,
  messages: readonly Message[],
  digest: string,
): Promise<Draft<'edit'> | null> {
  const now = await linesIn(messages)
  const html = writeHtml(way === 'replace' ? lines : [...now, ...lines])
  return html === writeHtml(now) ? null : { id, channel, kind: 'edit', from, at, body: { html, digest } }
}

/**
 * One update of the document of these messages, in base64; null if nothing changes. `client`: the Yjs client that writes; default: a
 * new one.
 */
function updateFrom(
  messages: readonly Message[],
  changes: (text: Y.Text) => readonly Change[],
  client?: number,
): string | null {
  const doc = documentOf(messages)
  if (client !== undefined) doc.clientID = client
  let made: Uint8Array | null = null
  doc.on('update', (update: Uint8Array) => {
    made = update
  })
  const text = documentText(doc)
  text.applyDelta([...changes(text)])
  doc.destroy()
  return made && Buffer.from(made).toString('base64')
}

function changesFor({ way, lines, isPlain }: DocumentWriting, text: Y.Text): readonly Change[] {
  const now = linesOf(text)
  if (way === 'replace') {
    const changes = changesBetween(now, lines)
    return isPlain
      ? changes.map((change) => ('retain' in change ? { retain: change.retain } : change))
      : changes
  }
  if (lines.length === 0) return []
  const [only, ...others] = now
  const isBlank = others.length === 0 && only?.block === 'p' && only.runs.length === 0
  if (isBlank) return changesBetween(now, lines)
  const end: readonly Change[] = isEnded(now.at(-1)) ? [] : [{ insert: '\n', attributes: {} }]
  return [{ retain: text.length }, ...end, ...changesBetween([], lines)]
}

/** Other servers of the log may convert at the same time. */
const mostTries = 3

/**
 * The log of a server with that editor, whose windows show one kind of content: `shared` updates, `mirror` edits. The
 * other kind is refused (409 `shared-document` or `mirrored-page`). Where an earlier server with another setting left
 * the newest content in it, the first snapshot stores the same in this one's.
 */
export function keepForm(log: Log, editor: EditorName, now: Clock): Log {
  const other: Kind = editor === 'shared' ? 'edit' : 'update'

  async function refuse(draft: Draft): Promise<number> {
    const stored = await log.find(draft)
    if (stored && isRepeat(draft, stored)) return stored.seq
    throw editor === 'shared' ? sharedDocument(draft) : mirroredPage(draft)
  }

  async function converted<Found extends { readonly messages: readonly Message[] }>(
    ask: () => Promise<Found & { readonly recovered?: boolean }>,
  ): Promise<Found> {
    for (let tries = 1; ; tries += 1) {
      const found = await ask()
      if (found.recovered) return found
      const foreign = [...Map.groupBy(found.messages, ({ channel }) => channel).values()].filter(
        (messages) => contentOf(messages)?.kind === other,
      )
      if (foreign.length === 0) return found
      if (tries > mostTries) throw new Error(`The pages of another editor were not converted.`)
      for (const messages of foreign) await convert(messages)
    }
  }

  /** The same message on every server of the log. */
  async function convert(messages: readonly Message[]): Promise<void> {
    const content = contentOf(messages)
    if (!content) return
    const { seq, channel, from, at } = content
    const lines = await linesIn(messages)
    const draft: Draft | null =
      editor === 'shared'
        ? updateDraft(
            { id: `${from}-update${seq}`, channel, from, at },
            updateFrom(messages, (text) => changesBetween(linesOf(text), lines), seq) ?? nothing,
          )
        : { id: `${from}-edit${seq}`, channel, kind: 'edit', from, at, body: { html: writeHtml(lines) } }
    try {
      if (draft) await log.append(draft, now())
    } catch (error) {
      // Another server knew of more of the document.
      if (!(error instanceof IdTaken)) throw error
    }
  }

  return {
    ...log,
    append: (draft, acceptedAt) => (draft.kind === other ? refuse(draft) : log.append(draft, acceptedAt)),
    read: (cursor, channels) => converted(() => log.read(cursor, channels)),
    snapshot: (channels) => converted(() => log.snapshot(channels)),
  }
}

/** An update that changes nothing (Yjs, version 1). */
const nothing = Buffer.from(Y.encodeStateAsUpdate(new Y.Doc())).toString('base64')

function sharedDocument({ id, channel }: Draft): Refusal {
  const sentence = `"${channel}" is a shared document, which takes no edit: programs write text to /api/documents/${encodeURIComponent(channel)}; an older window has to be reloaded.`
  return new Refusal(409, 'shared-document', sentence, id)
}

function mirroredPage({ id, channel }: Draft): Refusal {
  const sentence = `This server mirrors whole pages (editor: mirror) and takes no update: programs write text to /api/documents/${encodeURIComponent(channel)}; an older window has to be reloaded.`
  return new Refusal(409, 'mirrored-page', sentence, id)
}
