// Whole-content mirroring, as in the 2021 paper: each edit carries all content; the newest wins.

import type { DraftKeeper, DraftStore, LeftDrafts, Link, Outbox, UnstoredDraft } from '../../client/engine.ts'
import { readHtml } from '../../server/document/html.ts'
import type { Line } from '../../server/document/rich-text.ts'
import { commonEnds } from '../../server/document/text-diff.ts'
import { type Draft, isKind, type Message, parseCursor } from '../../server/wire/messages.ts'
import type { Recorder } from '../lab.ts'
import type { Unshared, View } from '../store.ts'
import type { MountedEditor } from './commands.ts'
import { bindContent, type Content, contentCommands, type OnEdit } from './content.ts'

interface MirrorOptions extends Omit<LeftEditsOptions, 'mirror'> {
  readonly channel: string
  readonly link: LeftEditsOptions['link'] & Pick<Link, 'publish'>
  readonly recorder: Recorder | null
  /** Size limit of a message in UTF-8 bytes. */
  readonly maxBytes: number
  /** Called on change only. */
  readonly onUnshared: (unshared: Unshared | null) => void
}

/**
 * By the senders' clocks. A message does not say what its sender had seen, so a later edit that
 * lacks this window's text may have removed it on purpose.
 */
const unseenMs = 3000

/** Maximum bytes of a message without its content. */
const envelopeBytes = 512
/** Maximum bytes of a UTF-16 unit in JSON: a control character takes six. */
const bytesPerUnit = 6
const utf8 = new TextEncoder()

/**
 * All windows end with the log's last edit. Others' edits are held back while own edits are
 * pending: those come later in the log, and showing others' would undo recent typing.
 */
export class Mirror {
  readonly left: LeftEdits
  readonly #options: MirrorOptions
  /** Own edits in flight: id to sender, since another sender's edit may have the same id. */
  readonly #pending = new Map<string, string>()
  #heldBack: Message<'edit'> | null = null
  /** The shown content is newer than others' edits up to this number. */
  #settledSeq = 0
  #content: Content | null = null
  #early: string | null = null
  #unshared: Unshared | null = null
  /** Last shown or published. */
  #shared: string | null = null
  #newestId = ''
  /**
   * Content before this window's edits since another's was shown, and the newest of these edits.
   */
  #own: { readonly before: string; readonly draft: Draft<'edit'> } | null = null

  constructor(options: MirrorOptions) {
    this.#options = options
    this.left = new LeftEdits({ ...options, mirror: this })
  }

