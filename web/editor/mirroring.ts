// Ties the editable element, the mirror and the link together: the paper's whole-content mirroring.

import { isKind, type Message } from '../../server/wire/envelope.ts'
import type { Recorder } from '../lab/recorder.ts'
import type { Link } from '../link/link.ts'
import { bindContent, type Content } from './content.ts'
import { createMirror } from './mirror.ts'

export interface Mirroring {
  /** The editor is there; returns the way to let go of it. */
  readonly attach: (element: HTMLElement) => () => void
  readonly received: (message: Message) => void
  readonly stored: (id: string, seq: number) => void
  readonly refused: (id: string) => void
}

export interface MirroringParts {
  readonly window: string
  readonly channel: string
  readonly publish: Link['publish']
  readonly recorder: Recorder
  /** Largest content that may be sent, in bytes of UTF-8. */
  readonly maxBytes: number
  readonly onTooLarge: (bytes: number) => void
}

const utf8 = new TextEncoder()

export function createMirroring({
  window,
  channel,
  publish,
  recorder,
  maxBytes,
  onTooLarge,
}: MirroringParts): Mirroring {
  const mirror = createMirror(window)
  let content: Content | null = null
  /** What the log said before the editor was there. */
  let early: string | null = null

  function edit(html: string, inputAt: number | null): void {
    const bytes = utf8.encode(html).length
    if (bytes > maxBytes) {
      onTooLarge(bytes)
      return
    }
    const draft = publish(channel, 'edit', { html })
    mirror.edited(draft.id)
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
    refused: mirror.refused,
  }
}
