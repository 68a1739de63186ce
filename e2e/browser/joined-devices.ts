// Devices that open the lab's link: their pages are windows of a measurement, without WebDriver.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Router from '@koa/router'
import Koa, { type Middleware, type ParameterizedContext } from 'koa'
import { z } from 'zod'
import type { Exchange, Timers } from '../../client/wire.ts'
import { answerErrors } from '../../server/http/refusals.ts'
import { output } from '../../server/output.ts'
import { endsWithin, processTimers } from '../../server/process.ts'
import { originFor } from '../../server/security/access.ts'
import { Refusal } from '../../server/wire/refusal.ts'
import type { ReceivedStamp, SentStamp } from '../../web/lab.ts'
import { connectHttp, type HttpClient, textOf } from '../clients/http-client.ts'
import { type RecordingWindow, receiverFunctions } from './typing.ts'

interface ListenerSettings {
  /** Name or address in the link. */
  readonly host: string
  /** Address to listen on. */
  readonly listen: string
  /** 0 for a free one. */
  readonly port: number
  /** PEM. */
  readonly cert: string
  readonly key: string
  /** Devices to wait for. */
  readonly expected: number
  readonly timers?: Timers
  /** Time for all devices to join. */
  readonly joinWithinMs?: number
  /** Time for a device to answer an instruction, such as 30 clock exchanges over a slow network. */
  readonly answerWithinMs?: number
}

const holdMs = 25_000
/** After this long without a request, open or new, a device counts as away. */
const awayAfterMs = 10_000
const farewellMs = 2000
/** The stamps of 10,000 keys. */
const mostAnswerBytes = 8 * 1024 ** 2
const mostErrorWords = 200
const mostPageBytes = 64 * 1024 ** 2

interface Status {
  readonly phase: 'waiting' | 'measuring' | 'done' | 'ended'
  readonly words: string
}

type Order =
  | { readonly what: 'open'; readonly path: string }
  | { readonly what: 'run'; readonly name: string; readonly args: readonly unknown[] }

const finite = z.number()
const name = z.string().max(200)
const sentStamp = z.object({ id: name, sentAt: finite, inputAt: finite.nullable(), bytes: finite })
const receivedStamp = z.object({
  id: name,
  kind: name,
  seq: finite,
  acceptedAt: finite,
  receivedAt: finite,
  appliedAt: finite.nullable(),
  paintedAt: finite.nullable(),
  bytes: finite,
})
const stamps: z.ZodType<{ sent: SentStamp[]; received: ReceivedStamp[] }> = z.object({
  sent: z.array(sentStamp).max(50_000),
  received: z.array(receivedStamp as z.ZodType<ReceivedStamp>).max(50_000),
})
const exchange = z.object({ sentAt: finite, receivedAt: finite, answeredAt: finite, returnedAt: finite })
const noExchange: Exchange = { sentAt: 0, receivedAt: 0, answeredAt: 0, returnedAt: 0 }

interface Answering<Result> {
  readonly schema: z.ZodType<Result>
  /**
   * The result for a device that misses the turn: nothing waits for it, and its stamps are excluded
   * afterwards.
   */
  readonly missed: Result
}

/** For each function that a device may be told to run. */
const answering: {
  readonly [Name in keyof typeof receiverFunctions]: Answering<
    Awaited<ReturnType<(typeof receiverFunctions)[Name]>>
  >
} = {
  isLinked: { schema: z.boolean(), missed: true },
  showsText: { schema: z.boolean(), missed: true },
  editorShows: { schema: z.boolean(), missed: true },
  countStamps: { schema: z.object({ sent: finite, received: finite }), missed: { sent: 0, received: 0 } },
  hasAll: { schema: z.boolean(), missed: true },
  readStamps: { schema: stamps, missed: { sent: [], received: [] } },
  exchangeClocks: { schema: z.array(exchange).min(1).max(1000), missed: [noExchange] },
}

/** How often the page was hidden since it joined, and whether it is now. */
const visibility = { hides: z.coerce.number().int().min(0), isHidden: z.stringbool() }
const joining = z.object({ device: z.string().max(64).optional() })
const asking = z.object({
  device: z.string().max(64),
  seen: z.coerce.number().int().min(0),
  ...visibility,
})
const answer = z.object({
  number: z.number().int(),
  hides: z.number().int().min(0),
  isHidden: z.boolean(),
  result: z.unknown().optional(),
  error: z.string().max(1000).optional(),
})

