// A report's folder: it has its name only once everything is in it.

import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Where a report goes that nobody named a folder for: dated to the second, so that each run has its own. */
export function reportFolder(scenario: string, startedAt: Date): string {
  const date = startedAt.toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '')
  return join('reports', `${date}-${scenario}`)
}

/** Writes all files or none. Rejects when the folder is there already: a report is never overwritten. */
export async function writeFolder(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  const unfinished = `${folder}.unfinished`
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { recursive: true })
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(unfinished, name), text)
    await mkdir(dirname(folder), { recursive: true })
    await rename(unfinished, folder)
  } catch (cause) {
    await rm(unfinished, { recursive: true, force: true })
    throw new Error(
      `The report could not be written to ${folder}: ${cause instanceof Error ? cause.message : cause}`,
      { cause },
    )
  }
}
