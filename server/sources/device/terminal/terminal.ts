// A path that behaves like a serial port with a sensor on it: opened and closed as often as anybody likes.

import { lstat, readlink, rename, rm, symlink } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Timers } from '../../../wire/time.ts'
import { openPty, type Pty } from './pty.ts'

export interface TerminalOpening {
  /** Where the link to the pseudo-terminal stands, such as /tmp/windsonic. */
  readonly path: string
  readonly timers: Timers
  /** What whoever has the path open writes. */
  onInput(bytes: Uint8Array): void
  /** No terminal can be made any more. */
  onFailure(error: Error): void
}

export interface Terminal {
  /** Lost while nobody has the path open. */
  write(bytes: Uint8Array): void
  /** Takes the link away; resolves when nothing is left of it. */
  close(): Promise<void>
}

/**
 * Resolves when the path can be opened. Shortly after its reader has closed it, a new terminal takes the old one's place
 * under the same path. Rejects where socat is missing, or the path belongs to something else or cannot be made.
 */
export async function openTerminal({ path, timers, onInput, onFailure }: TerminalOpening): Promise<Terminal> {
  const link = resolve(path)
  let pty: Pty | null = null
  let isClosed = false
  let attaching = attach()

  async function attach(): Promise<void> {
    await refuseOthers(link)
    const made = await openPty({ timers, onInput, onEnd: reattach })
    if (isClosed) return made.stop()
    pty = made
    await pointAt(link, made.device)
  }

  function reattach(): void {
    if (!isClosed) attaching = attach().catch(onFailure)
  }

  await attaching.catch(async (error: unknown) => {
    await pty?.stop()
    throw error
  })
  return {
    write: (bytes) => pty?.write(bytes),
    async close() {
      isClosed = true
      await attaching
      await pty?.stop()
      if (pty && (await targetOf(link)) === pty.device) await rm(link, { force: true })
    },
  }
}

/** Only a link to a terminal may be replaced: one that an earlier run left behind. */
async function refuseOthers(link: string): Promise<void> {
  const found = await lstat(link).catch(() => null)
  if (found === null || /^\/dev\/(pts\/|tty)/.test((await targetOf(link)) ?? '')) return
  throw new Error(
    `${link} exists and is no link to a pseudo-terminal: name a path that is free, or remove it first.`,
  )
}

async function targetOf(link: string): Promise<string | null> {
  return readlink(link).catch(() => null)
}

/** In one step, so that there is no moment without a link. */
async function pointAt(link: string, device: string): Promise<void> {
  const fresh = `${link}.${process.pid}`
  try {
    await rm(fresh, { force: true })
    await symlink(device, fresh)
    await rename(fresh, link)
  } catch (error) {
    throw new Error(`${link} cannot be made: ${error instanceof Error ? error.message : error}`)
  }
}
