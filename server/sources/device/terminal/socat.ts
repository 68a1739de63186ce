// Starts socat and understands what it says; every oddity of socat ends here.

import { spawn } from 'node:child_process'

/**
 * One pseudo-terminal, joined to socat's own input and output. It is not hung up when its reader closes it (`ignoreeof`),
 * and data begin when it is opened first (`wait-slave`).
 */
const words = ['-d', '-d', 'PTY,raw,echo=0,wait-slave,pty-interval=0.02,ignoreeof', 'STDIO']

export interface SocatOpening {
  /** The terminal exists: `/dev/pts/3`. */
  onMade(device: string): void
  /** Somebody opened it for the first time. */
  onOpened(): void
  /** Nobody has it open. Comes once a second, and after each write. */
  onClosed(): void
  onInput(bytes: Uint8Array): void
  /** socat is gone, or never was. Comes once. */
  onEnd(error: Error): void
}

export interface Socat {
  write(bytes: Uint8Array | string): void
  /** More is waiting already than its reader takes. */
  readonly isFull: boolean
  kill(): void
}

/**
 * socat has a process group of its own and so outlives Ctrl-C, for things to be put in order; but it does not outlive this
 * process, unless that is killed outright.
 */
export function startSocat({ onMade, onOpened, onClosed, onInput, onEnd }: SocatOpening): Socat {
  const socat = spawn('socat', words, { detached: true })
  const kill = () => void socat.kill()
  let rest = ''
  let failure: Error | null = null

  function read(line: string): void {
    const [, device] = /PTY is (\S+)/.exec(line) ?? []
    if (device !== undefined) onMade(device)
    if (line.includes('starting data transfer')) onOpened()
    if (line.includes('Input/output error')) onClosed()
  }

  process.once('exit', kill)
  socat.stderr.setEncoding('latin1').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) read(line)
  })
  socat.stdout.on('data', onInput)
  socat.stdin.on('error', kill)
  socat.once('error', (error) => {
    failure = explained(error)
  })
  socat.once('close', () => {
    process.off('exit', kill)
    onEnd(failure ?? new Error('socat, which makes the pseudo-terminal, has ended.'))
  })

  return {
    write: (bytes) => void socat.stdin.write(bytes),
    get isFull() {
      return socat.stdin.writableNeedDrain
    },
    kill,
  }
}

function explained(error: Error): Error {
  if (!('code' in error) || error.code !== 'ENOENT') return error
  return new Error(
    'A pseudo-terminal is made by socat, which was not found: install it (Debian, Ubuntu: apt install socat), then try again.',
  )
}
