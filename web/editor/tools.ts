// The editor's tools with their keys: one table for toolbar, tooltips, key handler and shortcuts.

import type { EditorCommands, EditorState } from './commands.ts'

interface ToolTarget {
  readonly commands: EditorCommands
  readonly openLinkForm: () => void
  readonly openShortcuts: () => void
}

export interface Tool {
  readonly name: string
  readonly label: string
  readonly group: (typeof toolGroups)[number]
  /** Such as `Mod+Shift+X`; `Mod` is ⌘ on a Mac and Ctrl elsewhere. The first one is displayed. */
  readonly keys: readonly string[]
  /** 1: on phones too; 2: with some room; 3: with room for all. Without a rank, by key only. */
  readonly rank?: 1 | 2 | 3
  readonly run: (target: ToolTarget) => void
  /** Only for tools that switch something on. */
  readonly isPressed?: (state: EditorState) => boolean
  /** Defaults to always. */
  readonly isUsable?: (state: EditorState) => boolean
  /** For tools that a slash at the beginning of a line offers: what does the same when typed, if anything. */
  readonly typed?: string
}

export const toolGroups = ['History', 'Text', 'Paragraph', 'List', 'Link', 'Help'] as const

const isList = ({ block }: EditorState) => /^[uo]l/.test(block)

type MarkName = Parameters<EditorCommands['toggleMark']>[0]
type BlockName = Parameters<EditorCommands['setBlock']>[0]

function mark(name: MarkName, label: string, keys: string, rank?: 1 | 2 | 3): Tool {
  return {
    name,
    label,
    group: 'Text',
    keys: [keys],
    ...(rank && { rank }),
    run: ({ commands }) => commands.toggleMark(name),
    isPressed: ({ marks }) => marks.has(name),
  }
}

function block(name: BlockName, label: string, keys: string, typed: string, rank?: 1 | 2 | 3): Tool {
  return {
    name,
    label,
    group: 'Paragraph',
    keys: [keys],
    typed,
    ...(rank && { rank }),
    run: ({ commands }) => commands.setBlock(name),
    isPressed: (state) => state.block === name,
  }
}

export const tools: readonly Tool[] = [
  {
    name: 'undo',
    label: 'Undo',
    group: 'History',
    keys: ['Mod+Z'],
    rank: 1,
    run: ({ commands }) => commands.undo(),
    isUsable: ({ canUndo }) => canUndo,
  },
  {
    name: 'redo',
    label: 'Redo',
    group: 'History',
    keys: ['Mod+Shift+Z', 'Mod+Y'],
    rank: 2,
    run: ({ commands }) => commands.redo(),
    isUsable: ({ canRedo }) => canRedo,
  },
  mark('bold', 'Bold', 'Mod+B', 1),
  mark('italic', 'Italic', 'Mod+I', 1),
  mark('underline', 'Underline', 'Mod+U', 2),
  mark('strike', 'Strikethrough', 'Mod+Shift+X', 3),
  mark('code', 'Code', 'Mod+E', 3),
  mark('sub', 'Subscript', 'Mod+,'),
  mark('super', 'Superscript', 'Mod+.'),
  block('h1', 'Heading', 'Mod+Alt+1', '#', 1),
  block('h2', 'Subheading', 'Mod+Alt+2', '##', 2),
  block('h3', 'Minor heading', 'Mod+Alt+3', '###'),
  {
    name: 'p',
    label: 'Paragraph',
    group: 'Paragraph',
    keys: ['Mod+Alt+0'],
    run({ commands }) {
      if (commands.state().block !== 'p') commands.setBlock('p')
    },
  },
  block('blockquote', 'Quote', 'Mod+Shift+9', '>', 2),
  block('pre', 'Code block', 'Mod+Shift+E', '```', 3),
  {
    name: 'ul',
    label: 'Bulleted list',
    group: 'List',
    keys: ['Mod+Shift+8'],
    typed: '-',
    rank: 1,
    run: ({ commands }) => commands.toggleList('ul'),
    isPressed: (state) => state.block.startsWith('ul'),
  },
  {
    name: 'ol',
    label: 'Numbered list',
    group: 'List',
    keys: ['Mod+Shift+7'],
    typed: '1.',
    rank: 2,
    run: ({ commands }) => commands.toggleList('ol'),
    isPressed: (state) => state.block.startsWith('ol'),
  },
  {
    name: 'outdent',
    label: 'Outdent',
    group: 'List',
    keys: ['Shift+Tab'],
    rank: 3,
    run: ({ commands }) => commands.indent(-1),
    isUsable: isList,
  },
  {
    name: 'indent',
    label: 'Indent',
    group: 'List',
    keys: ['Tab'],
    rank: 3,
    run: ({ commands }) => commands.indent(1),
    isUsable: isList,
  },
  {
    name: 'link',
    label: 'Link',
    group: 'Link',
    keys: ['Mod+K'],
    typed: '',
    rank: 1,
    run: ({ openLinkForm }) => openLinkForm(),
    isPressed: ({ link }) => link !== null,
  },
  {
    name: 'shortcuts',
    label: 'Keyboard shortcuts',
    group: 'Help',
    keys: ['Mod+/'],
    rank: 3,
    run: ({ openShortcuts }) => openShortcuts(),
  },
]

