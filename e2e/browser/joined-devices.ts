// Devices that open the lab's link: their pages are windows of a measurement, without WebDriver.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import type { Exchange, Timers } from '../../client/wire.ts'
import { originFor } from '../../scripts/addresses.ts'
import { endsWithin, processTimers } from '../../scripts/process.ts'
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
const maxAnswerBytes = 8 * 1024 ** 2
const maxErrorWords = 200
const maxPageBytes = 64 * 1024 ** 2

/** A refused request: a code for programs and a sentence for people. */
class Refusal extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, sentence: string) {
    super(sentence)
    this.status = status
    this.code = code
  }
}

interface Request {
  readonly query: URLSearchParams
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** Resolves to the response's JSON; undefined for 204. */
type Route = (request: Request) => Promise<unknown>

interface Status {
  readonly phase: 'waiting' | 'measuring' | 'done' | 'ended'
  readonly words: string
}

type Order = (
  | { readonly what: 'open'; readonly path: string }
  | { readonly what: 'run'; readonly name: string; readonly args: readonly unknown[] }
) & {
  /** Index of the frame on its page, from 0. */
  readonly frame: number
}

const finite = z.number()
const name = z.string().max(200)
const sentStamp = z.object({
  id: name,
  sentAt: finite,
  inputAt: finite.nullable(),
  bytes: finite,
  bodyBytes: finite,
})
const receivedStamp = z.object({
  id: name,
  kind: name,
  seq: finite,
  acceptedAt: finite,
  receivedAt: finite,
  appliedAt: finite.nullable(),
  paintedAt: finite.nullable(),
  bytes: finite,
  bodyBytes: finite,
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

/** Reads the answer of each function that a device may be told to run. */
const answering: {
  readonly [Name in keyof typeof receiverFunctions]: Answering<
    Awaited<ReturnType<(typeof receiverFunctions)[Name]>>
  >
} = {
  isLinked: { schema: z.boolean(), missed: true },
  readLink: {
    schema: z.object({
      state: name.optional(),
      mode: name.optional(),
      spokenHttp: name.nullish(),
    }),
    missed: {},
  },
  showsText: { schema: z.boolean(), missed: true },
  editorShows: { schema: z.boolean(), missed: true },
  countStamps: { schema: z.object({ sent: finite, received: finite }), missed: { sent: 0, received: 0 } },
  hasAll: { schema: z.boolean(), missed: true },
  readStamps: { schema: stamps, missed: { sent: [], received: [] } },
  exchangeClocks: { schema: z.array(exchange).min(1).max(1000), missed: [noExchange] },
  readTickOffset: {
    schema: z.object({ offsetMs: finite, boundMs: finite }),
    missed: { offsetMs: 0, boundMs: 0 },
  },
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
 * results. It carries out one at a time.
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
    // A device that was away or hidden takes part again.
    this.#missed = this.isHere() ? null : 'went away'
    if (this.#missed !== null) return
    await this.#open(0, address)
    this.#hidesBefore = this.#seen.hides
  }

  run<Result, Arguments extends readonly unknown[]>(
    script: (...args: Arguments) => Result | Promise<Result>,
    ...args: Arguments
  ): Promise<Result> {
    return this.#run(0, script, args)
  }

  /**
   * This many windows, as frames beside each other on its page. They miss a turn together; opening
   * the first begins one.
   */
  frames(count: number): readonly (RecordingWindow & Pick<JoinedDevice, 'miss'>)[] {
    const others = Array.from({ length: count - 1 }, (_, index) => {
      const frame = index + 1
      const beside: RecordingWindow & Pick<JoinedDevice, 'miss'> = {
        open: async (address) => (this.#missed === null ? this.#open(frame, address) : undefined),
        run: (script, ...args) => this.#run(frame, script, args),
        close: () => this.#leave(frame),
        miss: (why) => this.miss(why),
      }
      return beside
    })
    return [this, ...others]
  }

  async #open(frame: number, address: string): Promise<void> {
    const { origin, pathname, search } = new URL(address)
    this.#lab.measures(origin)
    await this.#ask({ what: 'open', path: `${pathname}${search}`, frame })
  }

  async #run<Result, Arguments extends readonly unknown[]>(
    frame: number,
    script: (...args: Arguments) => Result | Promise<Result>,
    args: Arguments,
  ): Promise<Result> {
    const found = Object.entries(receiverFunctions).find(([, known]) => known === (script as unknown))
    if (!found) throw new Error(`A joined device does not run ${script.name}.`)
    const [name] = found as [keyof typeof answering, unknown]
    const { schema, missed } = answering[name]
    if (this.#missed !== null) return missed as Result
    const parsed = schema.safeParse(await this.#ask({ what: 'run', name, args, frame }))
    if (!parsed.success) this.miss('gave an answer that was not understood')
    else if (this.#seen.isHidden || this.#seen.hides !== this.#hidesBefore) this.miss('was hidden')
    return (this.#missed === null ? parsed.data : missed) as Result
  }

  /** Leaves the measured page; the device stays joined. */
  close(): Promise<void> {
    return this.#leave(0)
  }

  async #leave(frame: number): Promise<void> {
    if (this.isHere()) await this.#ask({ what: 'open', path: 'about:blank', frame })
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

  /** Something new is waiting for it. */
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
      this.miss(`failed (${error.slice(0, maxErrorWords).replaceAll(/\b[a-z]+:\/\/\S+/g, '…')})`)
    this.#order.settle(result)
  }

  /** Resolves to everything new since `seen`, or after 25 s; `onCut` signals the end of the request. */
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
  readonly #files: ReadonlyMap<string, readonly [type: string, text: string]>
  readonly #routes = this.#allRoutes()
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
    const [html = '', css = '', js = ''] = files
    this.#files = new Map([
      ['/lab/join', ['text/html', html]],
      ['/lab/join.css', ['text/css', css]],
      ['/lab/join.js', ['text/javascript', js]],
      ['/lab/receiver.js', ['text/javascript', receiverScript]],
    ])
    server.on('request', (request, response) => void this.#answer(request, response))
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
    if (this.#hasBegun) throw new Refusal(404, 'not-found', 'The lab has begun without this device.')
    // A place is free again when its device leaves.
    this.#devices = this.#devices.filter((device) => device.isHere())
    if (this.#devices.length >= expected)
      throw new Refusal(
        503,
        'too-many-windows',
        `All ${expected} devices that the lab waits for have joined.`,
      )
    const places = Array.from({ length: expected }, (_, index) => `device ${index + 1}`)
    const name = places.find((place) => this.#devices.every((device) => device.name !== place)) ?? ''
    const device = new JoinedDevice(this, { name, agent: agentOf(userAgent), timers, answerWithinMs })
    this.#devices = [...this.#devices, device].toSorted((one, other) => one.name.localeCompare(other.name))
    return device
  }

  #device(id: string | null): JoinedDevice {
    const device = this.#devices.find((one) => one.id === id)
    if (!device)
      throw new Refusal(404, 'not-found', 'The lab has no device with that id; open its link again.')
    return device
  }

  /** Never rejects. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#respond(request, response)
    } catch (error) {
      // A device that went away needs no answer.
      if (response.headersSent || response.destroyed) return void response.destroy()
      const isRefusal = error instanceof Refusal
      if (!isRefusal) console.error('A request of a joined device failed:', error)
      const { status, code, message } = isRefusal ? error : failed
      sendJson(response, { type: 'refused', code, message }, status)
    }
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? '/', this.origin)
    if (!url) throw new Refusal(400, 'bad-request', 'The request’s address is not one.')
    const { pathname, searchParams: query } = url
    const file = this.#files.get(pathname)
    if (file && request.method === 'GET') {
      const [type, text] = file
      response.writeHead(200, { ...pageHeaders, 'Content-Type': `${type}; charset=utf-8` }).end(text)
      return
    }
    const route = this.#routes[`${request.method} ${pathname}`]
    if (!route) return this.#passOn(pathname, request, response)
    const answer = await route({ query, request, response })
    if (answer === undefined) response.writeHead(204).end()
    else sendJson(response, answer)
  }

  #allRoutes(): Readonly<Record<string, Route>> {
    return {
      'POST /lab/devices': async ({ request, response }) => {
        const { device: known } = parse(joining, await readJson(request, response))
        const device = this.#join(known, request.headers['user-agent'] ?? '')
        device.heard({ hides: 0, isHidden: false })
        this.#tell()
        this.#onJoined()
        return { device: device.id, name: device.name }
      },
      'GET /lab/instructions': async ({ query, response }) => {
        const { device: id, seen, ...visible } = parse(asking, Object.fromEntries(query))
        const device = this.#device(id)
        device.heard(visible)
        this.#onJoined()
        const next = await device.next(seen, (run) => response.once('close', run))
        if (!this.hasEnded) return next
        response.setHeader('Connection', 'close')
        response.once('close', () => this.#toTell.delete(device) && this.#toTell.size === 0 && this.#onTold())
        return next
      },
      'POST /lab/answers': async ({ query, request, response }) => {
        const device = this.#device(query.get('device'))
        const given = parse(answer, await readJson(request, response))
        device.heard(given)
        device.answered(given)
      },
      'POST /lab/left': async ({ query }) => {
        this.#device(query.get('device')).left()
        this.#tell()
      },
    }
  }

  /** Proxies the measured page and its files. */
  async #passOn(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isPage = path === '/' || path.startsWith('/d/')
    if (request.method !== 'GET' || !(isPage || /^\/(assets\/|favicon\.)/.test(path)))
      throw new Refusal(404, 'not-found', `There is nothing at ${path.slice(0, maxErrorWords)}.`)
    if (this.#measured === null) throw new Refusal(404, 'not-found', 'No measurement is running yet.')
    const accepted = String(request.headers['accept-encoding'] ?? 'identity')
    const { status, headers, body } = await this.#upstream(this.#measured).ask({
      path: request.url ?? '/',
      headers: { 'accept-encoding': isPage ? 'identity' : accepted },
    })
    response.statusCode = status
    for (const name of passedHeaders) if (headers[name] !== undefined) response.setHeader(name, headers[name])
    if (!isPage || status !== 200) return pipeline(body, response)
    const policy = String(headers['content-security-policy'])
    response.setHeader(
      'Content-Security-Policy',
      policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'"),
    )
    const page = await textOf(body)
    if (page.length > maxPageBytes) throw new Refusal(413, 'too-large', 'The measured page is too large.')
    const changed = page.replace(settingsElement, (_whole, open: string, json: string, close: string) => {
      const settings = JSON.parse(json)
      // A page from any other port assumes a proxy, and would request its streams here.
      settings.ports.lab = Number(new URL(this.origin).port)
      return `${open}${JSON.stringify(settings).replaceAll('<', '\\u003c')}${close}`
    })
    response.end(changed)
  }

  #upstream(origin: string): HttpClient {
    const known = this.#upstreams.get(origin) ?? connectHttp('1.1', origin, null)
    this.#upstreams.set(origin, known)
    return known
  }
}

const settingsElement = /(<script type="application\/json" id="settings">)([^<]*)(<\/script>)/

const passedHeaders = [
  'content-type',
  'content-encoding',
  'content-security-policy',
  'cache-control',
  'etag',
  'location',
  'cross-origin-opener-policy',
  'cross-origin-embedder-policy',
  'cross-origin-resource-policy',
  'vary',
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
async function readJson(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new Refusal(415, 'wrong-type', 'A device sends application/json.')
  request.setEncoding('utf8')
  let text = ''
  for await (const chunk of request) {
    text += chunk
    if (text.length <= maxAnswerBytes) continue
    response.setHeader('Connection', 'close')
    throw new Refusal(413, 'too-large', `An answer has at most ${maxAnswerBytes} bytes.`)
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(400, 'not-json', 'The request is not JSON.')
  }
}

const failed = { status: 500, code: 'internal', message: 'The lab could not answer this request.' }

function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  const type = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' }
  response.writeHead(status, type).end(JSON.stringify(body))
}

/** Throws a `Refusal` (400). */
function parse<Shape>(schema: z.ZodType<Shape>, given: unknown): Shape {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new Refusal(400, 'bad-request', `${issue?.path.join('.') || 'The request'}: ${issue?.message}.`)
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
