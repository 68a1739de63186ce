// The editor of the 2021 paper, whole: each edit carries all content, and the newest one wins.

import type { DraftStore, Link } from '../../client/index.ts'
import type { Message } from '../../server/wire/messages.ts'
import type { View } from '../store.ts'
import type { MountedEditor } from './commands.ts'
import { bindContent, contentCommands } from './content.ts'
import { createLeftEdits } from './left-edits.ts'
import { createMirroring, type MirroringParts } from './mirroring.ts'

interface MirrorParts extends Omit<MirroringParts, 'publish' | 'onReplaced'> {
  /** Called only after the mirror was returned. */
  readonly link: () => Pick<Link, 'publish' | 'adopt' | 'cursor' | 'save'>
  readonly store: Pick<DraftStore, 'forget'>
  readonly hasUnstored: () => boolean
  readonly onOffer: (offered: View['left']) => void
}

export function createMirror({ link, store, hasUnstored, onOffer, ...parts }: MirrorParts) {
  const { channel } = parts
  const mirroring = createMirroring({
    ...parts,
    publish: (html) => link().publish(channel, 'edit', { html }),
    onReplaced: (draft) => leftEdits.replaced(draft),
  })
  const leftEdits = createLeftEdits({ mirroring, link, store, hasUnstored, onOffer })

  return {
    ...mirroring,
    received(message: Message): void {
      if (message.channel === channel) leftEdits.shown(message)
      mirroring.received(message)
    },
    attach(element: HTMLElement): MountedEditor {
      const release = mirroring.attach((onEdit) => bindContent(element, onEdit))
      return { commands: contentCommands(element), release }
    },
    /** Edits that an earlier or closed window left, and their fates. */
    left: { take: leftEdits.take, restore: leftEdits.restore, discard: leftEdits.discard },
  }
}
