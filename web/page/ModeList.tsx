// The open list of modes: arrow keys move, Enter switches, Escape leaves all as it was.

import { type FocusEvent, type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef } from 'react'
import { type Mode, modes } from '../../server/wire/modes.ts'
import { clockLineId } from './ClockLine.tsx'
import { Tick } from './Icons.tsx'
import { indexAfterKey } from './menu-keys.ts'

interface ModeListProps {
  readonly current: string
  readonly defaultMode: string | undefined
  readonly onChoose: (name: string) => void
  /** By Escape: the focus goes back to where it came from. */
  readonly onClose: () => void
  /** The focus has gone elsewhere by itself. */
  readonly onLeave: () => void
  /** What stands below the modes. */
  readonly children: ReactNode
}

const groups = [
  { heading: 'Push', modes: modes.filter(({ isPush }) => isPush) },
  { heading: 'Polling', modes: modes.filter(({ isPush }) => !isPush) },
]

export function ModeList({ current, defaultMode, onChoose, onClose, onLeave, children }: ModeListProps) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const checked = itemsOf(list).findIndex((item) => item.getAttribute('aria-checked') === 'true')
    focusItem(list, Math.max(0, checked))
  }, [])

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === 'Escape') onClose()
    const next = indexAfterKey(event.key, focusedIndex(list), itemsOf(list).length)
    if (next === null) return
    event.preventDefault()
    focusItem(list, next)
  }
  function onBlur(event: FocusEvent<HTMLDivElement>): void {
    if (!event.currentTarget.contains(event.relatedTarget)) onLeave()
  }

  return (
    <div
      ref={list}
      className="mode-list"
      role="menu"
      aria-label="Mode"
      aria-describedby={clockLineId}
      tabIndex={-1}
      onKeyDown={onKeyDown}
      onBlur={onBlur}
      // Safari gives no focus to a pressed button; without this the list would close before the click.
      onMouseDown={(event) => event.preventDefault()}
    >
      {groups.map(({ heading, modes }) => (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a menu.
        <div key={heading} className="mode-group" role="group" aria-label={heading}>
          <div className="mode-heading" aria-hidden="true">
            {heading}
          </div>
          {modes.map((mode) => (
            <ModeItem
              key={mode.name}
              mode={mode}
              isCurrent={mode.name === current}
              isDefault={mode.name === defaultMode}
              onChoose={onChoose}
            />
          ))}
        </div>
      ))}
      {children}
    </div>
  )
}

interface ModeItemProps {
  readonly mode: Mode
  readonly isCurrent: boolean
  readonly isDefault: boolean
  readonly onChoose: (name: string) => void
}

function ModeItem({ mode, isCurrent, isDefault, onChoose }: ModeItemProps) {
  return (
    <button
      type="button"
      className="mode-item"
      data-mode={mode.name}
      role="menuitemradio"
      aria-checked={isCurrent}
      tabIndex={-1}
      onClick={() => onChoose(mode.name)}
    >
      <span className="mode-tick">{isCurrent && <Tick />}</span>
      <span className="mode-label">
        {mode.label}
        {isDefault && <span className="mode-default"> default</span>}
      </span>
      <span className="mode-explanation">
        {mode.explanation}.{limitWords(mode)}
      </span>
    </button>
  )
}

function limitWords({ windowsPerBrowser }: Mode): string {
  return windowsPerBrowser === null ? '' : ` Good for ${windowsPerBrowser} windows of one browser.`
}

function itemsOf(list: RefObject<HTMLElement | null>): Element[] {
  return [...(list.current?.querySelectorAll('.mode-item') ?? [])]
}

function focusedIndex(list: RefObject<HTMLDivElement | null>): number {
  return document.activeElement ? itemsOf(list).indexOf(document.activeElement) : -1
}

function focusItem(list: RefObject<HTMLDivElement | null>, index: number): void {
  const item = itemsOf(list)[index]
  if (item instanceof HTMLElement) item.focus()
}
