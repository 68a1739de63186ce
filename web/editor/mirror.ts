// The editor of the 2021 paper, whole: each edit carries all content, and the newest one wins.

import type { DraftStore, Link } from '../../client/index.ts'
import type { Message } from '../../server/wire/messages.ts'
import type { View } from '../store.ts'
import type { MountedEditor } from './commands.ts'
import { bindContent, contentCommands } from './content.ts'
import { LeftEdits } from './left-edits.ts'
import { Mirroring, type MirroringOptions } from './mirroring.ts'

interface MirrorOptions extends Omit<MirroringOptions, 'onReplaced'> {
  readonly link: Link
  readonly store: DraftStore
  readonly hasUnstored: () => boolean
  readonly onOffer: (offered: View['left']) => void
}

export class Mirror extends Mirroring {
  /** Edits that an earlier or closed window left, and their fates. */
  readonly left: LeftEdits
  readonly #channel: string

  constructor({ link, store, hasUnstored, onOffer, ...rest }: MirrorOptions) {
    super({ ...rest, link, onReplaced: (draft) => this.left.replaced(draft) })
    this.#channel = rest.channel
    this.left = new LeftEdits({ mirroring: this, link, store, hasUnstored, onOffer })
  }

  override received(message: Message): void {
    if (message.channel === this.#channel) this.left.shown(message)
    super.received(message)
  }

  mount(element: HTMLElement): MountedEditor {
    const release = this.attach((onEdit) => bindContent(element, onEdit))
    return { commands: contentCommands(element), release }
  }
}
