// Asks whether this machine's kernel could delay packets by itself (`tc netem`), in a network namespace that is gone afterwards.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export interface Netem {
  readonly isThere: boolean
  /** Why not, in the words of whoever refused; else empty. */
  readonly why: string
}

type Run = (file: string, args: readonly string[]) => Promise<unknown>

const inNamespaceOfItsOwn = ['--user', '--net', '--map-root-user', '--']
const addNetem = ['tc', 'qdisc', 'add', 'dev', 'lo', 'root', 'netem', 'delay', '1ms']

export async function probeNetem(run: Run = promisify(execFile)): Promise<Netem> {
  try {
    await run('unshare', [...inNamespaceOfItsOwn, ...addNetem])
    return { isThere: true, why: '' }
  } catch (error) {
    return { isThere: false, why: wordsOf(error) }
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof Error && 'stderr' in error && String(error.stderr)) return String(error.stderr).trim()
  return error instanceof Error ? error.message : String(error)
}
