// The mode that was asked for, as a button that opens the list of modes to switch to, live.

import { type KeyboardEvent, useRef, useState } from 'react'
import type { Store } from '../store/store.ts'
import type { Actions } from './actions.ts'
import { ClockLine } from './ClockLine.tsx'
import { Chevron } from './Icons.tsx'
import { modeWords } from './link-words.ts'
import { ModeList } from './ModeList.tsx'
import { useView } from './use-view.ts'

interface ModeMenuProps {
  readonly store: Store
  readonly actions: Actions
  /** Name of the mode that the server's config sets; marked as such. */
  readonly defaultMode: string | undefined
}

export function ModeMenu({ store, actions, defaultMode }: ModeMenuProps) {
  const wished = useView(store, (view) => view.link.wished)
  const inUse = useView(store, (view) => view.link.mode)
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)

  function close(): void {
    setOpen(false)
    button.current?.focus()
  }
  function choose(name: string): void {
    close()
    // What was asked for and is not in use is tried again at once.
    if (name !== inUse || name !== wished) actions.switchMode(name)
  }
  function openByArrow(event: KeyboardEvent): void {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    setOpen(true)
  }

  return (
    <div className="mode">
      <button
        ref={button}
        type="button"
        className="mode-button"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={isOpen ? close : () => setOpen(true)}
        // Focus stays in the open list, so that the press that closes it does not find it closed already.
        onMouseDown={(event) => event.preventDefault()}
        onKeyDown={openByArrow}
      >
        <span className="visually-hidden">Mode: </span>
        {modeWords(wished)}
        <Chevron />
      </button>
      {isOpen && (
        <ModeList
          current={wished}
          defaultMode={defaultMode}
          onChoose={choose}
          onClose={close}
          onLeave={() => setOpen(false)}
        >
          <ClockLine store={store} />
        </ModeList>
      )}
    </div>
  )
}
