// Caddy, which serves HTTP/3 in front of a server: its configuration, start and end.

import { execFile, spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import net from 'node:net'
import { networkInterfaces } from 'node:os'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { Timers } from '../protocol/time.ts'
import { endsWithin, processTimers } from './process.ts'

export interface FrontPort {
  readonly port: number
  /** Caddy's names. With `h3` it is announced to those who come over TCP, by Alt-Svc (RFC 7838). */
  readonly protocols: readonly ('h1' | 'h2' | 'h3')[]
}

export interface FrontSettings {
  /** As in the settings of the server. */
  readonly host: string
  readonly ports: readonly FrontPort[]
  /** The server's, for HTTP/1.1: requests of different clients do not share a connection's limits. */
  readonly upstreamPort: number
  readonly certFile: string
  readonly keyFile: string
}

interface Starting {
  /** The last sentence of the error if it is not installed. */
  readonly otherwise: string
  readonly timers?: Pick<Timers, 'later' | 'now'>
  /** A program and arguments that start it on another host. */
  readonly through?: readonly string[]
  /** The address by which this host reaches it; default: by `host`. */
  readonly askedAt?: string
}

export type Caddy = Awaited<ReturnType<typeof startCaddy>>

const startsWithinMs = 10_000
const lookAgainMs = 50
const endsWithinMs = 1000
/** Time for the last bytes before Caddy ends: it cuts HTTP/3 at once (2.6), or waits for idle connections. */
const lastBytesMs = 500

const waysToInstall: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'apt install caddy (Debian, Ubuntu), dnf install caddy (Fedora)',
  darwin: 'brew install caddy',
  win32: 'winget install CaddyServer.Caddy',
}

/** Caddy's configuration (https://caddyserver.com/docs/json/). `name`: any that the certificate covers. */
export function frontConfig(
  { host, ports, upstreamPort, certFile, keyFile }: FrontSettings,
  name: string,
): object {
  const isAny = ['0.0.0.0', '::'].includes(host)
  // Browsers try the first address of a name over UDP, and not the next.
  const bound = host === 'localhost' ? loopback() : [isAny ? '' : host]
  const passOn = {
    handler: 'reverse_proxy',
    upstreams: [{ dial: joined(addressOf(host), upstreamPort) }],
    // Streams are flushed without flush_interval, which would keep those whose client has left.
    headers: {
      request: {
        set: { Host: ['{http.request.hostport}'] },
        // RFC 9110, 7.6.3: the server cannot see which version the client speaks.
        add: { Via: ['{http.request.proto} caddy'] },
      },
    },
    // On this machine: the certificate is the one that the front itself shows.
    transport: { protocol: 'http', versions: ['1.1'], tls: { insecure_skip_verify: true } },
  }
  const serverOn = ({ port, protocols }: FrontPort) => ({
    listen: bound.map((address) => joined(address, port)),
    protocols,
    automatic_https: { disable: true },
    // For an address, which a client does not name (RFC 6066, 3), Caddy finds no certificate over QUIC.
    tls_connection_policies: [{ default_sni: name }],
    routes: [{ handle: [passOn] }],
  })
  return {
    admin: { disabled: true, config: { persist: false } },
    logging: { logs: { default: { level: 'ERROR' } } },
    apps: {
      http: {
        grace_period: '1ms',
        servers: Object.fromEntries(ports.map((one) => [`crosswind-${one.port}`, serverOn(one)])),
      },
      tls: { certificates: { load_files: [{ certificate: certFile, key: keyFile }] } },
    },
  }
}

async function nameIn(certFile: string): Promise<string> {
  const { subjectAltName = '' } = new X509Certificate(await readFile(certFile))
  return /(?:DNS|IP Address):([^,\s]+)/.exec(subjectAltName)?.[1] ?? ''
}

/** Some machines have no IPv6. */
function loopback(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])
  return ['::1', '127.0.0.1'].filter((loop) => all.some(({ address }) => address === loop))
}

const joined = (host: string, port: number) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)

/** Such as `2.6.2`. Rejects with one sentence if it is not installed. */
export async function caddyVersion(otherwise: string): Promise<string> {
  const asked = promisify(execFile)('caddy', ['version'])
  const { stdout } = await asked.catch((error) => Promise.reject(new Error(whyNot(error, otherwise))))
  return /\d[\w.-]*/.exec(stdout)?.[0] ?? 'of an unknown version'
}

/** Resolves once it serves. Rejects with one sentence if it is not installed or cannot serve. */
export async function startCaddy(
  settings: FrontSettings,
  { otherwise, timers = processTimers, through = [], askedAt = addressOf(settings.host) }: Starting,
) {
  const config = JSON.stringify(frontConfig(settings, await nameIn(settings.certFile)))
  const [program = '', ...words] = [...through, 'caddy', 'run', '--config', '-']
  const child = spawn(program, words, {
    stdio: ['pipe', 'ignore', 'pipe'],
    // Ctrl-C in a terminal must not end it before the server.
    detached: true,
    windowsHide: true,
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = new Promise<NodeJS.Signals | number | null>((resolve) => {
    child.once('exit', (code, signal) => {
      process.off('exit', kill)
      resolve(signal ?? code)
    })
  })
  let said = ''
  createInterface({ input: child.stderr }).on('line', (line) => {
    said = messageIn(line)
  })
  const where = `port ${settings.ports.map(({ port }) => port).join(', ')}`
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', (error) => reject(new Error(whyNot(error, otherwise))))
    void ended.then(() => reject(new Error(`Caddy cannot serve HTTP/3 on ${where}: ${said}`)))
  })
  failed.catch(() => undefined)
  child.stdin.on('error', () => undefined)
  child.stdin.end(config)
  const until = timers.now() + startsWithinMs
  for (const { port } of settings.ports)
    while (!(await Promise.race([isListening(port, askedAt), failed]))) {
      if (timers.now() > until) {
        kill()
        throw new Error(`Caddy did not serve on ${where} within ${startsWithinMs / 1000} s.`)
      }
      await Promise.race([new Promise<void>((resolve) => timers.later(resolve, lookAgainMs)), failed])
    }
  return {
    pid: child.pid ?? 0,
    /** Resolves to the signal or the code with which it ended. */
    ended,
    /** Ends after the server. Resolves once it has ended. */
    async close(): Promise<void> {
      if (await endsWithin(ended, lastBytesMs, timers)) return
      child.kill()
      if (await endsWithin(ended, endsWithinMs, timers)) return
      kill()
      await ended
    },
  }
}

function whyNot({ code, message }: NodeJS.ErrnoException, otherwise: string): string {
  if (code !== 'ENOENT') return `Caddy, which serves HTTP/3, could not be started: ${message}.`
  const way = waysToInstall[process.platform] ?? 'see https://caddyserver.com/docs/install'
  return `HTTP/3 needs Caddy, which is not installed: ${way}. ${otherwise}`
}

/** The message in a line of Caddy's log, or the line itself if it is not JSON. */
function messageIn(line: string): string {
  try {
    const { msg, error } = JSON.parse(line) as { readonly msg?: string; readonly error?: string }
    return error ?? msg ?? line
  } catch {
    return line
  }
}

/** The address by which this machine reaches itself. */
export const addressOf = (host: string) =>
  ['localhost', '0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host

async function isListening(port: number, host: string): Promise<boolean> {
  const socket = net.connect({ port, host })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
