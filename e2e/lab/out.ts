// A report's folder: it has its name only once everything is in it.

import { mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Where a report goes that nobody named a folder for: dated to the second, so that each run has its own. */
export function reportFolder(scenario: string, startedAt: Date): string {
  const date = startedAt.toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '')
  return join('reports', `${date}-${scenario}`)
}

const unfinishedName = (folder: string) => `${folder}.unfinished`

/** To be called before a run, which takes minutes: rejects where its report would not find room at the end. */
export async function requireFree(folder: string): Promise<void> {
  for (const path of [folder, unfinishedName(folder)]) {
    if (await isFree(path)) continue
    const wayOut = 'name another folder with --out, or move that one away'
    throw new Error(`${path} is there already, and a report is never overwritten: ${wayOut}.`)
  }
}

async function isFree(path: string): Promise<boolean> {
  try {
    return (await readdir(path)).length === 0
  } catch (error) {
    if (error instanceof Error && 'code' in error) return error.code === 'ENOENT'
    throw error
  }
}

/** Rejects when the folder is there already, and says where the report is then: what was measured is not thrown away. */
export async function writeFolder(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  const unfinished = unfinishedName(folder)
  try {
    await mkdir(unfinished, { recursive: true })
    for (const [name, text] of Object.entries(files)) await writeFile(join(unfinished, name), text)
    await mkdir(dirname(folder), { recursive: true })
    await rename(unfinished, folder)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : cause
    const kept = `What could be written of it is in ${unfinished}.`
    throw new Error(`The report could not be written to ${folder}: ${why}. ${kept}`, { cause })
  }
}