/** What a slash at the beginning of a line offers for the words after it, in the table's order. */
export function toolsFor(words: string): readonly Tool[] {
  const wanted = words.toLowerCase()
  return tools.filter(
    ({ label, name, typed }) =>
      typed !== undefined &&
      (name.startsWith(wanted) ||
        label
          .toLowerCase()
          .split(' ')
          .some((word) => word.startsWith(wanted))),
  )
}

/** Listed among the shortcuts beside those of the tools. */
export const otherShortcuts = [
  { label: 'Choose a heading, list, quote or code', keys: '/' },
  { label: 'Open a link', keys: 'Mod+Click' },
  { label: 'Move from the text to the toolbar', keys: 'Alt+F10' },
  { label: 'Return to the text', keys: 'Escape' },
  { label: 'Paste without formatting', keys: 'Mod+Shift+V' },
] as const

type KeyPress = Pick<KeyboardEvent, 'key' | 'code' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'>

/**
 * Matches the layout's letter, but the key's position for digits and letters of other alphabets.
 */
export function isPressOf(keys: string, press: KeyPress, isMac: boolean): boolean {
  const parts = keys.split('+')
  const key = parts.at(-1) ?? ''
  const mod = isMac ? press.metaKey : press.ctrlKey
  const otherMod = isMac ? press.ctrlKey : press.metaKey
  if (mod !== parts.includes('Mod') || otherMod) return false
  if (press.altKey !== parts.includes('Alt')) return false
  // On some layouts the slash is on a shifted key.
  if (press.shiftKey !== parts.includes('Shift') && key !== '/') return false
  if (/^\d$/.test(key)) return press.code === `Digit${key}`
  if (press.key.toUpperCase() === key.toUpperCase()) return true
  return /^[A-Z]$/.test(key) && !/^[\x20-\x7e]$/.test(press.key) && press.code === `Key${key}`
}

const macSigns: Readonly<Record<string, string>> = {
  Mod: '⌘',
  Alt: '⌥',
  Shift: '⇧',
  Tab: '⇥',
  Escape: 'Esc',
  Click: 'click',
}
/** The order on a Mac. */
const macOrder = ['Alt', 'Shift', 'Mod']

/** Keys as the platform shows them: `⌥⌘1`, `Ctrl+Alt+1`. */
export function keysShown(keys: string, isMac: boolean): string {
  const parts = keys.split('+')
  if (!isMac)
    return parts
      .map((part) => ({ Mod: 'Ctrl', Escape: 'Esc', Click: 'click' })[part as 'Mod'] ?? part)
      .join('+')
  const modifiers = macOrder.filter((name) => parts.includes(name))
  const key = parts.at(-1) ?? ''
  return [...modifiers, key].map((part) => macSigns[part] ?? part).join('')
}

/** For `aria-keyshortcuts` (WAI-ARIA 1.2). */
export function keysSpoken(keys: readonly string[], isMac: boolean): string {
  return keys.map((one) => one.replace('Mod', isMac ? 'Meta' : 'Control')).join(' ')
}
