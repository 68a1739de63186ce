// The secret that signs invitations and sessions: read from its file, or made once and kept.

import { createSecretKey, type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import { type FileHandle, link, mkdir, open, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

/** HS256 asks for a secret at least as long as its hash (RFC 7518, 3.2). */
const leastBytes = 32

const advice = '`openssl rand -base64 32` makes a good one'

export interface KeyPlace {
  /** Null: `access.key` in the data folder, made when it is missing. */
  readonly accessKeyFile: string | null
  readonly dataFolder: string
}

/**
 * The signing secret, as an object that no log prints. Paths are relative to `root`. The file holds base64 or base64url.
 * Rejects with one sentence when it cannot be read or made, is too short, or can be read by others.
 */
export async function loadKey({ accessKeyFile, dataFolder }: KeyPlace, root: string): Promise<KeyObject> {
  // A file that somebody named is never made: with a slip in its name every link given out would silently be void.
  if (accessKeyFile !== null) return readKey(resolve(root, accessKeyFile), orMissing)
  const file = resolve(root, dataFolder, 'access.key')
  return readKey(file, async () => {
    await makeKey(file)
    return readKey(file, orMissing)
  })
}

function orMissing(file: string): never {
  throw new Error(
    `The key file ${file} is missing; ${advice}, or leave accessKeyFile out and one is made in the data folder.`,
  )
}

type WhenMissing = (file: string) => Promise<KeyObject>

async function readKey(file: string, whenMissing: WhenMissing): Promise<KeyObject> {
  const handle = await open(file).catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOENT') return null
    throw unreadable(file, cause)
  })
  if (handle === null) return whenMissing(file)
  try {
    const text = await textOf(file, handle)
    // Of the opened file, so that the one checked is the one read.
    await refuseIfShared(file, handle)
    return parseKey(file, text)
  } finally {
    await handle.close()
  }
}

/**
 * Refuses rather than mends: whoever could read the secret may have it, and only its owner can tell. Windows has no such
 * modes.
 */
async function refuseIfShared(file: string, handle: FileHandle): Promise<void> {
  const { mode } = await handle.stat()
  if (process.platform === 'win32' || (mode & 0o077) === 0) return
  const sentence = `The key file ${file} can be read by others, who could write invitations; run \`chmod 600\` on it, or delete it if they may have read it.`
  throw new Error(sentence)
}

async function textOf(file: string, handle: FileHandle): Promise<string> {
  try {
    return await handle.readFile('utf8')
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

function parseKey(file: string, text: string): KeyObject {
  const trimmed = text.trim()
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(trimmed))
    throw new Error(`The key file ${file} holds something else than one line of base64; ${advice}.`)
  const bytes = Buffer.from(trimmed, 'base64')
  if (bytes.length < leastBytes)
    throw new Error(
      `The key file ${file} holds ${bytes.length} bytes and needs at least ${leastBytes}; ${advice}.`,
    )
  return createSecretKey(bytes)
}

/** Makes the file whole or not at all; where another process was first, that one's key stays. */
async function makeKey(file: string): Promise<void> {
  // The same ending as the file's, so that .gitignore covers it.
  const draft = join(dirname(file), `.${randomUUID()}.access.key`)
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    const text = `${randomBytes(leastBytes).toString('base64url')}\n`
    await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    // A link and no rename: a rename would replace the key of who was first.
    await link(draft, file)
  } catch (cause) {
    if (codeOf(cause) !== 'EEXIST') throw new Error(unwritten(file, cause), { cause })
  } finally {
    await rm(draft, { force: true })
  }
}

function unwritten(file: string, cause: unknown): string {
  return `The key file ${file} cannot be made (${codeOf(cause)}); give a writable dataFolder, or name a key in accessKeyFile.`
}

function unreadable(file: string, cause: unknown): Error {
  const sentence = `The key file ${file} cannot be read (${codeOf(cause)}); give it to the user that runs the server, or name another in accessKeyFile.`
  return new Error(sentence, { cause })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