/**
 * A window of a measurement controlled through its own page, which fetches instructions and posts
 * results.
 */
export class JoinedDevice implements RecordingWindow {
  readonly id = randomUUID()
  /** Such as `device 1`. */
  readonly name: string
  /** Such as `Chrome 156 on Android`. */
  readonly agent: string
  readonly #lab: DeviceListener
  readonly #timers: Timers
  readonly #answerWithinMs: number
  #missed: string | null = null
  #order: {
    readonly number: number
    readonly order: Order
    readonly settle: (given: unknown) => void
  } | null = null
  #orders = 0
  #version = 1
  /** Answers the open request. */
  #release: (() => void) | null = null
  #heardAt: number
  #hasLeft = false
  #seen = { hides: 0, isHidden: false }
  #hidesBefore = 0

  constructor(
    lab: DeviceListener,
    given: { name: string; agent: string; timers: Timers; answerWithinMs: number },
  ) {
    this.#lab = lab
    this.name = given.name
    this.agent = given.agent
    this.#timers = given.timers
    this.#answerWithinMs = given.answerWithinMs
    this.#heardAt = given.timers.now()
  }

  /** Why its stamps since the last page do not count; null if they do. */
  get missed(): string | null {
    return this.#missed
  }

  isHere(): boolean {
    return !this.#hasLeft && (this.#release !== null || this.#timers.now() - this.#heardAt < awayAfterMs)
  }

  miss(why: string): void {
    this.#missed ??= why
  }

  async open(address: string): Promise<void> {
    const { origin, pathname, search } = new URL(address)
    this.#lab.measures(origin)
    // A device that was away or hidden takes part again.
    this.#missed = this.isHere() ? null : 'went away'
    if (this.#missed !== null) return
    await this.#ask({ what: 'open', path: `${pathname}${search}` })
    this.#hidesBefore = this.#seen.hides
  }

  async run<Result, Arguments extends readonly unknown[]>(
    script: (...args: Arguments) => Result | Promise<Result>,
    ...args: Arguments
  ): Promise<Result> {
    const found = Object.entries(receiverFunctions).find(([, known]) => known === (script as unknown))
    if (!found) throw new Error(`A joined device does not run ${script.name}.`)
    const [name] = found as [keyof typeof answering, unknown]
    const { schema, missed } = answering[name]
    if (this.#missed !== null) return missed as Result
    const parsed = schema.safeParse(await this.#ask({ what: 'run', name, args }))
    if (!parsed.success) this.miss('gave an answer that was not understood')
    else if (this.#seen.isHidden || this.#seen.hides !== this.#hidesBefore) this.miss('was hidden')
    return (this.#missed === null ? parsed.data : missed) as Result
  }

  /** Leaves the measured page; the device stays joined. */
  async close(): Promise<void> {
    if (this.isHere()) await this.#ask({ what: 'open', path: 'about:blank' })
  }

  /** Undefined if it does not answer in time, or reports an error. */
  async #ask(order: Order): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.#orders += 1
    this.#order = { number: this.#orders, order, settle: resolve }
    const stop = this.#timers.later(() => {
      this.miss('went away')
      this.#hasLeft = true
      resolve(undefined)
    }, this.#answerWithinMs)
    this.changed()
    const given = await promise
    stop()
    this.#order = null
    return given
  }

  // Below: for the listener.

  /** There is something new for it. */
  changed(): void {
    this.#version += 1
    this.#release?.()
  }

  heard(seen: { readonly hides: number; readonly isHidden: boolean }): void {
    this.#hasLeft = false
    this.#heardAt = this.#timers.now()
    this.#seen = { hides: seen.hides, isHidden: seen.isHidden }
  }

  /** Its page was closed, left or reloaded. */
  left(): void {
    this.#hasLeft = true
    this.miss('went away')
    this.#order?.settle(undefined)
  }

  /** Ignores an answer to anything except the current instruction. */
  answered({ number, result, error }: z.output<typeof answer>): void {
    if (this.#order?.number !== number) return
    // Reports contain no addresses.
    if (error !== undefined)
      this.miss(`failed (${error.slice(0, mostErrorWords).replaceAll(/\b[a-z]+:\/\/\S+/g, '…')})`)
    this.#order.settle(result)
  }

  /**
   * Resolves to what is new since `seen`, or after 25 s; `onCut` signals the end of the request.
   */
  async next(seen: number, onCut: (run: () => void) => void) {
    if (seen >= this.#version && !this.#lab.hasEnded) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const stop = this.#timers.later(resolve, holdMs)
      // A second request, from a reloaded page, replaces the first.
      this.#release?.()
      this.#release = resolve
      onCut(resolve)
      await promise
      stop()
      if (this.#release === resolve) this.#release = null
      this.#heardAt = this.#timers.now()
    }
    const order = this.#order && { number: this.#order.number, ...this.#order.order }
    return { seen: this.#version, name: this.name, status: this.#lab.status, order }
  }
}

/**
 * Serves `/lab/join` for a whole run, over TLS. The measured page is proxied from the measured
 * server, so that the joined page may frame it; its streams go directly to that server, which must
 * allow this origin.
 */
export class DeviceListener {
  readonly origin: string
  /** The link that devices open. */
  readonly link: string
  readonly #settings: Required<ListenerSettings>
  readonly #server: https.Server
  readonly #pages: Router
  readonly #upstreams = new Map<string, HttpClient>()
  #devices: JoinedDevice[] = []
  #measured: string | null = null
  #hasBegun = false
  #status: Status = { phase: 'waiting', words: '' }
  #onJoined: () => void = () => undefined
  /** Devices that have not yet been told of the end. */
  #toTell = new Set<JoinedDevice>()
  #onTold: () => void = () => undefined

  /** Rejects if the port cannot be taken. */
  static async start(given: ListenerSettings): Promise<DeviceListener> {
    const settings = {
      timers: processTimers,
      joinWithinMs: 600_000,
      answerWithinMs: 30_000,
      ...given,
    }
    const { cert, key, port, listen } = settings
    const server = https.createServer({ cert, key, minVersion: 'TLSv1.2', requestTimeout: 60_000 })
    server.listen(port, listen === 'localhost' ? '127.0.0.1' : listen)
    await once(server, 'listening').catch((cause) => {
      throw new Error(`Devices cannot join at ${listen}, port ${port}: ${cause.message}.`, { cause })
    })
    const files = await Promise.all(
      ['html', 'css', 'js'].map((type) => readFile(join(import.meta.dirname, `join-page.${type}`), 'utf8')),
    )
    return new DeviceListener(settings, server, files)
  }

  private constructor(settings: Required<ListenerSettings>, server: https.Server, files: readonly string[]) {
    this.#settings = settings
    this.#server = server
    this.origin = originFor(settings.host, (server.address() as AddressInfo).port)
    this.link = `${this.origin}/lab/join`
    this.#pages = this.#routes(files)
    const app = new Koa()
    app.on('error', (error) =>
      output.incident('request-failed', 'A request of a joined device failed', error),
    )
    app.use(answerErrors).use(this.#pages.routes()).use(this.#passOn)
    server.on('request', app.callback())
    this.#tell()
  }

  get status(): Status {
    return this.#status
  }

  get hasEnded(): boolean {
    return this.#status.phase === 'done' || this.#status.phase === 'ended'
  }

  /**
   * Resolves when the expected number of devices have joined. Rejects after ten minutes, and on
   * abort.
   */
  async gather(signal: AbortSignal, onJoined: (device: JoinedDevice) => void) {
    const { expected, timers, joinWithinMs } = this.#settings
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const told = new Set<JoinedDevice>()
    const look = () => {
      for (const device of this.#devices) {
        if (!told.has(device)) onJoined(device)
        told.add(device)
      }
      if (this.#here().length >= expected) resolve()
    }
    const stop = timers.later(() => {
      const here = this.#here().length
      const some = `${here} of ${expected} devices ${here === 1 ? 'is' : 'are'} here`
      reject(new Error(`${some} after ${joinWithinMs / 60_000} minutes: --join sets how many to wait for.`))
    }, joinWithinMs)
    const stopped = () => reject(signal.reason)
    signal.addEventListener('abort', stopped)
    this.#onJoined = look
    try {
      signal.throwIfAborted()
      look()
      await promise
    } finally {
      stop()
      signal.removeEventListener('abort', stopped)
      this.#onJoined = () => undefined
    }
    this.#hasBegun = true
    return [...this.#devices]
  }

  /** Shows these words on every device. */
  say(words: string): void {
    this.#status = { phase: 'measuring', words }
    for (const device of this.#devices) device.changed()
  }

  /** Devices load the next page from this server. */
  measures(origin: string): void {
    this.#measured = origin
  }

  /** Tells the devices; only the first call counts. Resolves within two seconds. */
  async end(how: 'done' | 'ended'): Promise<void> {
    if (this.hasEnded) return
    const words = how === 'done' ? 'Done, thank you' : 'The lab has ended'
    this.#status = { phase: how, words }
    this.#toTell = new Set(this.#here())
    const told = new Promise<void>((resolve) => {
      this.#onTold = resolve
    })
    for (const device of this.#devices) device.changed()
    if (this.#toTell.size > 0) await endsWithin(told, farewellMs, this.#settings.timers)
    this.#server.close()
    this.#server.closeAllConnections()
    for (const upstream of this.#upstreams.values()) upstream.close()
  }

  #here(): readonly JoinedDevice[] {
    return this.#devices.filter((device) => device.isHere())
  }

  #tell(): void {
    if (this.#hasBegun) return
    const { expected } = this.#settings
    const here = this.#here().length
    this.#status = {
      phase: 'waiting',
      words: `${here} of ${expected} device${expected > 1 ? 's' : ''} joined`,
    }
    for (const device of this.#devices) device.changed()
  }

  #join(known: string | undefined, userAgent: string): JoinedDevice {
    const before = this.#devices.find(({ id }) => id === known)
    if (before) return before
    const { expected, timers, answerWithinMs } = this.#settings
    if (this.#hasBegun) throw new Refusal('not-found', 'The lab has begun without this device.')
    // A place is free again when its device leaves.
    this.#devices = this.#devices.filter((device) => device.isHere())
    if (this.#devices.length >= expected)
      throw new Refusal('too-many-windows', `All ${expected} devices that the lab waits for have joined.`)
    const places = Array.from({ length: expected }, (_, place) => `device ${place + 1}`)
    const name = places.find((place) => this.#devices.every((device) => device.name !== place)) ?? ''
    const device = new JoinedDevice(this, { name, agent: agentOf(userAgent), timers, answerWithinMs })
    this.#devices = [...this.#devices, device].toSorted((one, other) => one.name.localeCompare(other.name))
    return device
  }

  #device(id: string): JoinedDevice {
    const device = this.#devices.find((one) => one.id === id)
    if (!device) throw new Refusal('not-found', 'The lab has no device with that id; open its link again.')
    return device
  }

  #routes([html = '', css = '', js = '']: readonly string[]): Router {
    const router = new Router({ prefix: '/lab' })
    const serve = (path: string, type: string, body: string) =>
      router.get(path, (ctx) => {
        ctx.set(pageHeaders)
        ctx.type = type
        ctx.body = body
      })
    serve('/join', 'html', html)
    serve('/join.css', 'css', css)
    serve('/join.js', 'js', js)
    serve('/receiver.js', 'js', receiverScript)
    router.post('/devices', async (ctx) => {
      const { device: known } = parse(joining, await readJson(ctx))
      const device = this.#join(known, ctx.get('User-Agent'))
      device.heard({ hides: 0, isHidden: false })
      this.#tell()
      this.#onJoined()
      ctx.body = { device: device.id, name: device.name }
    })
    router.get('/instructions', async (ctx) => {
      const { device: id, seen, ...visible } = parse(asking, { ...ctx.query })
      const device = this.#device(id)
      device.heard(visible)
      this.#onJoined()
      ctx.set('Cache-Control', 'no-store')
      ctx.body = await device.next(seen, (run) => ctx.res.once('close', run))
      if (!this.hasEnded) return
      ctx.set('Connection', 'close')
      ctx.res.once('close', () => this.#toTell.delete(device) && this.#toTell.size === 0 && this.#onTold())
    })
    router.post('/answers', async (ctx) => {
      const device = this.#device(String(ctx.query.device))
      const given = parse(answer, await readJson(ctx))
      device.heard(given)
      device.answered(given)
      ctx.status = 204
    })
    router.post('/left', (ctx) => {
      this.#device(String(ctx.query.device)).left()
      this.#tell()
      ctx.status = 204
    })
    return router
  }

  /** Proxies the measured page and its files. */
  #passOn: Middleware = async (ctx) => {
    const isPage = ctx.path === '/' || ctx.path.startsWith('/d/')
    if (ctx.method !== 'GET' || !(isPage || /^\/(assets\/|favicon\.)/.test(ctx.path))) return
    if (this.#measured === null) throw new Refusal('not-found', 'No measurement is running yet.')
    const { status, headers, body } = await this.#upstream(this.#measured).ask({
      path: ctx.url,
      headers: { 'accept-encoding': isPage ? 'identity' : ctx.get('Accept-Encoding') },
    })
    ctx.status = status
    for (const name of passedHeaders) if (headers[name] !== undefined) ctx.set(name, headers[name])
    if (!isPage || status !== 200) {
      ctx.body = body
      return
    }
    const policy = String(headers['content-security-policy'])
    ctx.set('Content-Security-Policy', policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'"))
    const page = await textOf(body)
    if (page.length > mostPageBytes) throw new Refusal('too-large', 'The measured page is too large.')
    ctx.body = page.replace(settingsElement, (_whole, open: string, json: string, close: string) => {
      const settings = JSON.parse(json)
      // A page from any other port assumes a proxy, and would request its streams here.
      settings.ports.lab = Number(new URL(this.origin).port)
      return `${open}${JSON.stringify(settings).replaceAll('<', '\\u003c')}${close}`
    })
  }

  #upstream(origin: string): HttpClient {
    const known = this.#upstreams.get(origin) ?? connectHttp('1.1', origin, null)
    this.#upstreams.set(origin, known)
    return known
  }
}

const settingsElement = /(<script type="application\/json" id="settings">)([^<]*)(<\/script>)/

const passedHeaders = [
  ...['content-type', 'content-encoding', 'content-security-policy', 'cache-control', 'etag', 'location'],
  ...['cross-origin-opener-policy', 'cross-origin-embedder-policy', 'cross-origin-resource-policy', 'vary'],
]

/** Isolated, for a clock as fine as the measured page has by itself. */
const pageHeaders = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
}

/** Loaded with the measured page, in its frame. */
const receiverScript = `globalThis.receiver = { ${Object.entries(receiverFunctions)
  .map(([name, script]) => `${name}: ${script}`)
  .join(',\n')} }\n`

/**
 * Throws a `Refusal` (415, 413 or 400). Only JSON, which other sites' pages cannot send without a
 * preflight.
 */
async function readJson(ctx: ParameterizedContext): Promise<unknown> {
  if (ctx.request.type !== 'application/json')
    throw new Refusal('wrong-type', 'A device sends application/json.')
  ctx.req.setEncoding('utf8')
  let text = ''
  for await (const chunk of ctx.req) {
    text += chunk
    if (text.length <= mostAnswerBytes) continue
    ctx.set('Connection', 'close')
    throw new Refusal('too-large', `An answer has at most ${mostAnswerBytes} bytes.`)
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal('not-json', 'The request is not JSON.')
  }
}

/** Throws a `Refusal` (400). */
function parse<Shape>(schema: z.ZodType<Shape>, given: unknown): Shape {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new Refusal('bad-request', `${issue?.path.join('.') || 'The request'}: ${issue?.message}.`)
}

/** In order: later names also occur in the strings of earlier browsers. */
const browsers = [
  [/\bEdgA?\/(\d{1,4})\b/, 'Edge'],
  [/\bOPR\/(\d{1,4})\b/, 'Opera'],
  [/\bSamsungBrowser\/(\d{1,4})\b/, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\/(\d{1,4})\b/, 'Firefox'],
  [/\bHeadlessChrome\/(\d{1,4})\b/, 'headless Chrome'],
  [/\b(?:Chrome|CriOS)\/(\d{1,4})\b/, 'Chrome'],
  [/\bVersion\/(\d{1,4})\b\S* (?:Mobile\/\S+ )?Safari\//, 'Safari'],
] as const
const systems = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const

/** Such as `Chrome 156 on Android`: no model, no build. */
export function agentOf(userAgent: string): string {
  const found = browsers.find(([pattern]) => pattern.test(userAgent))
  const browser = found ? `${found[1]} ${found[0].exec(userAgent)?.[1]}` : 'an unknown browser'
  const system = systems.find(([pattern]) => pattern.test(userAgent))
  return system ? `${browser} on ${system[1]}` : browser
}
