// The commands of the editor, as the toolbar sees them; text-editor performs them.

import type { Line } from '../../app/document/rich-text.ts'

export const marks = ['bold', 'italic', 'underline', 'strike', 'code', 'sub', 'super'] as const
export type Mark = (typeof marks)[number]

export type Block = 'p' | 'h1' | 'h2' | 'h3' | 'blockquote' | 'pre'
export type ListKind = 'ul' | 'ol'

export interface EditorState {
  /** Names of `Mark`, at the caret or over the whole selection. */
  readonly marks: ReadonlySet<string>
  /** A `Block`, or for headings and lists with level: `ul1` to `ul6`, `ol1` to `ol6`. */
  readonly block: string
  readonly link: string | null
  /** What was typed after a slash at the beginning of a line, to choose a block by; else null. */
  readonly slash: string | null
  readonly canUndo: boolean
  readonly canRedo: boolean
}

/** Commands act on the selection in the document, which has the focus. */
export interface EditorCommands {
  toggleMark(mark: Mark): void
  /** If the block is already of this kind, it becomes a paragraph. */
  setBlock(block: Block): void
  toggleList(kind: ListKind): void
  /** Changes the nesting level of list items; has no effect elsewhere. */
  indent(by: 1 | -1): void
  /** `null` removes the link. */
  setLink(href: string | null): void
  /** Closes the list of a slash. With `run`, first removes the slash and the words after it; both are one undo step. */
  endSlash(run?: () => void): void
  undo(): void
  redo(): void
  /** Replaces the selection with lines. */
  insert(lines: readonly Line[]): void
  /** State that the toolbar shows. */
  state(): EditorState
  /** Calls back when `state` may have changed; returns the function that stops it. */
  onState(listener: () => void): () => void
}

export interface MountedEditor {
  readonly commands: EditorCommands
  /** Releases the element. */
  release(): void
}
