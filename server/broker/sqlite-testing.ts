// What a test of a log in a file needs: a place that goes when the test ends.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A file that does not exist, in a folder that does not exist. `context.after` plans what is done at the test's end. */
export function newFile(context: { readonly after: (run: () => void) => void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-log-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'kept', 'log.db')
}

/** What Node runs to append to the log in this file. */
export const appenderFor = (file: string) => [join(import.meta.dirname, 'sqlite-appender.ts'), file]
