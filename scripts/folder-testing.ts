// Temporary folders of tests.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

/** Removed after the test or, without one, after the file's tests. */
export function temporaryFolder(t: { after(run: () => void): void } = { after }): string {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}
