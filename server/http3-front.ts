// HTTP/3, by Caddy in front of the server: Node has none of its own.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { networkInterfaces } from 'node:os'
import { createInterface } from 'node:readline'
import { occupy } from '../scripts/open-port.ts'
import { endsWithin } from '../scripts/process.ts'
import { output } from './output.ts'
import type { Timers } from './wire/time.ts'

export interface FrontSettings {
  /** As in the settings of the server. */
  readonly host: string
  /** For HTTP/3 over UDP, and for HTTP/2 and HTTP/1.1 over TCP. */
  readonly port: number
  /** The server's, for HTTP/1.1: requests of different clients do not share a connection's limits. */
  readonly upstreamPort: number
  readonly certFile: string
  readonly keyFile: string
}

const startsWithinMs = 10_000
const endsWithinMs = 1000
const lookAgainMs = 50
const restartMs = 1000
/** For the last bytes, before Caddy ends: it cuts HTTP/3 at once (2.6), or waits for idle connections. */
const lastBytesMs = 500

const waysToInstall: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'apt install caddy (Debian, Ubuntu), dnf install caddy (Fedora)',
  darwin: 'brew install caddy',
  win32: 'winget install CaddyServer.Caddy',
}

/**
 * Caddy's configuration (https://caddyserver.com/docs/json/). It announces HTTP/3 to those who come
 * over TCP, by Alt-Svc (RFC 7838).
 */
export function frontConfig({ host, port, upstreamPort, certFile, keyFile }: FrontSettings): object {
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
  return {
    admin: { disabled: true, config: { persist: false } },
    logging: { logs: { default: { level: 'ERROR' } } },
    apps: {
      http: {
        grace_period: '1ms',
        servers: {
          crosswind: {
            listen: bound.map((address) => joined(address, port)),
            protocols: ['h1', 'h2', 'h3'],
            automatic_https: { disable: true },
            tls_connection_policies: [{}],
            routes: [{ handle: [passOn] }],
          },
        },
      },
      tls: { certificates: { load_files: [{ certificate: certFile, key: keyFile }] } },
    },
  }
}

/** Some machines have no IPv6. */
function loopback(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])
  return ['::1', '127.0.0.1'].filter((loop) => all.some(({ address }) => address === loop))
}

const joined = (host: string, port: number) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)

/**
 * Starts Caddy, and starts it again when it ends. Rejects with one sentence if it is not installed
 * or cannot serve.
 */
export async function startHttp3Front(settings: FrontSettings, timers: Pick<Timers, 'later' | 'now'>) {
  await mustBeFree(settings)
  let isOver = false
  let child = await startCaddy(settings, timers)
  watch()

  function watch(): void {
    child.once('exit', (code, signal) => {
      if (isOver) return
      output.incident('front-failed', `Caddy ended with ${signal ?? code}; it is started again`)
      timers.later(restart, restartMs)
    })
  }

  async function restart(): Promise<void> {
    if (isOver) return
    try {
      child = await startCaddy(settings, timers)
      if (isOver) child.kill()
      else watch()
    } catch (error) {
      output.incident('front-failed', 'Caddy could not be started again', error)
      timers.later(restart, restartMs)
    }
  }

  return {
    /** After the server. Resolves once Caddy has ended. */
    async close(): Promise<void> {
      isOver = true
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      if (await endsWithin(ended, lastBytesMs, timers)) return
      child.kill()
      if (!(await endsWithin(ended, endsWithinMs, timers))) child.kill('SIGKILL')
    },
  }
}

async function startCaddy(
  settings: FrontSettings,
  { later, now }: Pick<Timers, 'later' | 'now'>,
): Promise<ChildProcess> {
  const child = spawn('caddy', ['run', '--config', '-'], {
    stdio: ['pipe', 'ignore', 'pipe'],
    // Ctrl-C in a terminal must not end it before the server.
    detached: true,
    windowsHide: true,
  })
  const end = () => child.kill()
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  let said = ''
  createInterface({ input: child.stderr }).on('line', (line) => {
    said = messageIn(line)
  })
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(new Error(whyNot(error))))
    child.once('exit', () => reject(new Error(`Caddy cannot serve HTTP/3 on port ${settings.port}: ${said}`)))
  })
  failed.catch(() => undefined)
  child.stdin.on('error', () => undefined)
  child.stdin.end(JSON.stringify(frontConfig(settings)))
  const until = now() + startsWithinMs
  while (!(await Promise.race([isListening(settings), failed]))) {
    if (now() > until) {
      child.kill('SIGKILL')
      throw new Error(`Caddy did not serve on port ${settings.port} within ${startsWithinMs / 1000} s.`)
    }
    await Promise.race([new Promise<void>((resolve) => later(resolve, lookAgainMs)), failed])
  }
  return child
}

function whyNot({ code, message }: NodeJS.ErrnoException): string {
  if (code !== 'ENOENT') return `Caddy, which serves HTTP/3, could not be started: ${message}.`
  const way = waysToInstall[process.platform] ?? 'see https://caddyserver.com/docs/install'
  return `HTTP/3 needs Caddy, which is not installed: ${way}. Without --http3 the server has HTTP/2 and HTTP/1.1.`
}

/** Otherwise another program would be taken for Caddy. */
async function mustBeFree({ host, port }: FrontSettings): Promise<void> {
  try {
    await occupy({ port, host: addressOf(host) })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why =
      code === 'EADDRINUSE'
        ? `is in use on ${host}: stop the program that uses it`
        : `cannot be opened (${message})`
    throw new Error(`Port ${port} ${why}, or choose another with --http3-port.`)
  }
}

/** Of a line of Caddy's log, or of what it says before it has one. */
function messageIn(line: string): string {
  try {
    const { msg, error } = JSON.parse(line) as { readonly msg?: string; readonly error?: string }
    return error ?? msg ?? line
  } catch {
    return line
  }
}

/** By which this machine reaches itself. */
const addressOf = (host: string) => (['localhost', '0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host)

async function isListening({ host, port }: FrontSettings): Promise<boolean> {
  const socket = net.connect({ port, host: addressOf(host) })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
