// What opens over the text: the link form, the list of shortcuts, and what a slash offers. Loaded when the first opens.

import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { safeLink } from '../../app/document/rich-text.ts'
import { keepFocus } from '../page/hooks.ts'
import '../styles/tool-panels.css'
import { icons, isMac } from './tool-icons.tsx'
import { keysShown, otherShortcuts, type Tool, tools, toolsFor } from './tools.ts'
import { addressTyped } from './typed-address.ts'

interface LinkFormProps {
  /** Null for a new link. */
  readonly address: string | null
  /** Returns to the selection in the text. */
  readonly onClose: () => void
  /** The user moved the focus elsewhere. */
  readonly onLeave: () => void
  readonly onChoose: (href: string | null, words: string) => void
}

export function LinkForm({ address, onClose, onLeave, onChoose }: LinkFormProps) {
  const [former] = useState(address)
  const [words, setWords] = useState(address ?? '')
  const [refusal, setRefusal] = useState<string | null>(null)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.select(), [])
  const opened = former === null ? null : safeLink(former.trim())
  function submit(): void {
    const answer = addressTyped(words)
    if ('href' in answer) onChoose(answer.href, words.trim())
    else {
      setRefusal(answer.refusal)
      field.current?.focus()
    }
  }
  return (
    <form
      className="tool-panel link-form raised"
      aria-label="Link"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.preventDefault()
        onClose()
      }}
      onBlur={({ currentTarget, relatedTarget }) =>
        relatedTarget && !currentTarget.contains(relatedTarget) && onLeave()
      }
    >
      <label className="visually-hidden" htmlFor="link-address">
        Link address
      </label>
      <input
        ref={field}
        id="link-address"
        className="field"
        type="text"
        inputMode="url"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        placeholder="example.org or name@example.org"
        value={words}
        aria-invalid={refusal !== null}
        aria-describedby={refusal === null ? undefined : 'link-refusal'}
        onChange={({ target }) => {
          setWords(target.value)
          setRefusal(null)
        }}
      />
      <span className="row link-actions">
        <button type="submit" className="button">
          {former === null ? 'Set link' : 'Change'}
        </button>
        {former !== null && (
          <button type="button" className="button" onClick={() => onChoose(null, '')}>
            Remove
          </button>
        )}
        {opened !== null && (
          <a className="button" href={opened} target="_blank" rel="noopener noreferrer">
            Open
          </a>
        )}
      </span>
      <p id="link-refusal" className="link-refusal" role="alert">
        {refusal}
      </p>
    </form>
  )
}

export function Shortcuts({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const rows = (items: readonly { label: string; keys: string | readonly string[] }[]) =>
    items.map(({ label, keys }) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>
          {[keys].flat().map((one) => (
            <kbd key={one}>{keysShown(one, isMac)}</kbd>
          ))}
        </dd>
      </div>
    ))
  return (
    <dialog
      ref={dialog}
      className="dialog shortcuts raised"
      aria-labelledby="shortcuts-heading"
      onClose={onClose}
    >
      <form method="dialog" className="row">
        <h2 id="shortcuts-heading">Keyboard shortcuts</h2>
        <button type="submit" className="button">
          Close
        </button>
      </form>
      <dl>
        {rows(tools)}
        {rows(otherShortcuts)}
      </dl>
    </dialog>
  )
}

interface SlashMenuProps {
  readonly root: HTMLElement
  /** What was typed after the slash. */
  readonly words: string
  readonly onChoose: (tool: Tool) => void
  readonly onEnd: () => void
}

const optionId = (place: number) => `slash-option-${place}`

/** WAI-ARIA Authoring Practices, "Combobox Pattern": the text keeps the focus. */
export function SlashMenu({ root, words, onChoose, onEnd }: SlashMenuProps) {
  const options = toolsFor(words)
  const list = useRef<HTMLDivElement>(null)
  /** Of the option that Enter takes, for these words. */
  const [reached, setReached] = useState({ words, place: 0 })
  const place = reached.words === words ? reached.place : 0
  const isShown = options.length > 0

  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const chosen = options[place]
    if (event.isComposing || !chosen || event.ctrlKey || event.metaKey || event.altKey) return
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by) setReached({ words, place: (place + by + options.length) % options.length })
    else if (event.key === 'Enter' || event.key === 'Tab') onChoose(chosen)
    else if (event.key === 'Escape') onEnd()
    else return
    event.preventDefault()
    event.stopImmediatePropagation()
  })
  const onBlur = useEffectEvent(onEnd)
  useEffect(() => {
    const ending = new AbortController()
    const options = { capture: true, signal: ending.signal }
    document.addEventListener('keydown', (event) => onKey(event), options)
    root.addEventListener('blur', () => onBlur(), options)
    return () => ending.abort()
  }, [root])

  useEffect(() => {
    if (!isShown) return
    root.setAttribute('aria-controls', 'slash-options')
    root.setAttribute('aria-activedescendant', optionId(place))
    document.getElementById(optionId(place))?.scrollIntoView({ block: 'nearest' })
    return () => {
      root.removeAttribute('aria-controls')
      root.removeAttribute('aria-activedescendant')
    }
  }, [root, place, isShown])

  // biome-ignore lint/correctness/useExhaustiveDependencies: again when the list has another height.
  useLayoutEffect(() => {
    if (list.current) putBesideCaret(list.current)
  }, [options.length])

  if (!isShown || !root.parentElement) return null
  return createPortal(
    <div
      ref={list}
      className="slash-menu raised"
      role="listbox"
      id="slash-options"
      aria-label="Kinds of blocks"
    >
      {options.map((tool, at) => (
        <button
          type="button"
          key={tool.name}
          id={optionId(at)}
          role="option"
          tabIndex={-1}
          aria-selected={at === place}
          className="slash-option"
          onMouseDown={keepFocus}
          onPointerMove={() => setReached({ words, place: at })}
          onClick={() => onChoose(tool)}
        >
          {icons[tool.name] ?? <span />}
          <span>{tool.label}</span>
          {tool.typed && <kbd>{tool.typed}</kbd>}
        </button>
      ))}
    </div>,
    root.parentElement,
  )
}

/** Below the caret or, if there is more room, above it; within the part of the page that a keyboard leaves. */
function putBesideCaret(list: HTMLElement): void {
  const selection = getSelection()
  const frame = list.offsetParent?.getBoundingClientRect()
  if (!selection?.rangeCount || !frame) return
  const caret = selection.getRangeAt(0).getBoundingClientRect()
  const { anchorNode } = selection
  const line = anchorNode instanceof Element ? anchorNode : anchorNode?.parentElement
  const left = line?.getBoundingClientRect().left ?? caret.left
  const { height = innerHeight, offsetTop = 0 } = visualViewport ?? {}
  const above = caret.top - offsetTop
  const below = offsetTop + height - caret.bottom
  const isBelow = below >= list.scrollHeight || below >= above
  const gap = 6
  list.style.maxHeight = `${Math.max(88, (isBelow ? below : above) - 4 * gap)}px`
  list.style.left = `${Math.max(gap, Math.min(left - frame.left, frame.width - list.offsetWidth - gap))}px`
  list.style.top = isBelow ? `${caret.bottom - frame.top + gap}px` : 'auto'
  list.style.bottom = isBelow ? 'auto' : `${frame.bottom - caret.top + gap}px`
}
