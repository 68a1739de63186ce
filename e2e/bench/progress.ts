// Says how far a bench is: one line that moves on a terminal, and nothing elsewhere.

interface Output {
  readonly isTTY?: boolean
  readonly write: (text: string) => unknown
}

const clearLine = '\r\x1b[2K'

export interface Progress {
  readonly say: (sentence: string) => void
  readonly clear: () => void
}

export function createProgress(output: Output): Progress {
  return {
    say: (sentence) => void (output.isTTY && output.write(`${clearLine}  ${sentence}`)),
    clear: () => void (output.isTTY && output.write(clearLine)),
  }
}
