// Ties the editable element, the mirror and the link together: the paper's whole-content mirroring.

import { type Draft, isKind, type Message } from '../../server/wire/envelope.ts'
import type { Recorder } from '../lab/recorder.ts'
import type { Link } from '../link/link.ts'
import { bindContent, type Content } from './content.ts'
import { createMirror } from './mirror.ts'

export interface Mirroring {
  /** The editor is there; returns the way to let go of it. */
  readonly attach: (element: HTMLElement) => () => void
  readonly received: (message: Message) => void
  readonly stored: (id: string, seq: number) => void
  /** An own edit will not come: it was refused, or superseded. */
  readonly withdrawn: (id: string) => void
  /** What a window of before the reload had not sent yet is shown at once. */
  readonly restore: (drafts: readonly Draft[]) => void
  /** There is room for what could not be published. */
  readonly publishUnsent: () => void
  readonly newLog: () => void
}

export interface MirroringParts {
  readonly channel: string
  readonly publish: Link['publish']
  readonly recorder: Recorder
  /** Largest content that may be sent, in bytes of UTF-8. */
  readonly maxBytes: number
  readonly onTooLarge: (bytes: number) => void
}

const utf8 = new TextEncoder()

/** In place of an id, for content that has none yet. */
const unsentId = 'unsent'

export function createMirroring({
  channel,
  publish,
  recorder,
  maxBytes,
  onTooLarge,
}: MirroringParts): Mirroring {
  const mirror = createMirror()
  let content: Content | null = null
  /** What the log said before the editor was there. */
  let early: string | null = null
  /** The newest content, where there was no room for it. Others' is held back meanwhile as for one under way. */
  let unsent: string | null = null

  function edit(html: string, inputAt: number | null): void {
    const bytes = utf8.encode(html).length
    if (bytes > maxBytes) {
      onTooLarge(bytes)
      return
    }
    const draft = publish(channel, 'edit', { html })
    mirror.edited(draft?.id ?? unsentId)
    unsent = draft ? null : html
    if (!draft) return
    mirror.withdrawn(unsentId)
    recorder.sent(draft, inputAt)
  }

  function show(html: string, onShown?: () => void): void {
    if (content) content.show(html, onShown)
    else early = html
  }

  return {
    attach(element) {
      content = bindContent(element, edit)
      if (early !== null) show(early)
      early = null
      return () => {
        content?.stop()
        content = null
        // A remount starts from an empty element: keep what was there for it.
        early = element.innerHTML
      }
    },
    received(message) {
      if (!isKind(message, 'edit') || message.channel !== channel) return
      const html = mirror.received(message)
      if (html === null) return
      show(html, () => recorder.applied(message))
    },
    stored(id, seq) {
      const html = mirror.stored(id, seq)
      if (html !== null) show(html)
    },
    withdrawn: mirror.withdrawn,
    restore(drafts) {
      const html = mirror.restored(drafts.filter((draft) => isEditOn(channel, draft)))
      if (html !== null) show(html)
    },
    publishUnsent() {
      if (unsent !== null) edit(unsent, null)
    },
    newLog: mirror.newLog,
  }
}

function isEditOn(channel: string, draft: Draft): draft is Draft<'edit'> {
  return draft.kind === 'edit' && draft.channel === channel
}
