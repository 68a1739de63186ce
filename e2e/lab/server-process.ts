// Servers under test: a child process with its own ports and folder, or a remote server.

import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import https from 'node:https'
import net, { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { ensureCertificate, machineAddresses, machineNames } from '../../certs/certificate.ts'
import type { ByHttp, HttpVersion, Polling } from '../../client/wire.ts'
import { originFor } from '../../scripts/addresses.ts'
import { serverEnvironment, serverFlags } from '../../scripts/child-process.mjs'
import type { Figures } from '../../scripts/process.ts'
import { programs } from './programs.ts'
import type { StampsById } from './stage-stamps.ts'

export type Ports = Readonly<Record<HttpVersion, number>>

const startWithinMs = 60_000
const stopWithinMs = 8000
/** Characters kept of a program's output before it is ready, and of its standard error. */
const maxWritten = 4000
const maxErrors = 20_000

export type StartedServer = Awaited<ReturnType<typeof startServerProcess>>
export interface MeasuredServer extends Pick<StartedServer, 'figures' | 'stages' | 'close'> {
  /** Origin of the front, if there is one: only it serves HTTP/3. */
  readonly origin: ByHttp<string>
}

interface Starting {
  /** Stamps the stages of messages. */
  readonly stages?: boolean
  /** The name in its addresses. */
  readonly host?: string | undefined
  /** The name or address at which the lab reads its figures; default: `host`. */
  readonly askedAt?: string | undefined
  /** Modules that it loads first, by URL. */
  readonly imports?: readonly string[]
  /** A program and arguments that start it on another host. */
  readonly through?: readonly string[]
  /** Called with each line of its standard output. */
  readonly onLine?: (line: string) => void
}

/**
 * Starts a program that sends `{ type: 'ready', ports }` over IPC. Rejects with its output if it
 * exits first, or with its own words if it sends `{ type: 'failed', why }`.
 */
export async function startServerProcess(
  program: string,
  args: readonly string[],
  { stages = false, host = 'localhost', askedAt = host, imports = [], through = [], onLine }: Starting = {},
) {
  const env = { ...process.env, ...serverEnvironment }
  const [execPath = '', ...execArgv] = [
    ...through,
    process.execPath,
    ...process.execArgv,
    ...serverFlags,
    ...(stages ? ['--import', pathToFileURL(programs.stageStamps).href] : []),
    ...imports.flatMap((address) => ['--import', address]),
  ]
  const child = fork(program, args, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execPath, execArgv, env })
  const exited = once(child, 'exit').then(() => undefined)
  if (onLine && child.stdout) createInterface(child.stdout).on('line', onLine)
  let written = ''
  let errors = ''
  child.stdout?.on('data', (chunk) => {
    written = `${written}${chunk}`.slice(-maxWritten)
  })
  child.stderr?.on('data', (chunk) => {
    written = `${written}${chunk}`.slice(-maxWritten)
    errors = `${errors}${chunk}`.slice(-maxErrors)
  })
  const tooLate = setTimeout(() => child.kill('SIGKILL'), startWithinMs)
  const ready = await Promise.race([once(child, 'message'), exited])
  clearTimeout(tooLate)
  if (!ready) throw new Error(`${program} ended before it was ready:\n${written}`)
  if (ready[0].type === 'failed') {
    const { why } = ready[0]
    const said = errors.replace(why, '').trim().split('\n').at(-1)
    throw new Error(said ? `${why}; it wrote: ${said}` : why)
  }
  const named = (port: number) => originFor(host, port)
  const origin = { '2': named(ready[0].ports['2']), '1.1': named(ready[0].ports['1.1']) }
  return {
    pid: child.pid ?? 0,
    origin,
    /** Further fields of the message that it sent when it was ready. */
    more: ready[0].more,
    figures: () => getJson<Figures>(`${originFor(askedAt, ready[0].ports['1.1'])}/api/figures`),
    /** Stamps since the last call; empty without `stages`. */
    async stages(): Promise<StampsById> {
      if (!stages || !child.connected) return {}
      child.send('take stages')
      const [answer] = await Promise.race([once(child, 'message'), exited.then(() => [])])
      return answer?.stamps ?? {}
    },
    async close() {
      child.kill('SIGTERM')
      const timeout = setTimeout(() => child.kill('SIGKILL'), stopWithinMs)
      await exited
      clearTimeout(timeout)
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
    /** Resolves when the process has exited for any reason. */
    exited,
    /** Tail of its standard error. */
    errors: () => errors,
  }
}

/** Runs `npm run backup` or `npm run restore`, without npm. Rejects with its output. */
export async function runBackup(name: 'backup' | 'restore', ...args: readonly string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [...process.execArgv, programs.backup, name, ...args])
}

