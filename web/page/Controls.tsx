// Shared controls: popups, menus, and a choice of one in a row.

import {
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import { dropKeptSelection, focusByKey, itemsIn, keepFocus, keepSelection } from './hooks.ts'

/**
 * A popup opened by a button; closed by Escape and when the focus leaves it. `button` and `popup`:
 * props of the button, and of the element that the focus may not leave. Closing returns the focus to where it was:
 * the button or, if a mouse opened it, such as the text.
 */
export function usePopup() {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  /** Element that had the focus before a mouse opened it, and its selection. */
  const before = useRef<{ readonly element: HTMLElement; readonly select: () => void } | null>(null)
  function close(): void {
    const { element, select } = before.current ?? {}
    leave()
    if (element?.isConnected) {
      element.focus({ preventScroll: true })
      select?.()
    } else button.current?.focus()
  }
  function leave(): void {
    before.current = null
    dropKeptSelection()
    setOpen(false)
  }
  return {
    isOpen,
    setOpen,
    close,
    button: {
      ref: button,
      type: 'button',
      'aria-expanded': isOpen,
      onMouseDown() {
        const element = document.activeElement
        if (isOpen || !(element instanceof HTMLElement) || element === document.body) return
        before.current = { element, select: keepSelection(element) }
      },
      onClick({ detail }: MouseEvent) {
        // Pressed by key.
        if (detail === 0) before.current = null
        if (isOpen) close()
        else setOpen(true)
      },
    },
    popup: {
      onKeyDown: (event: KeyboardEvent) => isOpen && event.key === 'Escape' && close(),
      onBlur: ({ currentTarget, relatedTarget }: FocusEvent) =>
        currentTarget.contains(relatedTarget) || leave(),
    },
  } as const
}

interface MenuProps {
  readonly label: string
  readonly className: string
  readonly buttonClass: string
  readonly listClass: string
  /** Content of the button. */
  readonly shown: ReactNode
  readonly describedBy?: string
  /** Called only while it is open. Items have a `role` that begins with `menuitem`. */
  readonly children: (close: () => void) => ReactNode
}

/**
 * WAI-ARIA Authoring Practices, "Menu Button Pattern". Opens at its first item.
 */
export function Menu({ label, className, buttonClass, listClass, shown, describedBy, children }: MenuProps) {
  const { isOpen, setOpen, close, button, popup } = usePopup()
  const menu = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isOpen && menu.current) itemsIn(menu.current, '[role^=menuitem]')[0]?.focus()
  }, [isOpen])
  function openByArrow(event: KeyboardEvent): void {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    setOpen(true)
  }
  return (
    <div className={className}>
      <button
        {...button}
        className={buttonClass}
        aria-haspopup="menu"
        onMouseDown={(event) => {
          button.onMouseDown()
          keepFocus(event)
        }}
        onKeyDown={openByArrow}
      >
        {shown}
      </button>
      {isOpen && (
        <div
          ref={menu}
          className={listClass}
          role="menu"
          aria-label={label}
          aria-describedby={describedBy}
          tabIndex={-1}
          onKeyDown={(event) => {
            popup.onKeyDown(event)
            focusByKey(event, '[role^=menuitem]')
          }}
          onBlur={popup.onBlur}
          // Pressing an item would move the focus (in Safari to nothing), and the menu would close before the click.
          onMouseDown={keepFocus}
        >
          {children(close)}
        </div>
      )}
    </div>
  )
}

interface SegmentsProps<Choice extends string | number> {
  readonly label: string
  readonly choices: readonly (readonly [choice: Choice, words: string])[]
  readonly chosen: Choice
  readonly onChoose: (choice: Choice) => void
}

/** Radio buttons in a row. */
export function Segments<Choice extends string | number>({
  label,
  choices,
  chosen,
  onChoose,
}: SegmentsProps<Choice>) {
  const name = useId()
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">{label}</legend>
      {choices.map(([choice, words]) => (
        <label key={choice} className="segment">
          <input
            type="radio"
            name={name}
            value={choice}
            checked={choice === chosen}
            onChange={() => onChoose(choice)}
          />
          <span className="segment-words small">{words}</span>
        </label>
      ))}
    </fieldset>
  )
}