  get lines(): readonly Line[] {
    return readHtml(this.#shared ?? '', { isOwn: true }).lines
  }

  mount(element: HTMLElement): MountedEditor {
    const release = this.attach((onEdit) => bindContent(element, onEdit))
    return { commands: contentCommands(element), release }
  }

  /** The returned function detaches and keeps the content for the next editor. */
  attach(bind: (onEdit: OnEdit) => Content): () => void {
    const bound = bind((html, inputAt) => this.#edit(html, inputAt))
    this.#content = bound
    this.#show(this.#early)
    this.#early = null
    return () => {
      // A remount starts from an empty element.
      this.#early = bound.stop()
      this.#content = null
    }
  }

  received(message: Message): void {
    if (!isKind(message, 'edit') || message.channel !== this.#options.channel) return
    this.left.shown(message)
    const { id, from, seq } = message
    if (this.#pending.get(id) === from) this.#settle(id, seq)
    else if (seq <= this.#settledSeq) return
    else if (this.#isHolding()) this.#heldBack = message
    else this.#showOther(message)
  }

  stored({ id }: Pick<Draft, 'id'>, seq: number): void {
    if (this.#pending.has(id)) this.#settle(id, seq)
  }

  /** Always true: the user must be told. */
  refused({ id }: Pick<Draft, 'id'>): boolean {
    this.#pending.delete(id)
    // A newer edit contains this one and gets its own answer.
    if (id === this.#newestId) this.#setUnshared({ reason: 'refused' })
    return true
  }

  superseded({ id }: Pick<Draft, 'id'>): void {
    this.#pending.delete(id)
  }

  renamed(id: string, draft: Draft): void {
    if (!this.#isEdit(draft)) return
    this.#pending.set(draft.id, draft.from)
    this.#pending.delete(id)
    if (id === this.#newestId) this.#newestId = draft.id
  }

  /** False if it is too large to be published. */
  replace(html: string): boolean {
    this.#show(html)
    this.#edit(html, null)
    return this.#unshared === null
  }

  /** Shows edits that will be resent, from before a reload or from a closed window. */
  restore(drafts: readonly Draft[]): void {
    const edits = drafts.filter((draft) => this.#isEdit(draft))
    for (const { id, from } of edits) this.#pending.set(id, from)
    this.#newestId = drafts.at(-1)?.id ?? this.#newestId
    this.#show(edits.at(-1)?.body.html ?? null)
  }

  newLog(): void {
    this.#heldBack = null
    this.#settledSeq = 0
  }

  #isEdit(draft: Draft): draft is Draft<'edit'> {
    return draft.kind === 'edit' && draft.channel === this.#options.channel
  }

  /** Others' edits would overwrite content that is too large, or show before this window's own. */
  #isHolding(): boolean {
    return this.#pending.size > 0 || this.#unshared?.reason === 'too large'
  }

  #edit(html: string, inputAt: number | null): void {
    const { maxBytes } = this.#options
    const bytes = this.#messageBytes(html)
    if (bytes > maxBytes) this.#setUnshared({ reason: 'too large', bytes, maxBytes })
    else if (this.#unshared?.reason === 'too large' && html === this.#shared) {
      this.#setUnshared(null)
      this.#showHeldBack()
    } else this.#send(html, inputAt)
  }

  #messageBytes(html: string): number {
    const most = html.length * bytesPerUnit + envelopeBytes
    if (most <= this.#options.maxBytes) return most
    return utf8.encode(JSON.stringify(html)).length + envelopeBytes
  }

  #send(html: string, inputAt: number | null): void {
    const { channel, link, recorder } = this.#options
    const draft = link.publish(channel, 'edit', { html })
    if (!draft) return
    this.#pending.set(draft.id, draft.from)
    this.#setUnshared(null)
    this.#own = { before: this.#own?.before ?? this.#shared ?? '', draft }
    this.#shared = html
    this.#newestId = draft.id
    recorder?.sent(draft, inputAt)
  }

  #setUnshared(next: Unshared | null): void {
    if (next === null && this.#unshared === null) return
    this.#unshared = next
    this.#options.onUnshared(next)
  }

  #settle(id: string, seq: number): void {
    this.#pending.delete(id)
    this.#settledSeq = Math.max(this.#settledSeq, seq)
    this.#showHeldBack()
  }

  /** Shows what was held back behind own edits, if it is newer. */
  #showHeldBack(): void {
    const newest = this.#heldBack
    if (newest === null || this.#isHolding()) return
    this.#heldBack = null
    if (newest.seq > this.#settledSeq) this.#showOther(newest)
  }

  #showOther(message: Message<'edit'>): void {
    const own = this.#own
    this.#own = null
    this.#show(message.body.html, () => this.#options.recorder?.applied(message))
    // It was made before this window's edit could reach its sender, and lacks the text typed here.
    if (own && isReplacedBy(message, own.before, own.draft)) this.left.replaced(own.draft)
  }

  #show(html: string | null, onShown?: () => void): void {
    if (html === null) return
    this.#shared = html
    if (this.#unshared?.reason === 'refused') this.#setUnshared(null)
    if (this.#content) this.#content.show(html, onShown)
    else this.#early = html
  }
}

function isReplacedBy({ at, body }: Message<'edit'>, before: string, own: Draft<'edit'>): boolean {
  const typed = insertedIn(before, own.body.html)
  return typed !== '' && at <= own.at + unseenMs && !containsInOrder(insertedIn(before, body.html), typed)
}

const withoutTags = (html: string) =>
  html
    .split('<')
    .map((part, place) => (place === 0 ? part : part.slice(part.indexOf('>') + 1)))
    .join('')

/** The inserted text: what remains between the contents' common beginning and end. */
function insertedIn(before: string, after: string): string {
  const one = withoutTags(before)
  const other = withoutTags(after)
  const { start, end } = commonEnds(one, other)
  return other.slice(start, other.length - end)
}

/** Others may have written between the letters. */
function containsInOrder(text: string, letters: string): boolean {
  const wanted = [...letters]
  let index = 0
  for (const letter of text) if (letter === wanted[index]) index += 1
  return index === wanted.length
}

/** One edit suffices: it carries the whole content. */
interface LeftEdit extends UnstoredDraft {
  readonly draft: Draft<'edit'>
  readonly isReplaced?: boolean
}

interface LeftEditsOptions {
  readonly mirror: Pick<Mirror, 'restore' | 'replace'>
  readonly link: Pick<Link, 'cursor'> & { readonly outbox: Pick<Outbox, 'flush'> }
  readonly keeper: Pick<DraftKeeper, 'adopt'>
  readonly store: Pick<DraftStore, 'write'>
  readonly hasUnstored: () => boolean
  readonly onOffer: (offered: View['left']) => void
}

/** Edits that are not shown: closed windows' and replaced ones; sent, dropped or offered. */
export class LeftEdits {
  readonly #options: LeftEditsOptions
  readonly #offered = new Map<string, LeftEdit>()
  #newest: Message<'edit'> | null = null

  constructor(options: LeftEditsOptions) {
    this.#options = options
  }

  /** The page's newest edit decides what happens to edits that were left. */
  shown(message: Message<'edit'>): void {
    this.#newest = message
  }

  /**
   * Sends all after a reload; otherwise a closed window's newest, if it was made on the page's
   * present content.
   */
  take({ drafts, isReload }: LeftDrafts): void {
    const { hasUnstored, link } = this.#options
    const edits = drafts.filter(isEdit)
    const last = edits.at(-1)
    if (last === undefined) return
    if (isReload && !hasUnstored()) {
      this.#send(edits)
      return
    }
    const older = edits.slice(0, -1)
    const fate = fateOf(last, this.#newest, link.cursor)
    this.#forget((fate === 'drop' ? edits : older).map(({ draft }) => draft.id))
    if (fate === 'send' && !hasUnstored() && this.#offered.size === 0) this.#send([last])
    else if (fate !== 'drop') {
      this.#offered.set(last.draft.id, last)
      this.#changed()
    }
  }

  /** Offers this window's newest edit that another's replaced. */
  replaced(draft: Draft<'edit'>): void {
    for (const [id, { isReplaced }] of this.#offered) if (isReplaced) this.#offered.delete(id)
    this.#offered.set(draft.id, { draft, cursor: null, edits: 1, isReplaced: true })
    this.#changed()
  }

  /** Replaces the page's content with that of an offered edit. */
  restore(id: string): void {
    const { mirror, link } = this.#options
    const edit = this.#offered.get(id)
    if (!edit || !mirror.replace(edit.draft.body.html)) return
    link.outbox.flush()
    this.discard(id)
  }

  discard(id: string): void {
    this.#offered.delete(id)
    this.#forget([id])
    this.#changed()
  }

  #send(edits: readonly LeftEdit[]): void {
    const { mirror, keeper } = this.#options
    mirror.restore(edits.map(({ draft }) => draft))
    keeper.adopt(edits)
  }

  #forget(ids: readonly string[]): void {
    void this.#options.store.write([], ids)
  }

  #changed(): void {
    const edits = Array.from(this.#offered.values(), ({ draft: { id, at }, isReplaced = false }) => ({
      id,
      at,
      isReplaced,
    }))
    this.#options.onOffer(edits.toSorted((one, other) => one.at - other.at))
  }
}

const isEdit = (one: UnstoredDraft): one is LeftEdit =>
  one.draft.kind === 'edit' && typeof (one.draft as Draft<'edit'>).body.html === 'string'

/**
 * Fate of a closed window's edit: drop it if the page contains it, send it if the page is unchanged
 * since, else ask. `newest` is the page's newest edit, `now` the cursor of its log.
 */
export function fateOf(
  { draft, cursor }: Pick<LeftEdit, 'draft' | 'cursor'>,
  newest: Message<'edit'> | null,
  now: string | null,
) {
  if (newest === null) return 'send'
  if (newest.id === draft.id || newest.body.html === draft.body.html) return 'drop'
  const then = parseCursor(cursor)
  const current = parseCursor(now)
  const isSameLog = then !== null && then.epoch === current?.epoch
  return isSameLog && (newest.seq <= then.seq || newest.from === draft.from) ? 'send' : 'ask'
}
