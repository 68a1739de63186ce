// The toolbar above the document, its keys, and what opens beside it.

import {
  type KeyboardEvent as ReactKeyboardEvent,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { flushSync } from 'react-dom'
import { safeLink } from '../../app/document/rich-text.ts'
import { LateCode } from '../late-code.ts'
import { dropKeptSelection, focusByKey, keepFocus, keepSelection, useLateCode } from '../page/hooks.ts'
import { takePastes } from './clipboard.ts'
import type { EditorCommands, EditorState } from './commands.ts'
import { icons, isMac } from './tool-icons.tsx'
import { isPressOf, keysShown, keysSpoken, type Tool, toolGroups, tools } from './tools.ts'

export interface ToolbarProps {
  /** Null until the editor is mounted. */
  readonly editor: { readonly root: HTMLElement; readonly commands: EditorCommands } | null
}

const emptyState: EditorState = {
  marks: new Set(),
  block: 'p',
  link: null,
  slash: null,
  canUndo: false,
  canRedo: false,
}

const panelsCode = new LateCode(() => import('./ToolPanels.tsx'))

/** Minimum width for each rank of tools, px, including `more` for the rest. */
const widths = { 2: 530, 3: 720 }

export function Toolbar({ editor }: ToolbarProps) {
  const bar = useRef<HTMLDivElement>(null)
  const rank = useRank(bar)
  const state = useEditorState(editor)
  const [notice, setNotice] = useState<string | null>(null)
  const form = useForm(editor)
  const isForm = form.shown === 'link' || form.shown === 'shortcuts'
  const panels = useLateCode(panelsCode, isForm || state.slash !== null, (sentence) => {
    // Without its list, a slash is text.
    if (!isForm) return
    form.close()
    setNotice(sentence)
  })

  function use(tool: Tool): void {
    if (!editor || tool.isUsable?.(editor.commands.state()) === false) return
    form.leave()
    form.focusText()
    tool.run({
      commands: editor.commands,
      openLinkForm: () => form.open('link'),
      openShortcuts: () => form.open('shortcuts'),
    })
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: of what changes, `use` reads the editor only.
  useEffect(() => {
    if (!editor) return
    // Before they are asked for: what is typed then is meant for them.
    editor.root.addEventListener('focus', () => panelsCode.preload(), { once: true })
    const stopKeys = listenToKeys(editor.root, {
      use,
      state: editor.commands.state,
      toToolbar: () => bar.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus(),
    })
    const stopPastes = takePastes({
      ...editor,
      onPasted: (notes) => setNotice(notes.join(' ') || null),
      onFailed: () =>
        setNotice(
          'Not pasted: the code that cleans pasted content could not be loaded. Try again once connected.',
        ),
    })
    return () => {
      stopKeys()
      stopPastes()
    }
  }, [editor])

  return (
    <div className="tools" data-rank={rank}>
      <ToolRow
        bar={bar}
        rank={rank}
        state={state}
        isMoreOpen={form.shown === 'more'}
        onMore={form.showMore}
        onUse={use}
        onEscape={form.focusText}
      />
      {panels && form.shown === 'link' && editor && (
        <panels.LinkForm
          address={state.link}
          onClose={form.close}
          onLeave={form.leave}
          onChoose={(href, words) => {
            form.close()
            changeLink(editor, href, words)
          }}
        />
      )}
      {panels && form.shown === 'shortcuts' && <panels.Shortcuts onClose={form.close} />}
      {panels && editor && state.slash !== null && (
        <panels.SlashMenu
          root={editor.root}
          words={state.slash}
          onChoose={(tool) => editor.commands.endSlash(() => use(tool))}
          onEnd={() => editor.commands.endSlash()}
        />
      )}
      <ToolNotice sentence={notice} onDismiss={() => setNotice(null)} />
    </div>
  )
}

/** What is open beside the row of tools, and the selection in the text to which closing it returns. */
function useForm(editor: ToolbarProps['editor']) {
  const [shown, setShown] = useState<'more' | 'link' | 'shortcuts' | null>(null)
  const restoreSelection = useRef<() => void>(() => undefined)
  function focusText(): void {
    editor?.root.focus({ preventScroll: true })
  }
  function leave(): void {
    setShown(null)
    dropKeptSelection()
  }
  return {
    shown,
    focusText,
    leave,
    showMore: (isOpen: boolean) => setShown(isOpen ? 'more' : null),
    open(name: 'link' | 'shortcuts'): void {
      if (editor) restoreSelection.current = keepSelection(editor.root)
      setShown(name)
    },
    close(): void {
      leave()
      focusText()
      restoreSelection.current()
    },
  }
}

interface ToolNoticeProps {
  readonly sentence: string | null
  readonly onDismiss: () => void
}

/** Always rendered: a screen reader announces content added to an existing region. */
function ToolNotice({ sentence, onDismiss }: ToolNoticeProps) {
  return (
    <output className="tool-notice">
      {sentence !== null && (
        <span className="tool-panel raised">
          {sentence}
          <button type="button" className="text-button" onMouseDown={keepFocus} onClick={onDismiss}>
            Dismiss
          </button>
        </span>
      )}
    </output>
  )
}

interface ToolRowProps {
  readonly bar: RefObject<HTMLDivElement | null>
  /** Tools up to this rank have room in the row. */
  readonly rank: number
  readonly state: EditorState
  readonly isMoreOpen: boolean
  readonly onMore: (isOpen: boolean) => void
  readonly onUse: (tool: Tool) => void
  readonly onEscape: () => void
}

function ToolRow({ bar, rank, state, isMoreOpen, onMore, onUse, onEscape }: ToolRowProps) {
  /** The tool that Tab reaches (WAI-ARIA Authoring Practices, "Toolbar Pattern"). */
  const [reached, setReached] = useState('bold')
  const buttons = tools.filter((tool) => tool.rank !== undefined)
  const shown = buttons.filter((tool) => (tool.rank ?? 3) <= rank)
  const others = buttons.filter((tool) => !shown.includes(tool))
  const names = [...shown.map(({ name }) => name), ...(others.length > 0 ? ['more'] : [])]
  const first = names.includes(reached) || isMoreOpen ? reached : names[0]

  function moveByKey(event: ReactKeyboardEvent<HTMLElement>): void {
    if (event.key === 'Escape') {
      event.preventDefault()
      if (isMoreOpen) onMore(false)
      onEscape()
      return
    }
    // Both axes move, since its panel is a column.
    focusByKey(event, '[data-tool]', event.key.replace('Right', 'Down').replace('Left', 'Up'))
  }
  const buttonFor = (tool: Tool, isNamed: boolean) => (
    <ToolButton
      key={tool.name}
      tool={tool}
      isReached={first === tool.name}
      isPressed={tool.isPressed?.(state)}
      isDisabled={tool.isUsable?.(state) === false}
      isNamed={isNamed}
      onClick={() => onUse(tool)}
    />
  )

  return (
    <div
      ref={bar}
      className="toolbar"
      role="toolbar"
      aria-label="Formatting"
      aria-controls="document"
      onKeyDown={moveByKey}
      onMouseDown={keepFocus}
      onFocus={({ target }) => setReached(target.dataset.tool ?? reached)}
      onBlur={({ currentTarget, relatedTarget }) =>
        isMoreOpen && !currentTarget.contains(relatedTarget) && onMore(false)
      }
    >
      {toolGroups.map((group) => {
        const members = shown.filter((tool) => tool.group === group)
        return (
          members.length > 0 && (
            <div key={group} className="tool-group" data-group={group}>
              {members.map((tool) => buttonFor(tool, false))}
            </div>
          )
        )
      })}
      {others.length > 0 && (
        <div className="tool-group tool-last">
          <ToolButton
            tool={{ name: 'more', label: 'More tools', keys: [] }}
            isReached={first === 'more'}
            isExpanded={isMoreOpen}
            onClick={() => onMore(!isMoreOpen)}
          />
        </div>
      )}
      {isMoreOpen && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a toolbar.
        <div className="tool-panel tool-more raised" role="group" aria-label="More tools">
          {others.map((tool) => buttonFor(tool, true))}
        </div>
      )}
    </div>
  )
}

interface ToolButtonProps {
  readonly tool: Pick<Tool, 'name' | 'label' | 'keys'>
  readonly isReached: boolean
  readonly isPressed?: boolean | undefined
  readonly isExpanded?: boolean
  readonly isDisabled?: boolean
  readonly isNamed?: boolean
  readonly onClick: () => void
}

function ToolButton({
  tool,
  isReached,
  isPressed,
  isExpanded,
  isDisabled,
  isNamed,
  onClick,
}: ToolButtonProps) {
  const { name, label, keys } = tool
  const [shortcut] = keys
  return (
    <button
      type="button"
      className="tool"
      data-tool={name}
      tabIndex={isReached ? 0 : -1}
      title={shortcut && !isNamed ? `${label} (${keysShown(shortcut, isMac)})` : isNamed ? undefined : label}
      aria-label={isNamed ? undefined : label}
      aria-keyshortcuts={shortcut && keysSpoken(keys, isMac)}
      aria-pressed={isPressed}
      aria-expanded={isExpanded}
      // Not `disabled`, which the arrow keys could not reach.
      aria-disabled={isDisabled || undefined}
      onClick={onClick}
    >
      {icons[name]}
      {isNamed && <span>{label}</span>}
    </button>
  )
}

/** For a caret, changes the link around it, or inserts the address as text. */
function changeLink(
  { root, commands }: NonNullable<ToolbarProps['editor']>,
  href: string | null,
  words: string,
) {
  const selection = getSelection()
  if (!selection?.isCollapsed) commands.setLink(href)
  else {
    const link = linkAt(root, selection.anchorNode)
    if (link) {
      selection.selectAllChildren(link)
      commands.setLink(href)
      getSelection()?.collapseToEnd()
    } else if (href !== null)
      commands.insert([{ runs: [{ text: words, marks: { link: href } }], block: 'p', align: null }])
  }
}

function linkAt(root: HTMLElement, node: Node | null): HTMLAnchorElement | null {
  const element = node instanceof Element ? node : node?.parentElement
  const link = element?.closest<HTMLAnchorElement>('a[href]')
  return link && root.contains(link) ? link : null
}

interface KeyTarget {
  readonly use: (tool: Tool) => void
  readonly state: () => EditorState
  readonly toToolbar: () => void
}

/**
 * Attach after the editor's own listeners, which may handle a key first; runs before
 * medium-editor's.
 */
function listenToKeys(root: HTMLElement, { use, state, toToolbar }: KeyTarget): () => void {
  const ending = new AbortController()
  const options = { signal: ending.signal, capture: true }
  root.addEventListener(
    'keydown',
    (event) => {
      if (event.defaultPrevented || event.isComposing) return
      // On some layouts this key writes a character.
      if (event.getModifierState('AltGraph')) return
      if (event.key === 'F10' && event.altKey) toToolbar()
      else {
        const tool = tools.find(({ keys }) => keys.some((one) => isPressOf(one, event, isMac)))
        // Tab moves the focus outside lists.
        if (!tool || (event.key === 'Tab' && tool.isUsable?.(state()) === false)) return
        use(tool)
      }
      event.preventDefault()
      event.stopImmediatePropagation()
    },
    options,
  )
  root.addEventListener(
    'click',
    (event) => {
      if (!(isMac ? event.metaKey : event.ctrlKey)) return
      const address = safeLink(linkAt(root, event.target as Node)?.getAttribute('href'))
      if (address === null) return
      event.preventDefault()
      open(address, '_blank', 'noopener,noreferrer')
    },
    options,
  )
  return () => ending.abort()
}

/** The state that the toolbar shows, updated at most once a frame. */
function useEditorState(editor: ToolbarProps['editor']): EditorState {
  const [state, setState] = useState(emptyState)
  useEffect(() => {
    if (!editor) return
    const { root, commands } = editor
    let isDue = false
    const show = () => {
      const next = commands.state()
      setState((shown) => (isSame(shown, next) ? shown : next))
    }
    const read = () => {
      isDue = false
      // Keeps the previous state while the link form has the selection.
      if (root.contains(getSelection()?.anchorNode ?? root)) show()
    }
    const stop = commands.onState(() => {
      if (!isDue) queueMicrotask(read)
      isDue = true
    })
    // Also without a selection: an editor that comes back can undo.
    show()
    return stop
  }, [editor])
  return state
}

function isSame(a: EditorState, b: EditorState): boolean {
  return (
    a.block === b.block &&
    a.link === b.link &&
    a.slash === b.slash &&
    a.canUndo === b.canUndo &&
    a.canRedo === b.canRedo &&
    a.marks.symmetricDifference(b.marks).size === 0
  )
}

/** Returns the highest rank of tools that fits. */
function useRank(bar: RefObject<HTMLElement | null>): 1 | 2 | 3 {
  const [rank, setRank] = useState<1 | 2 | 3>(() => rankIn(innerWidth))
  useLayoutEffect(() => {
    if (!bar.current) return
    // Called before the first frame is painted. To ask the element itself would lay out the page once more.
    const observer = new ResizeObserver(
      ([entry]) => entry && flushSync(() => setRank(rankIn(entry.target.clientWidth))),
    )
    observer.observe(bar.current)
    return () => observer.disconnect()
  }, [bar])
  return rank
}

const rankIn = (width: number) => (width >= widths[3] ? 3 : width >= widths[2] ? 2 : 1)
