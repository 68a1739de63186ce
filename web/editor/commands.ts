// What toolbar, keys and paste do to the document: the contract of both editors, and the mirror's commands.

export type Mark = 'bold' | 'italic' | 'underline' | 'strike' | 'code' | 'sub' | 'super'
export type Block = 'p' | 'h1' | 'h2' | 'h3' | 'blockquote' | 'pre'
export type ListKind = 'ul' | 'ol'

export interface EditorState {
  /** Names of `Mark`, at the caret or over the whole selection. */
  readonly marks: ReadonlySet<string>
  /** A `Block`, another heading, or a list with its level: `ul1` to `ul6`, `ol1` to `ol6`. */
  readonly block: string
  readonly link: string | null
  readonly canUndo: boolean
  readonly canRedo: boolean
}

/** Commands act on the selection in the document, which has the focus. */
export interface EditorCommands {
  toggleMark(mark: Mark): void
  /** The block that is there already becomes a paragraph. */
  setBlock(block: Block): void
  toggleList(kind: ListKind): void
  /** Changes the nesting level of list items; without effect elsewhere. */
  indent(by: 1 | -1): void
  /** `null` removes the link. */
  setLink(href: string | null): void
  undo(): void
  redo(): void
  /** Inserts clean content (allowed elements only) at the selection. */
  insert(content: DocumentFragment): void
  /** What the toolbar shows. */
  state(): EditorState
  /** Calls back when `state` may have changed; returns the stop function. */
  onState(listener: () => void): () => void
}

/** A mounted editor, of either kind. */
export interface MountedEditor {
  readonly commands: EditorCommands
  /** Releases the element. */
  release(): void
}

/** The browser's own commands, which work on the HTML that the mirror sends. */
const browserCommands: Readonly<Record<Exclude<Mark, 'code'>, string>> = {
  bold: 'bold',
  italic: 'italic',
  underline: 'underline',
  strike: 'strikeThrough',
  sub: 'subscript',
  super: 'superscript',
}

export function mirrorCommands(root: HTMLElement): EditorCommands {
  const listeners = new Set<() => void>()

  function execute(command: string, value?: string): void {
    document.execCommand(command, false, value)
    for (const listener of listeners) listener()
  }

  /** The innermost element at the selection's start that matches, inside the document. */
  function enclosing(selector: string): HTMLElement | null {
    const node = getSelection()?.anchorNode
    const element = node instanceof Element ? node : node?.parentElement
    const found = element?.closest<HTMLElement>(selector)
    return found && found !== root && root.contains(found) ? found : null
  }

  const isMarked = (mark: Mark) =>
    mark === 'code'
      ? enclosing('code') !== null && enclosing('pre') === null
      : document.queryCommandState(browserCommands[mark])

  function toggleCode(): void {
    const code = enclosing('code')
    const selection = getSelection()
    if (code) code.replaceWith(...code.childNodes)
    else if (selection && !selection.isCollapsed) {
      // No command of the browser does this.
      const range = selection.getRangeAt(0)
      const wrapper = document.createElement('code')
      wrapper.append(range.extractContents())
      range.insertNode(wrapper)
      selection.selectAllChildren(wrapper)
    }
    for (const listener of listeners) listener()
  }

  function blockShown(): string {
    const item = enclosing('li')
    if (!item) return enclosing('h1, h2, h3, h4, h5, h6, blockquote, pre')?.localName ?? 'p'
    let level = 0
    for (let list = item.parentElement; list && list !== root; list = list.parentElement)
      if (list.matches('ul, ol')) level += 1
    return `${item.parentElement?.localName ?? 'ul'}${Math.min(level, 6)}`
  }

  return {
    toggleMark(mark) {
      if (mark === 'code') toggleCode()
      else execute(browserCommands[mark])
    },
    setBlock(block) {
      const shown = blockShown()
      if (shown !== 'blockquote' || block === 'blockquote') {
        execute('formatBlock', shown === block ? 'p' : block)
        if (shown !== 'blockquote') return
      }
      // Firefox wraps the quoted paragraph, which only `outdent` unwraps.
      if (enclosing('blockquote')) execute('outdent')
      if (block !== 'blockquote' && block !== blockShown()) execute('formatBlock', block)
    },
    toggleList(kind) {
      execute(kind === 'ul' ? 'insertUnorderedList' : 'insertOrderedList')
      // Chromium leaves bare text of what was an item.
      if (!enclosing('li') && blockShown() === 'p') execute('formatBlock', 'p')
    },
    indent(by) {
      // Elsewhere it would make quotes, in Chromium with a style that the page's policy forbids.
      if (enclosing('li')) execute(by === 1 ? 'indent' : 'outdent')
    },
    setLink(href) {
      const link = enclosing('a')
      // Firefox would nest the links.
      if (link && href !== null) link.setAttribute('href', href)
      else if (href !== null) execute('createLink', href)
      else {
        if (link && getSelection()?.isCollapsed) getSelection()?.selectAllChildren(link)
        execute('unlink')
      }
    },
    undo: () => execute('undo'),
    redo: () => execute('redo'),
    insert(content) {
      const inert = document.implementation.createHTMLDocument().createElement('div')
      const [code] = content.children
      // Code within code is more of its text.
      if (code?.localName === 'pre' && content.childNodes.length === 1 && enclosing('pre'))
        inert.append(...code.childNodes)
      else inert.append(content)
      execute('insertHTML', inert.innerHTML)
    },
    state: () => ({
      marks: new Set(
        (['bold', 'italic', 'underline', 'strike', 'code', 'sub', 'super'] as const).filter(isMarked),
      ),
      block: blockShown(),
      link: enclosing('a')?.getAttribute('href') ?? null,
      canUndo: document.queryCommandEnabled('undo'),
      canRedo: document.queryCommandEnabled('redo'),
    }),
    onState(listener) {
      listeners.add(listener)
      document.addEventListener('selectionchange', listener)
      root.addEventListener('input', listener)
      return () => {
        listeners.delete(listener)
        document.removeEventListener('selectionchange', listener)
        root.removeEventListener('input', listener)
      }
    },
  }
}
