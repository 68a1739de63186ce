// A PostgreSQL server for tests, on a free port, with its own data.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chownSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { freePort } from './open-port.ts'

export interface TestPostgres {
  readonly url: string
  readonly port: number
  readonly pid: () => number
  /** Without a clean shutdown, like a crash. */
  readonly kill: () => Promise<void>
  /** Call after `kill`: keeps the port and the stored data. */
  readonly restart: () => Promise<void>
  /** Starts a server that copies this one; `name` is its name in `synchronous_standby_names`. */
  readonly startStandby: (name: string) => Promise<TestPostgres>
  /** Of a standby: from now on it accepts writes. */
  readonly promote: () => void
  readonly stop: () => Promise<void>
}

/** Set by the test suite. */
const program =
  process.env.CROSSWIND_POSTGRES_PROGRAM ??
  globSync('/usr/lib/postgresql/*/bin/postgres').at(-1) ??
  'postgres'

/** PostgreSQL refuses to run as root. */
const owner = process.getuid?.() === 0 ? ownerOf('postgres') : null

function ownerOf(user: string) {
  const [, , uid, gid] =
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .find((line) => line.startsWith(`${user}:`))
      ?.split(':') ?? []
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : null
}

/** The others are beside the program itself: a link to it may be alone in its folder. */
const run = (name: string, ...args: string[]) =>
  execFileSync(program === 'postgres' ? name : join(dirname(realpathSync(program)), name), args, {
    ...owner,
    stdio: 'pipe',
    cwd: '/',
  })

/** What a killed process has written, the machine keeps: no test cuts the power. */
const settings = (port: number) => `
listen_addresses = '127.0.0.1'
port = ${port}
unix_socket_directories = ''
shared_buffers = 16MB
fsync = off
`

/** `more` is added to the configuration. Rejects if the program is not installed or does not start. */
export async function startPostgresServer(more = ''): Promise<TestPostgres> {
  const folder = ownFolder()
  try {
    run(
      'initdb',
      '--pgdata',
      folder,
      '--auth',
      'trust',
      '--username',
      'postgres',
      '--encoding',
      'UTF8',
      '--no-sync',
    )
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true })
    throw new Error('PostgreSQL does not run here; Debian has it as the package postgresql.', { cause })
  }
  return start(folder, more)
}

function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-postgres-'))
  if (owner) chownSync(folder, owner.uid, owner.gid)
  return folder
}

async function start(folder: string, more: string): Promise<TestPostgres> {
  const port = await freePort()
  appendFileSync(join(folder, 'postgresql.conf'), `${settings(port)}${more}\n`)
  let child: ChildProcess | null = null

  async function restart(): Promise<void> {
    child = spawn(program, ['-D', folder], { ...owner, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
    await untilReady(child)
  }

  async function kill(): Promise<void> {
    if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    const own = childrenOf(child.pid)
    child.kill('SIGKILL')
    await exited
    for (const pid of own) endProcess(pid)
  }

  async function stop(): Promise<void> {
    await kill()
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }

  async function startStandby(name: string): Promise<TestPostgres> {
    const copy = ownFolder()
    const from = `host=127.0.0.1 port=${port} user=postgres application_name=${name}`
    run(
      'pg_basebackup',
      '--pgdata',
      copy,
      '--write-recovery-conf',
      '--checkpoint',
      'fast',
      '--no-sync',
      '--dbname',
      from,
    )
    return start(copy, "synchronous_standby_names = ''")
  }

  try {
    await restart()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    pid: () => child?.pid ?? 0,
    kill,
    restart,
    startStandby,
    promote: () => void run('pg_ctl', 'promote', '--pgdata', folder),
    stop,
  }
}

async function untilReady(child: ChildProcess): Promise<void> {
  const lines: string[] = []
  const reading = createInterface({ input: child.stderr as Readable })
  for await (const line of reading) {
    lines.push(line)
    if (line.includes('ready to accept')) {
      // Nothing may block it.
      child.stderr?.resume()
      return
    }
  }
  throw new Error(`PostgreSQL did not start: ${lines.join('\n')}`)
}

/** Known on Linux; elsewhere they end by themselves, some time after their parent. */
function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  return existsSync(file) ? readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number) : []
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
