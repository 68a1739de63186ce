// The frame of dialogs.

import { type ReactNode, useEffect, useId, useRef } from 'react'
import { createPortal } from 'react-dom'
import type { PageProps } from '../page/hooks.ts'
import '../styles/dialogs.css'

export interface DialogProps extends PageProps {
  readonly onClose: () => void
}

interface FrameProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
}

/** Modal, outside the header. The browser returns the focus to its previous place. */
export function Dialog({ title, onClose, children }: FrameProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return createPortal(
    // biome-ignore lint/a11y/useKeyWithClickEvents: the Escape key closes it too.
    <dialog
      ref={dialog}
      className="dialog raised"
      aria-labelledby={heading}
      onClose={onClose}
      // Only a click on the backdrop has the dialog itself as its target.
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
    >
      <div className="dialog-content">
        <h2 id={heading}>{title}</h2>
        {children}
        <button
          type="button"
          className="dialog-close"
          aria-label="Close"
          onClick={() => dialog.current?.close()}
        >
          ×
        </button>
      </div>
    </dialog>,
    document.body,
  )
}
