// `node adapter-process.ts {"file":…}`: starts an adapter's system, and serves the measured page.

import { once } from 'node:events'
import { readFileSync, realpathSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import http2 from 'node:http2'
import { findPackageJSON } from 'node:module'
import net from 'node:net'
import { join, sep } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import tls from 'node:tls'
import { pathToFileURL, urlToHttpOptions } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { z } from 'zod'
import { connections, modeNamed, modes } from '../../client/wire.ts'
import { findFreePorts } from '../lab/server-process.ts'
import type { Adapter, Host, PageAnswer, Started } from './adapter.ts'
import { answerFigures, cert, certificates, httpsServer, key, open, pathOf, sayReady } from './serving.ts'

export interface Starting {
  /** The adapter's. */
  readonly file: string
  readonly address?: string | undefined
  readonly fault?: string | undefined
  /** Where the page's servers listen. */
  readonly host?: string
  readonly withinMs?: number
  /** How long its address may be without an answer; default: half of `withinMs`. */
  readonly answersWithinMs?: number
}

/** Facts that an adapter reports to the lab. */
export interface Ready {
  readonly modes: readonly string[]
  readonly address: string | null
  readonly pid: number | null
  readonly version: string | null
}

const starting = JSON.parse(process.argv[2] ?? '{}') as Starting
const {
  address,
  fault = '',
  host = '127.0.0.1',
  withinMs = 20_000,
  answersWithinMs = withinMs / 2,
} = starting
const file = realpathSync(starting.file)

/** Ends the process with words for the lab. */
function fail(why: string): void {
  console.error(why)
  process.send?.({ type: 'failed', why }, () => process.exit(1))
}

process.on('uncaughtException', ({ message, code }: NodeJS.ErrnoException) =>
  fail(code === 'ENOENT' ? `${message}: there is no such program` : message),
)
const tooLate = setTimeout(() => fail(`it did not start within ${withinMs / 1000} s`), withinMs)

async function run(): Promise<void> {
  const adapter = await load()
  const files = pageFiles(await bundlePage())
  let otherwise: Started['answer']
  // The compatibility API of `http2` has the same form as HTTP/1.1's.
  const answer = ((request: IncomingMessage, response: ServerResponse) => {
    const found = files.get(pathOf(request))
    if (found) send(response, found)
    else if (otherwise === undefined || request.url === '/api/figures') answerFigures(request, response, 0)
    else otherwise(request, response)
  }) as PageAnswer
  const servers = bothServers(answer)
  const started = readStarted(await startedBy(adapter, servers))
  otherwise = started.answer
  const { mode: names, address = null, version = null } = started
  files.set('/peer.json', json({ ...started.page, address }))
  if (address !== null) await requireAnswer(new URL(address), started)
  const ports = (await started.listen?.(answer)) ?? {
    '2': await open(servers['2'], host),
    '1.1': await open(servers['1.1'], host),
  }
  clearTimeout(tooLate)
  const pid = started.pid ?? (address === null ? process.pid : null)
  const ready: Ready = { modes: names, address, pid, version }
  sayReady(ports['2'], ports['1.1'], ready)
}

async function load(): Promise<Adapter> {
  const found = await import(pathToFileURL(file).href).catch((cause) => {
    throw new Error(`it does not load: ${cause.message}`, { cause })
  })
  for (const name of ['start', 'open'])
    if (typeof found[name] !== 'function') throw new Error(`it exports no function ${name}()`)
  return found
}

async function startedBy(adapter: Adapter, servers: Host['servers']): Promise<unknown> {
  const given: Host = {
    address,
    fault,
    servers,
    host,
    cert,
    key,
    versionOf,
    port: (await findFreePorts())['2'],
    certFile: join(certificates, 'server.pem'),
    keyFile: join(certificates, 'server.key'),
  }
  try {
    return await adapter.start(given)
  } catch (cause) {
    throw new Error(`start() failed: ${cause instanceof Error ? cause.message : cause}`, { cause })
  }
}

function versionOf(name: string): string {
  const found = findPackageJSON(name, pathToFileURL(file))
  if (found === undefined) throw new Error(`the package ${name} is not installed`)
  return (JSON.parse(readFileSync(found, 'utf8')) as { version: string }).version
}

const startedSchema = z.strictObject({
  mode: z
    .union([z.string().transform((one) => [one]), z.array(z.string()).min(1)])
    .refine((names) => names.every(modeNamed), `there are ${modes.map(({ name }) => name).join(', ')}`),
  address: z
    .url({ protocol: /^(https?|wss?)$/, error: 'must be a URL of http, https, ws or wss' })
    .optional(),
  pid: z.int().positive().optional(),
  version: z.string().optional(),
  page: z.record(z.string(), z.json()).optional(),
  answer: z.custom<NonNullable<Started['answer']>>((value) => typeof value === 'function').optional(),
  listen: z.custom<NonNullable<Started['listen']>>((value) => typeof value === 'function').optional(),
})

function readStarted(given: unknown) {
  const parsed = startedSchema.safeParse(given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const [name] = issue?.path ?? []
  const value = name === undefined ? given : (given as Record<PropertyKey, unknown>)[name]
  throw new Error(
    `start() returned ${name === undefined ? '' : `${String(name)} `}${JSON.stringify(value)}: ${issue?.message}`,
  )
}

/**
 * Bundles `open` with what it imports. Nothing else of the adapter reaches the page: the imports of
 * its own files count as free of side effects, and what a browser does not have is left out.
 */
async function bundlePage(): Promise<string> {
  const isAsked = {}
  const pageHalf: Plugin = {
    name: 'page-half',
    setup({ onResolve, resolve }) {
      onResolve({ filter: /./ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
        if (pluginData === isAsked) return undefined
        const found = await resolve(path, { importer, kind, resolveDir, pluginData: isAsked })
        if (found.errors.length > 0) return { path, external: true, sideEffects: false }
        const isOwn = importer === file || !importer.includes(`${sep}node_modules${sep}`)
        return isOwn ? { ...found, sideEffects: false } : undefined
      })
    },
  }
  try {
    const { outputFiles } = await build({
      stdin: { contents: `export { open } from ${JSON.stringify(file)}`, resolveDir: import.meta.dirname },
      bundle: true,
      format: 'esm',
      platform: 'browser',
      target: 'esnext',
      write: false,
      logLevel: 'silent',
      plugins: [pageHalf],
      // Older packages expect these of whoever bundles them.
      define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
    })
    return outputFiles[0]?.text ?? ''
  } catch (cause) {
    throw new Error(`open() could not be bundled for the page: ${(cause as Error).message}`, { cause })
  }
}

interface PageFile {
  readonly type: string
  readonly body: string
}

const json = (value: object): PageFile => ({ type: 'application/json', body: JSON.stringify(value) })

function pageFiles(adapter: string) {
  const read = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8')
  return new Map<string, PageFile>([
    ['/', { type: 'text/html', body: read('page.html') }],
    ['/page.js', { type: 'text/javascript', body: read('page.js') }],
    ['/adapter.js', { type: 'text/javascript', body: adapter }],
  ])
}

function send(response: ServerResponse, { type, body }: PageFile): void {
  response.writeHead(200, {
    'Content-Type': `${type}; charset=utf-8`,
    // Isolation gives the page the same fine clock as Crosswind's.
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Embedder-Policy': 'require-corp',
  })
  response.end(body)
}

function bothServers(answer: PageAnswer): Host['servers'] {
  return {
    '2': http2.createSecureServer({ cert, key, allowHTTP1: true }, answer),
    '1.1': httpsServer(answer),
  }
}

/** A program that was just started has half of the time. */
async function requireAnswer(
  url: URL,
  { mode: names, pid }: Pick<ReturnType<typeof readStarted>, 'mode' | 'pid'>,
): Promise<void> {
  const end = performance.now() + answersWithinMs
  const [mode] = names.map(modeNamed)
  const { alpn, isShared } = connections[mode?.http ?? '1.1']
  for (;;) {
    try {
      const spoken = await protocolAt(url)
      if (spoken === null || spoken === alpn || !isShared) return
      throw new Error(`the server at ${url} does not speak HTTP/2, over which ${names} is measured`)
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code === undefined) throw cause
      if (pid !== undefined && !isRunning(pid))
        throw new Error(`its program ended, and nothing answers at ${url} (${code})`, { cause })
      if (performance.now() > end) throw new Error(`nothing answers at ${url} (${code})`, { cause })
    }
    await delay(50)
  }
}

/** Signal 0 is not sent (kill(2)). */
function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Resolves to the protocol that TLS negotiates; false for none, null without TLS. */
async function protocolAt(url: URL): Promise<string | false | null> {
  const { hostname, port } = urlToHttpOptions(url)
  const host = hostname ?? ''
  const signal = AbortSignal.timeout(withinMs / 2)
  if (!/^(https|wss):$/.test(url.protocol)) {
    const socket = net.connect({ host, port: Number(port || 80) })
    try {
      await once(socket, 'connect', { signal })
      return null
    } finally {
      socket.destroy()
    }
  }
  const socket = tls.connect({
    host,
    port: Number(port || 443),
    servername: net.isIP(host) ? '' : host,
    ALPNProtocols: ['h2', 'http/1.1'],
    rejectUnauthorized: false,
  })
  try {
    await once(socket, 'secureConnect', { signal })
    return socket.alpnProtocol ?? false
  } finally {
    socket.destroy()
  }
}

try {
  await run()
} catch (error) {
  fail(error instanceof Error ? error.message : String(error))
}
