// A window's place in the log, `epoch:seq`, the same for every transport.

export interface Cursor {
  /** Names one life of the log; a log that lost its contents has a new one. Letters and digits, 1 to 32. */
  readonly epoch: string
  /** The last message that the window has, 0 for none. */
  readonly seq: number
}

const pattern = /^([A-Za-z0-9]{1,32}):(\d{1,15})$/

export function formatCursor({ epoch, seq }: Cursor): string {
  return `${epoch}:${seq}`
}

/** Null when the text is no cursor: then the window simply starts from a snapshot. */
export function parseCursor(text: string | null | undefined): Cursor | null {
  const match = pattern.exec(text ?? '')
  return match?.[1] && match[2] ? { epoch: match[1], seq: Number(match[2]) } : null
}
