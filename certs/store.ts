// The certificates' directory: files are replaced whole, keys are for their owner's eyes, one process writes at a time.

import { randomUUID } from 'node:crypto'
import { chmod, mkdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CertificateError, type Pair } from './pair.ts'

const lockPollMs = 50
/** Making everything takes well under a second: a lock this old was left behind by a process that was killed. */
const staleLockMs = 10_000

/** Where a pair is kept: `<name>.pem` and `<name>.key`. */
export interface PairFiles {
  readonly certFile: string
  readonly keyFile: string
}

export function pairFiles(directory: string, name: string): PairFiles {
  return { certFile: join(directory, `${name}.pem`), keyFile: join(directory, `${name}.key`) }
}

/** Writes the key first: whoever stops us between the two leaves a pair that is seen not to match. */
export async function writePair({ certFile, keyFile }: PairFiles, { cert, key }: Pair): Promise<void> {
  await replaceFile(keyFile, key, 0o600)
  await replaceFile(certFile, cert, 0o644)
}

/** Takes a key that others may read away from them, where that is ours to do. */
export async function keepPrivate(keyFile: string): Promise<void> {
  const { mode } = await stat(keyFile)
  if (process.platform === 'win32' || (mode & 0o077) === 0) return
  try {
    await chmod(keyFile, 0o600)
  } catch (error) {
    if (!hasCode(error, 'EPERM', 'EROFS')) throw error
  }
}

/** Runs `work` while no other process does so in this directory; waits for one that is at it. */
export async function exclusively<Result>(directory: string, work: () => Promise<Result>): Promise<Result> {
  // A directory, because making one either succeeds or fails, and because git never sees an empty one.
  const lock = join(directory, '.making')
  await orUnwritable(directory, () => mkdir(directory, { recursive: true }))
  while (!(await orUnwritable(directory, () => acquire(lock)))) await delay(lockPollMs)
  try {
    return await work()
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
}

async function acquire(lock: string): Promise<boolean> {
  try {
    await mkdir(lock)
    return true
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    await removeIfStale(lock)
    return false
  }
}

async function removeIfStale(lock: string): Promise<void> {
  try {
    const { mtimeMs } = await stat(lock)
    if (Date.now() - mtimeMs > staleLockMs) await rmdir(lock)
  } catch (error) {
    // Its owner has just let go of it.
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

async function replaceFile(file: string, text: string, mode: number): Promise<void> {
  // The same ending as the file's, so that .gitignore covers it.
  const temporary = join(dirname(file), `.${randomUUID()}.${basename(file)}`)
  try {
    await orUnwritable(file, async () => {
      await writeFile(temporary, text, { mode, flag: 'wx' })
      await rename(temporary, file)
    })
  } finally {
    await rm(temporary, { force: true })
  }
}

async function orUnwritable<Result>(path: string, write: () => Promise<Result>): Promise<Result> {
  try {
    return await write()
  } catch (error) {
    throw new CertificateError(`${path} cannot be written`, { cause: error })
  }
}

const hasCode = (error: unknown, ...codes: readonly string[]) =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code))
