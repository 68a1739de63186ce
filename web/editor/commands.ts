// What toolbar, keys and paste do to the document: the contract of both editors.

import type { Line } from '../../server/document/rich-text.ts'

export const marks = ['bold', 'italic', 'underline', 'strike', 'code', 'sub', 'super'] as const
export type Mark = (typeof marks)[number]

/** As `execCommand` names them, and behind `format` the input types (Input Events Level 2, 4.1.2). */
export const browserCommands: Readonly<Record<Exclude<Mark, 'code'>, string>> = {
  bold: 'bold',
  italic: 'italic',
  underline: 'underline',
  strike: 'strikeThrough',
  sub: 'subscript',
  super: 'superscript',
}

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
  /** Inserts lines at the selection, in its place. */
  insert(lines: readonly Line[]): void
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
