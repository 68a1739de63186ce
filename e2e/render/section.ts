// What a report is made of, whatever it is written in: sections with sentences, tables and figures.

export interface Column {
  readonly title: string
  /** Numbers are set to the right, so that their digits stand in line. */
  readonly kind: 'text' | 'number'
}

/** Cells are plain text, one for each column; the first names its row. */
export interface Table {
  readonly caption: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly string[])[]
}

export interface Figure {
  readonly caption: string
  /** What a reader who cannot see it should know. */
  readonly description: string
  /** The figure as an SVG element, `width` in CSS pixels. */
  readonly draw: (width: number) => string
}

/** Plain text throughout: whoever renders it escapes it. */
export interface Section {
  readonly title: string
  readonly figure?: Figure
  readonly tables: readonly Table[]
  readonly paragraphs: readonly string[]
  /** A command to be copied as it stands. */
  readonly command?: string
}

export function text(title: string): Column {
  return { title, kind: 'text' }
}

export function number(title: string): Column {
  return { title, kind: 'number' }
}
