// A path that acts as a serial port, made by socat; isolates the oddities of socat.

import { spawn } from 'node:child_process'
import { lstat, readlink, rename, rm, symlink } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { nothingPlanned, type Timers } from '../../protocol/time.ts'

interface TerminalOpening {
  /** Path of the link, such as /tmp/windsonic. */
  readonly path: string
  readonly timers: Timers
  onInput(bytes: Uint8Array): void
  /** Called when a new terminal cannot be created. */
  onFailure(error: Error): void
}

export type Terminal = Awaited<ReturnType<typeof openTerminal>>

/**
 * The path can be opened repeatedly. Rejects if socat is missing, or the path is taken or cannot be
 * created.
 */
export async function openTerminal({ path, timers, onInput, onFailure }: TerminalOpening) {
  const link = resolve(path)
  let pty: Awaited<ReturnType<typeof openPty>> | null = null
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
    /** Dropped while the path is not open. */
    write: (bytes: Uint8Array): void => pty?.write(bytes),
    /** Removes the link. */
    async close(): Promise<void> {
      isClosed = true
      await attaching
      await pty?.stop()
      if (pty && (await targetOf(link)) === pty.device) await rm(link, { force: true })
    },
  }
}

/** Only a link left by an earlier run may be replaced. */
async function refuseOthers(link: string): Promise<void> {
  const found = await lstat(link).catch(() => null)
  if (found === null || /^\/dev\/(pts\/|tty)/.test((await targetOf(link)) ?? '')) return
  throw new Error(
    `${link} exists and is not a link to a pseudo-terminal: name a free path, or remove it first.`,
  )
}

async function targetOf(link: string): Promise<string | null> {
  return readlink(link).catch(() => null)
}

/** Atomic: the link never disappears. */
async function pointAt(link: string, device: string): Promise<void> {
  const fresh = `${link}.${process.pid}`
  try {
    await rm(fresh, { force: true })
    await symlink(device, fresh)
    await rename(fresh, link)
  } catch (error) {
    throw new Error(`${link} cannot be created: ${error instanceof Error ? error.message : error}`)
  }
}

export interface PtyOpening {
  readonly timers: Timers
  onInput(bytes: Uint8Array): void
  /** Called once, when the device was opened and closed for good, or socat ended. */
  onEnd(): void
  /** For tests. */
  readonly start?: typeof startSocat
}

/**
 * Number and interval of checks whether a host, which may be changing the baud rate, reopens the
 * device.
 */
const checks = 5
const checkMs = 30
/** How long to wait for the reopening host's first write, before which socat passes nothing on. */
const writeTimeoutMs = 1000

/**
 * Creates a pseudo-terminal for one opening. Rejects if socat is missing or fails. Drops what is
 * written before the opening, so that no host reads stale bytes; a closed terminal is useless,
 * since only writing would show that it is open. A host may reopen it at once if it then writes, as
 * one that configures does.
 */
export async function openPty({ timers, onInput, onEnd, start = startSocat }: PtyOpening) {
  const made = Promise.withResolvers<string>()
  const ended = Promise.withResolvers<void>()
  let state: 'unmade' | 'waiting' | 'open' | 'closed' | 'over' = 'unmade'
  let isOpenAgain = false
  let cancel = nothingPlanned

  function end(): void {
    const isNews = state !== 'unmade' && state !== 'over'
    state = 'over'
    cancel()
    socat.kill()
    if (isNews) onEnd()
  }

  /** Writes a line end, harmless to any reader, and checks whether socat complains. */
  function check(left: number): void {
    isOpenAgain = true
    socat.write('\n')
    cancel = timers.later(() => {
      if (isOpenAgain) cancel = timers.later(end, writeTimeoutMs)
      else if (left > 1) check(left - 1)
      else end()
    }, checkMs)
  }

  const socat = start({
    onMade(device) {
      state = 'waiting'
      made.resolve(device)
    },
    onOpened() {
      state = 'open'
    },
    onClosed() {
      isOpenAgain = false
      if (state !== 'open') return
      state = 'closed'
      check(checks)
    },
    onInput(bytes) {
      if (state === 'over') return
      cancel()
      state = 'open'
      onInput(bytes)
    },
    onEnd(error) {
      made.reject(error)
      ended.resolve()
      end()
    },
  })
  return {
    /** Such as `/dev/pts/3`. */
    device: await made.promise,
    /** Dropped while the device is not open or its reader is too slow. */
    write(bytes: Uint8Array): void {
      if (state === 'open' && !socat.isFull) socat.write(bytes)
    },
    /** Stops all callbacks; resolves when socat has ended. */
    stop(): Promise<void> {
      state = 'over'
      end()
      return ended.promise
    },
  }
}

/**
 * `ignoreeof`: closing the terminal does not end socat. `wait-slave`: data starts at the first
 * opening.
 */
const socatArguments = ['-d', '-d', 'PTY,raw,echo=0,wait-slave,pty-interval=0.02,ignoreeof', 'STDIO']

interface SocatEvents {
  onMade(device: string): void
  /** The first opening only. */
  onOpened(): void
  /** No process has it open. Runs every second and after each write. */
  onClosed(): void
  onInput(bytes: Uint8Array): void
  /** socat ended or did not start. Runs once. */
  onEnd(error: Error): void
}

const noSocat =
  'A pseudo-terminal needs socat, which was not found: install it (Debian, Ubuntu: apt install socat), then try again.'

/**
 * Its own process group lets socat survive Ctrl-C for the cleanup; it ends with this process,
 * except on SIGKILL.
 */
function startSocat({ onMade, onOpened, onClosed, onInput, onEnd }: SocatEvents) {
  const socat = spawn('socat', socatArguments, { detached: true })
  const kill = () => void socat.kill()
  let failure = new Error('socat, which provides the pseudo-terminal, has ended.')

  process.once('exit', kill)
  createInterface(socat.stderr).on('line', (line) => {
    const [, device] = /PTY is (\S+)/.exec(line) ?? []
    if (device !== undefined) onMade(device)
    if (line.includes('starting data transfer')) onOpened()
    if (line.includes('Input/output error')) onClosed()
  })
  socat.stdout.on('data', onInput)
  socat.stdin.on('error', kill)
  socat.once('error', (error: NodeJS.ErrnoException) => {
    failure = error.code === 'ENOENT' ? new Error(noSocat) : error
  })
  socat.once('close', () => {
    process.off('exit', kill)
    onEnd(failure)
  })

  return {
    write: (bytes: Uint8Array | string) => void socat.stdin.write(bytes),
    /** Backpressure. */
    get isFull() {
      return socat.stdin.writableNeedDrain
    },
    kill,
  }
}
