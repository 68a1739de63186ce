// Reads a log file piece by piece, and says in words why one cannot be read.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'

/** Throws an Error, to stand after the path, where there is no such file or nothing in it. */
export async function* readLogFile(path: string): AsyncGenerator<Uint8Array> {
  const found = await stat(path).catch((error: unknown) => {
    throw new Error(`the log cannot be read, ${reasonOf(error)}`)
  })
  if (!found.isFile()) throw new Error('this is no file: name a raw log of a WindSonic')
  if (found.size === 0) throw new Error('the log is empty')
  yield* createReadStream(path)
}

const words: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'permission denied',
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  return words[code] ?? code
}
