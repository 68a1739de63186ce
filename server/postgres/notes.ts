// Notes between servers as payloads of NOTIFY, which have less than 8000 bytes.

/** Characters of a part; all are ASCII. */
const partLength = 7900

/**
 * The payloads of one transaction. They are numbered, because PostgreSQL sends equal ones once. One
 * that ends its note has a "." after its number, others a "+".
 */
export function partsOf(notes: readonly string[]): string[] {
  const pieces = notes.flatMap((note) => {
    const ascii = note.replaceAll(/[\u0080-\uffff]/g, escaped)
    const count = Math.max(1, Math.ceil(ascii.length / partLength))
    return Array.from({ length: count }, (_, index) => {
      const piece = ascii.slice(index * partLength, (index + 1) * partLength)
      return `${index === count - 1 ? '.' : '+'}${piece}`
    })
  })
  return pieces.map((piece, index) => `${index}${piece}`)
}

/** In JSON, such characters are only in strings. */
const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Joins the parts of each sender's notes; those of a transaction arrive together. */
export function readParts(onNote: (note: string) => void) {
  const begun = new Map<number, string>()
  return (sender: number, payload: string): void => {
    const [, sign, piece = ''] = /^\d+([.+])([\s\S]*)$/.exec(payload) ?? []
    const note = `${begun.get(sender) ?? ''}${piece}`
    if (sign === '+') begun.set(sender, note)
    else {
      begun.delete(sender)
      onNote(note)
    }
  }
}