function originOf(host: string, ports: Ports): Readonly<Record<HttpVersion, string>> {
  return { '2': `${host}:${ports['2']}`, '1.1': `${host}:${ports['1.1']}` }
}

/** What a run needs of the server's settings, from `GET /api/settings`. */
interface AskedSettings {
  readonly ports: Ports
  readonly mergeMs: number
  readonly polling: Polling
  readonly hasSensor: boolean
}

type JoinedServer = MeasuredServer & Omit<AskedSettings, 'ports'>

/** By the address of its HTTP/2 port. Rejects if no Crosswind server answers. */
export async function joinServer(address: string): Promise<JoinedServer> {
  const { protocol, hostname, origin: given } = new URL(address)
  const { ports, mergeMs, polling, hasSensor } = await getJson<AskedSettings>(`${given}/api/settings`)
  const origin = originOf(`${protocol}//${hostname}`, ports)
  return {
    origin,
    mergeMs,
    polling,
    hasSensor,
    figures: () => getJson<Figures>(`${origin['1.1']}/api/figures`),
    stages: async () => ({}),
    close: async () => undefined,
  }
}

/** Does not verify certificates: measured servers have locally signed ones. */
async function getJson<Answer>(address: string): Promise<Answer> {
  const request = https.get(address, { rejectUnauthorized: false, agent: false })
  // After the response, the body's end reports a cut connection.
  request.on('error', () => undefined)
  const [response] = await once(request, 'response').catch((cause) => {
    throw new Error(`${address} does not answer: ${cause.message}`, { cause })
  })
  if (response.statusCode === 200) return (await json(response)) as Answer
  response.resume()
  throw new Error(`${address} answered ${response.statusCode}: is it a Crosswind server?`)
}

export interface CertificateFiles {
  /** PEM. */
  readonly cert: string
  readonly key: string
  readonly certFile: string
  readonly keyFile: string
}

/**
 * A certificate signed on this machine; created or renewed if it does not cover the machine's
 * names, addresses and `hosts`.
 */
export async function certificateIn(
  directory: string,
  hosts: readonly string[] = [],
): Promise<CertificateFiles> {
  const names = hosts.filter((host) => isIP(host) === 0)
  const addresses = hosts.filter((host) => isIP(host) !== 0)
  const { cert, key } = await ensureCertificate({
    directory,
    now: new Date(),
    names: [...new Set([...machineNames(), ...names])],
    addresses: [...new Set([...machineAddresses(), ...addresses])],
  })
  return { cert, key, certFile: join(directory, 'server.pem'), keyFile: join(directory, 'server.key') }
}

export type ServerFolder = Awaited<ReturnType<typeof makeServerFolder>>

/** A temporary folder with an empty data folder and, unless one is given, a certificate for `hosts`. */
export async function makeServerFolder(
  scenario: string,
  given?: CertificateFiles,
  hosts?: readonly string[],
) {
  const folder = await mkdtemp(join(tmpdir(), `crosswind-${scenario}-`))
  const { cert, certFile, keyFile } = given ?? (await certificateIn(join(folder, 'certs'), hosts))
  const paths = {
    'data-folder': join(folder, 'data'),
    'tls-cert-file': certFile,
    'tls-key-file': keyFile,
  }
  return {
    ca: cert,
    certFile,
    keyFile,
    data: paths['data-folder'],
    /** These settings and the paths of certificate and log. */
    flags: (settings: Readonly<Record<string, string | number>>) =>
      Object.entries({ ...settings, ...paths }).flatMap(([name, value]) => [`--${name}`, String(value)]),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/**
 * Below the ephemeral ports of Linux (from 32768) and other systems (from 49152), which outgoing connections could
 * take.
 */
const candidatePorts = { first: 20_000, count: 10_000 }
const maxTries = 100

/** Two different ports that were free when checked. Rejects after 100 tries. */
export const findFreePorts = (): Promise<Ports> => freePortsFor(['2', '1.1'])

/** A different one for each. */
export async function freePortsFor<Version extends string>(
  versions: readonly Version[],
): Promise<Readonly<Record<Version, number>>> {
  await using held = new AsyncDisposableStack()
  const ports: [Version, number][] = []
  for (const version of versions) {
    const { port, server } = await holdPort()
    held.use(server)
    ports.push([version, port])
  }
  return Object.fromEntries(ports) as Record<Version, number>
}

async function holdPort() {
  const { first, count } = candidatePorts
  for (let tries = 0; tries < maxTries; tries += 1) {
    const port = first + Math.floor(Math.random() * count)
    const server = net.createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
      return { port, server }
    } catch {
      // The port is in use.
    }
  }
  throw new Error(`None of ${maxTries} ports from ${first} to ${first + count - 1} is free.`)
}
