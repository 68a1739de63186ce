// Transcripts of the wire: a foreign client's bytes in each mode, sent and received.

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import type { WebSocket } from 'ws'
import * as Y from 'yjs'
import { startTestServer } from '../../app/testing.ts'
import { type Mode, modeNamed, modes } from '../../protocol/modes.ts'
import { nameOf } from '../clients/client.ts'
import {
  type Answer,
  connectHttp,
  type HttpClient,
  type HttpRequest,
  textOf,
} from '../clients/http-client.ts'
import { startApplication } from '../conformance/application.ts'
import type { Golden } from './golden.ts'

const keys = { ada: 'golden-key-of-ada-00001', ben: 'golden-key-of-ben-00001' } as const
const names = { ada: nameOf(keys.ada, 'w1'), ben: nameOf(keys.ben, 'w1') } as const
const draftAt = 1_763_715_600_123.5
/** A frame that does not arrive within this time is missing. */
const patienceMs = 20_000

/** An application's channels: any other is refused. */
const declared = { notes: { kind: 'json' } } as const

interface Subject {
  readonly mode: Mode
  readonly origin: string
  readonly ca: string
  readonly isApplication: boolean
}

/** A golden for each mode, two of an application's server, and one of the other requests. */
export async function wireGoldens(): Promise<readonly Golden[]> {
  await using opened = new AsyncDisposableStack()
  const page = await startTestServer({ heartbeatMs: 1000 })
  opened.defer(page.close)
  const application = await startApplication({ channels: declared, heartbeatMs: 1000 })
  opened.defer(application.close)
  const plays = [
    ...modes.map(
      (mode) => () =>
        golden(fileOf(mode), async (transcript) => {
          const polling = { intervalMs: 20, holdMs: 20_000 }
          await using opened = new AsyncDisposableStack()
          const server = await startTestServer({ polling })
          opened.defer(server.close)
          await playMode(
            transcript,
            subjectOf(mode, server, false),
            subjectOf(mode, page, false),
            server.close,
          )
        }),
    ),
    ...modesOf('sse/2', 'websocket/1.1').map(
      (mode) => () =>
        golden(`application-${fileOf(mode)}`, async (transcript) => {
          await using opened = new AsyncDisposableStack()
          const server = await startApplication({ channels: declared })
          opened.defer(server.close)
          await playMode(
            transcript,
            subjectOf(mode, server, true),
            subjectOf(mode, application, true),
            server.close,
          )
        }),
    ),
    () => golden('requests', playRequests),
  ]
  const goldens: Golden[] = []
  // Each server adds listeners to the process; Node warns of a leak if there are many.
  while (plays.length > 0) goldens.push(...(await Promise.all(plays.splice(0, 4).map((play) => play()))))
  return goldens
}

const modesOf = (...names: readonly string[]) => names.flatMap((name) => modeNamed(name) ?? [])

const fileOf = ({ transport, http }: Mode) => `${transport}-${http}`

interface Started {
  readonly origin: Readonly<Record<Mode['http'], string>>
  readonly ca: string
  readonly close: () => Promise<void>
}

function subjectOf(mode: Mode, { origin, ca }: Started, isApplication: boolean): Subject {
  return { mode, origin: origin[mode.http], ca, isApplication }
}

/** A step that fails is a line of the transcript. */
async function golden(name: string, play: (transcript: Transcript) => Promise<void>): Promise<Golden> {
  const transcript = new Transcript()
  await play(transcript).catch((error) => transcript.note(`FAILED: ${error.message}`))
  return { path: `wire/${name}.txt`, content: transcript.text }
}

/**
 * `>` is sent, `<` received; `\n` and other control characters are written out, so that each byte
 * counts. Of what differs in each run, this alone is replaced:
 *
 * - the epoch that a cursor or an ETag names, wherever it stands: EPOCH
 * - the numbers of the fields `acceptedAt`, `deletedAt`, `received` and `at` of what the server says: TIME
 * - `retryAfterMs` of a `bye`, and of the refusal of a draining server, with its header: RANDOM, as
 * - the header `date`, and `sec-websocket-accept`, which answers a random key
 * - a `content-length` that is the body's: OF-THE-BODY
 * - the server's ports
 */
class Transcript {
  #lines: string[] = []
  readonly #epochs = new Set<string>()
  #ports: readonly number[] = []

  get text(): string {
    return `${this.#lines.join('\n').trim()}\n`
  }

  knowPorts(ports: Readonly<Record<string, number>>): void {
    this.#ports = Object.values(ports)
  }

  title(words: string): void {
    this.#lines.push('', `== ${words}`)
  }

  note(words: string): void {
    this.#lines.push(`-- ${words}`)
  }

  sent(text: string): void {
    this.#lines.push(...exact(this.#withoutEpochs(text)).map((line) => `> ${line}`))
  }

  received(text: string): void {
    for (const [, epoch = ''] of text.matchAll(/(?:"cursor":|^etag: )"([A-Za-z0-9]+):\d+"/g))
      this.#epochs.add(epoch)
    let stable = this.#withoutEpochs(text).replaceAll(
      /"(acceptedAt|deletedAt|received|at)":\d+(?:\.\d+)?(?=[,}])/g,
      (whole, field) => (whole === `"at":${draftAt}` ? whole : `"${field}":TIME`),
    )
    if (/^event: bye\n|"type":"bye"|"code":"draining"/.test(text))
      stable = stable.replace(/"retryAfterMs":\d+(?=})/, '"retryAfterMs":RANDOM')
    for (const port of this.#ports) stable = stable.replaceAll(String(port), 'PORT')
    this.#lines.push(...exact(stable).map((line) => `< ${line}`))
  }

  headers(status: number | undefined, headers: IncomingMessage['headers'], body: string | null): void {
    this.received(`${status}`)
    for (const [name, value] of Object.entries(headers).toSorted()) {
      if (name.startsWith(':')) continue
      const isOfBody = name === 'content-length' && body !== null && Number(value) === Buffer.byteLength(body)
      const isRandom =
        random.includes(name) || (name === 'retry-after' && body?.includes('"code":"draining"'))
      const shown = isOfBody ? 'OF-THE-BODY' : isRandom ? 'RANDOM' : value
      this.received(`${name}: ${shown}`)
    }
  }

  /** The first frame received. */
  get epoch(): string {
    return [...this.#epochs][0] ?? ''
  }

  #withoutEpochs(text: string): string {
    let stable = text
    for (const epoch of this.#epochs) stable = stable.replaceAll(epoch, 'EPOCH')
    return stable
  }
}

const random: readonly string[] = ['date', 'sec-websocket-accept']

/** Splits into lines; an empty text has none. */
function exact(text: string): readonly string[] {
  const visible = (line: string) =>
    line
      .replaceAll('\\', '\\\\')
      .replaceAll('\n', '\\n')
      .replaceAll(/\p{Cc}|[\u2028\u2029\uFEFF]/gu, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`)
  return text
    .split(/(?<=\n)/)
    .map(visible)
    .filter(Boolean)
}

async function ask(transcript: Transcript, http: HttpClient, request: HttpRequest): Promise<string> {
  const signal = AbortSignal.timeout(patienceMs)
  return writeAnswer(transcript, await begin(transcript, http, { ...request, signal }))
}

async function writeAnswer(transcript: Transcript, { status, headers, body }: Answer): Promise<string> {
  const text = await textOf(body)
  transcript.headers(status, headers, text)
  transcript.received(text)
  return text
}

function begin(transcript: Transcript, http: HttpClient, request: HttpRequest) {
  const { method = 'GET', path, headers = {}, body } = request
  transcript.sent(`${method} ${path}`)
  for (const [name, value] of Object.entries(headers)) transcript.sent(`${name}: ${value}`)
  if (typeof body === 'string') transcript.sent(body.length > 1000 ? `(${body.length} characters)` : body)
  return http.ask(request)
}

const json = { 'content-type': 'application/json' }

const post = (path: string, body: string, headers: HttpRequest['headers'] = json): HttpRequest => ({
  method: 'POST',
  path,
  headers,
  body,
})

/** The frames of one open stream; the transcript has them when they are awaited. */
class Downlink {
  readonly #transcript: Transcript
  readonly #typeIn: (frame: string) => string
  readonly #frames: string[] = []
  #rest = ''
  #isOver = false
  #changed = Promise.withResolvers<void>()

  constructor(transcript: Transcript, typeIn: (frame: string) => string) {
    this.#transcript = transcript
    this.#typeIn = typeIn
  }

  static ofEvents(transcript: Transcript, body: Readable): Downlink {
    const down = new Downlink(transcript, (frame) => /^event: ?(.*)$/m.exec(frame)?.[1] ?? '')
    const end = () => down.#change({ isOver: true })
    body.setEncoding('utf8')
    body.on('data', (text: string) => down.#change({ text })).once('close', end)
    return down
  }

  static ofSocket(transcript: Transcript, socket: WebSocket): Downlink {
    const down = new Downlink(transcript, (frame) => /"type":"(\w+)"/.exec(frame)?.[1] ?? '')
    socket.on('message', (data, isBinary) =>
      down.#change({ frame: isBinary ? `(binary) ${data}` : String(data) }),
    )
    socket.once('close', (code, reason) => {
      down.#change({ frame: `(close ${code} ${reason})`, isOver: true })
    })
    return down
  }

  #change({ text = '', frame, isOver = false }: { text?: string; frame?: string; isOver?: boolean }): void {
    const parts = (this.#rest + text).split(/(?<=\n\n)/)
    this.#rest = parts.at(-1)?.endsWith('\n\n') ? '' : (parts.pop() ?? '')
    this.#frames.push(...parts, ...(frame === undefined ? [] : [frame]))
    this.#isOver ||= isOver
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /** Records everything up to the first frame of these types. Rejects without one. */
  async until(...types: readonly string[]): Promise<void> {
    for (const frame of await this.#takeUntil(types)) this.#transcript.received(frame)
  }

  /** Records only the first frame of that type: others may or may not come before it. */
  async only(type: string): Promise<void> {
    this.#transcript.received((await this.#takeUntil([type])).at(-1) ?? '')
  }

  async #takeUntil(types: readonly string[]): Promise<readonly string[]> {
    const late = AbortSignal.timeout(patienceMs)
    for (;;) {
      const index = this.#frames.findIndex((frame) => types.includes(this.#typeIn(frame)))
      if (index >= 0) return this.#frames.splice(0, index + 1)
      if (this.#isOver || late.aborted) break
      await Promise.race([this.#changed.promise, once(late, 'abort')])
    }
    this.#writeAll()
    throw new Error(`no frame of the type ${types.join(' or ')}`)
  }

  /** Records the rest, once the stream has ended. */
  async end(): Promise<void> {
    const late = AbortSignal.timeout(patienceMs)
    while (!this.#isOver && !late.aborted) await Promise.race([this.#changed.promise, once(late, 'abort')])
    this.#writeAll()
    this.#transcript.note(this.#isOver ? 'the stream ends' : 'FAILED: the stream does not end')
  }

  #writeAll(): void {
    for (const frame of this.#frames.splice(0)) this.#transcript.received(frame)
    this.#transcript.received(this.#rest)
  }
}

/** Ada's way up in this mode. */
type Send = (draft: object) => Promise<void>

/** `beating` has a heartbeat every second. */
async function playMode(
  transcript: Transcript,
  subject: Subject,
  beating: Subject,
  stop: () => Promise<void>,
): Promise<void> {
  const { mode, origin, ca } = subject
  const http = connectHttp(mode.http, origin, ca)
  const other = connectHttp(mode.http, origin, ca)
  try {
    transcript.title('Ada opens')
    const opened = mode.isPush
      ? await openStream(transcript, http, subject, '')
      : await openPoll(transcript, http, subject)
    await playMessages(transcript, other, subject, opened)
    const resumed = await opened.resume()
    await playRefusedOpenings(transcript, subject)
    if (mode.isPush) await playHeartbeat(transcript, beating)
    transcript.title('the server stops')
    await resumed.drain(() => void stop())
  } finally {
    http.close()
    other.close()
  }
}

interface Opened {
  readonly send: Send
  /** Reads frames of the same channel until one of that type arrives. */
  readonly until: (type: string) => Promise<void>
  /** A window shows itself. */
  readonly show: (state: unknown) => Promise<void>
  readonly clock: () => Promise<void>
  readonly beat: () => Promise<void>
  /** With a cursor of this epoch, and with another's. */
  readonly resume: () => Promise<Opened>
  readonly drain: (stop: () => void) => Promise<void>
}

const joinQuery = (more: string) => `window=${names.ada}&key=${keys.ada}&channels=notes${more}`
const shownState = { client: 7, name: 'Ada', anchor: 'AAAA', head: 'AAAA' }

function draftOf(from: string, count: number, text: string, { isApplication }: Subject): object {
  const content = isApplication
    ? { kind: 'json', body: { data: text } }
    : { kind: 'title', body: { title: text } }
  return { id: `${from}-${count}`, channel: 'notes', ...content, from, at: draftAt }
}

/** `other` is Ben's connection. */
async function playMessages(
  transcript: Transcript,
  other: HttpClient,
  subject: Subject,
  { send, until, show, clock, beat }: Opened,
): Promise<void> {
  const first = draftOf(names.ada, 1, 'From Ada: “ŝ” 💨 <b>', subject)
  transcript.title('Ada sends')
  await send(first)
  if (subject.mode.uplink === 'xhr') await until('message')
  transcript.title('Ada sends the same again')
  await send(first)
  transcript.title('Ben sends, and Ada receives')
  await ask(
    transcript,
    other,
    post(`/api/messages?key=${keys.ben}`, JSON.stringify(draftOf(names.ben, 1, 'From Ben', subject))),
  )
  await until('message')
  transcript.title('the server refuses what Ada sends')
  await send({ ...draftOf(names.ada, 2, '', subject), body: {} })
  await send({ ...draftOf(names.ada, 3, '', subject), channel: 'wind' })
  await send(draftOf(names.ben, 2, 'From Ada in the name of Ben', subject))
  await send({ ...first, at: 1 })
  transcript.title('Ada shows herself')
  await show(shownState)
  await until('awareness')
  transcript.title('Ada asks for the time, and sends a heartbeat')
  await clock()
  await beat()
  transcript.title('Ada hides herself')
  await show(null)
  await until('awareness')
}

async function openStream(
  transcript: Transcript,
  http: HttpClient,
  subject: Subject,
  more: string,
): Promise<Opened> {
  const { mode } = subject
  if (mode.uplink === 'socket') return openSocket(transcript, http, subject, more)
  const path = pathOf[mode.transport]
  const { status, headers, body } = await begin(transcript, http, { path: `${path}?${joinQuery(more)}` })
  transcript.headers(status, headers, null)
  const down = Downlink.ofEvents(transcript, body)
  await down.until('presence')
  const up = mode.uplink === 'streamed' ? openUpload(transcript, http) : null
  return {
    ...(up ? sendingBy(up.write, down) : sendingByPosts(transcript, http)),
    until: (type) => down.until(type),
    async resume() {
      if (up) await up.end()
      return resumeStream(transcript, http, subject, down)
    },
    async drain(stop) {
      stop()
      await down.end()
    },
  }
}

async function openSocket(
  transcript: Transcript,
  http: HttpClient,
  subject: Subject,
  more: string,
): Promise<Opened> {
  const path = `/api/socket?${joinQuery(more)}`
  const socket = http.openSocket(path)
  transcript.sent(`WebSocket ${path}`)
  const down = Downlink.ofSocket(transcript, socket)
  const [{ statusCode, headers }] = (await once(socket, 'upgrade')) as [IncomingMessage]
  transcript.headers(statusCode, headers, null)
  await down.until('presence')
  const write = (frame: string) => {
    transcript.sent(frame)
    socket.send(frame)
  }
  return {
    ...sendingBy(write, down),
    until: (type) => down.until(type),
    async resume() {
      transcript.title('a frame that is not JSON')
      write('{"type":')
      await down.until('refused')
      return resumeStream(transcript, http, subject, down)
    },
    async drain(stop) {
      stop()
      await down.end()
    },
  }
}

/** Opens the streams that replace `former`; resolves to the last. */
async function resumeStream(
  transcript: Transcript,
  http: HttpClient,
  subject: Subject,
  former: Downlink,
): Promise<Opened> {
  transcript.title('Ada opens again, with the cursor after her message')
  await openStream(transcript, http, subject, `&opening=1&cursor=${transcript.epoch}:1`)
  transcript.note('the former stream:')
  await former.end()
  transcript.title('Ada opens again, with the cursor of another epoch')
  return openStream(transcript, http, subject, '&opening=2&cursor=another:1')
}

function sendingByPosts(
  transcript: Transcript,
  http: HttpClient,
): Pick<Opened, 'send' | 'show' | 'clock' | 'beat'> {
  const own = `window=${names.ada}&key=${keys.ada}`
  const asked = async (request: HttpRequest) => void (await ask(transcript, http, request))
  return {
    send: (draft) => asked(post(`/api/messages?key=${keys.ada}`, JSON.stringify(draft))),
    show: (state) => asked(post(`/api/awareness?${own}`, JSON.stringify({ state }))),
    clock: () => asked({ path: '/api/clock' }),
    beat: () => asked({ method: 'POST', path: `/api/heartbeat?${own}` }),
  }
}

function sendingBy(
  write: (frame: string) => void,
  down: Downlink,
): Pick<Opened, 'send' | 'show' | 'clock' | 'beat'> {
  const framed = async (frame: object) => write(JSON.stringify(frame))
  return {
    async send(message) {
      await framed({ type: 'publish', message })
      await down.until('stored', 'refused')
    },
    show: (state) => framed({ type: 'awareness', state }),
    async clock() {
      await framed({ type: 'clock', at: draftAt })
      await down.until('clock')
    },
    beat: () => framed({ type: 'heartbeat' }),
  }
}

function openUpload(transcript: Transcript, http: HttpClient) {
  const body = new PassThrough()
  const path = `/api/streaming?window=${names.ada}&key=${keys.ada}`
  const headers = { 'content-type': 'application/x-ndjson' }
  const answered = begin(transcript, http, { method: 'POST', path, headers, body })
  answered.catch(() => undefined)
  return {
    write(frame: string) {
      transcript.sent(`${frame}\n`)
      body.write(`${frame}\n`)
    },
    async end() {
      transcript.title('Ada ends her upload')
      body.end()
      await writeAnswer(transcript, await answered)
    },
  }
}

async function openPoll(transcript: Transcript, http: HttpClient, subject: Subject): Promise<Opened> {
  const path = pathOf[subject.mode.transport]
  let cursor = ''
  const poll = (more: string) => ({ path: `${path}?${joinQuery(more)}` })
  const take = (answer: string) => {
    cursor = /"cursor":"([^"]+)"/.exec(answer)?.[1] ?? cursor
  }
  take(await ask(transcript, http, poll('&first')))
  const until = async (type: string, more = '') => {
    const request = poll(`${more}&cursor=${cursor}`)
    for (const late = AbortSignal.timeout(patienceMs); !late.aborted; ) {
      // Records only the poll that brought it: how many came before depends on timing.
      const { status, headers, body } = await http.ask(request)
      const text = await textOf(body)
      if (!text.includes(`"type":"${type}"`)) continue
      transcript.sent(`GET ${request.path}`)
      transcript.headers(status, headers, text)
      transcript.received(text)
      return take(text)
    }
    throw new Error(`no frame of the type ${type}`)
  }
  // A change of presence does not end a hold.
  await until('presence', '&hold=1')
  return {
    ...sendingByPosts(transcript, http),
    until: (type) => until(type),
    async resume() {
      transcript.title('Ada polls, and there is nothing new')
      take(await ask(transcript, http, poll(`&hold=1&cursor=${cursor}`)))
      transcript.title('Ada polls with the cursor after her message')
      await ask(transcript, http, poll(`&cursor=${transcript.epoch}:1`))
      transcript.title('Ada polls with the cursor of another epoch')
      await ask(transcript, http, poll('&cursor=another:1'))
      transcript.title('Ada leaves, and comes back')
      const left = `/api/leave?window=${names.ada}&key=${keys.ada}&opening=0`
      await ask(transcript, http, { method: 'POST', path: left })
      await until('presence', '&first&opening=1')
      return this
    },
    async drain(stop) {
      const request = poll(`&opening=1&cursor=${cursor}`)
      const answered = ask(transcript, http, request)
      await textOf((await http.ask({ path: '/healthz' })).body)
      stop()
      // A long poll was held; a poll was answered before the server stopped.
      if (!(await answered).includes('"code":"draining"')) await ask(transcript, http, request)
    },
  }
}

/** Each is of a free name, and counts no window. */
async function playRefusedOpenings(transcript: Transcript, subject: Subject): Promise<void> {
  const { mode, origin, ca } = subject
  const path = pathOf[mode.transport]
  const openings = {
    'without a channel': 'window=c1&channels=',
    'without the key of the name': `window=${names.ada}&channels=notes`,
    'with a channel that cannot be': 'window=c1&channels=a%20b',
  }
  for (const [how, query] of Object.entries(openings)) {
    transcript.title(`someone opens ${how}`)
    const http = connectHttp(mode.http, origin, ca)
    if (mode.uplink === 'socket') {
      transcript.sent(`WebSocket ${path}?${query}`)
      await Downlink.ofSocket(transcript, http.openSocket(`${path}?${query}`)).end()
    } else await ask(transcript, http, { path: `${path}?${query}` })
    http.close()
  }
}

const pathOf: Readonly<Record<Mode['transport'], string>> = {
  sse: '/api/stream',
  websocket: '/api/socket',
  streaming: '/api/streaming',
  polling: '/api/poll',
  'long-polling': '/api/long-poll',
}

async function playHeartbeat(transcript: Transcript, { mode, origin, ca }: Subject): Promise<void> {
  transcript.title('a heartbeat comes, on a server with one a second')
  const http = connectHttp(mode.http, origin, ca)
  const path = `${pathOf[mode.transport]}?window=beaten&channels=${mode.name.replace('/', '-')}`
  const down =
    mode.uplink === 'socket'
      ? Downlink.ofSocket(transcript, http.openSocket(path))
      : Downlink.ofEvents(transcript, (await http.ask({ path })).body)
  await down.only('heartbeat')
  http.close()
}

/** Requests of a page, a program and a monitor, and some that are refused. */
async function playRequests(transcript: Transcript): Promise<void> {
  await using opened = new AsyncDisposableStack()
  const server = await startTestServer()
  opened.defer(server.close)
  const invited = await startTestServer({ access: 'invited' })
  opened.defer(invited.close)
  transcript.knowPorts(server.ports)
  const http = connectHttp('2', server.origin['2'], server.ca)
  const stranger = connectHttp('2', invited.origin['2'], invited.ca)
  try {
    for (const request of [...serviceRequests, ...documentRequests(), ...refusedRequests]) {
      const { method = 'GET', path } = request
      transcript.title(`${method} ${path.split('?')[0]}`)
      await ask(transcript, http, request)
    }
    transcript.title('the metrics, without their figures')
    const metrics = await textOf((await http.ask({ path: '/metrics' })).body)
    for (const line of metrics.split('\n').filter((one) => one.startsWith('#'))) transcript.received(line)
    for (const path of [
      '/',
      '/api/stream?window=c1&channels=main',
      '/join?invitation=none',
      '/api/session',
    ]) {
      transcript.title(`a stranger asks a server with invitations for ${path}`)
      await ask(transcript, stranger, { path })
    }
  } finally {
    http.close()
    stranger.close()
  }
}

const program = (count: number) => `id=c7-${count}&from=c7`
const plain = { 'content-type': 'text/plain' }

const serviceRequests: readonly HttpRequest[] = [
  { path: '/api/settings' },
  { path: '/healthz' },
  { path: '/readyz' },
  { path: '/api/session' },
  { path: '/api/wind/history' },
  { path: '/' },
  { path: '/d/notes' },
  { path: '/?channel=notes&view=wind' },
]

function documentRequests(): readonly HttpRequest[] {
  const markdown = '# A title\n\nSome **bold** text and a [link](https://example.org/).\n\n- one\n- two\n'
  return [
    {
      ...post(`/api/documents/notes?${program(1)}`, markdown, { 'content-type': 'text/markdown' }),
      method: 'PUT',
    },
    post(`/api/documents/notes?${program(2)}`, 'A line more\n', plain),
    ...['text/plain', 'text/markdown', 'text/html', 'image/png'].map((accept) => ({
      path: '/api/documents/notes',
      headers: { accept },
    })),
    post(`/api/documents/notes?${program(3)}`, 'x', { ...plain, 'if-match': '"other:1"' }),
    { path: '/d/notes/export.html' },
    { path: '/d/notes/export.md' },
    ...updates().map((update, index) =>
      post(
        '/api/messages',
        JSON.stringify({
          id: `c8-${index + 1}`,
          channel: 'shared',
          kind: 'update',
          from: 'c8',
          at: draftAt,
          body: { update },
        }),
      ),
    ),
    { path: '/api/history?channel=shared' },
    { path: '/api/documents/shared', headers: { accept: 'text/html' } },
    { method: 'DELETE', path: `/api/documents/notes?${program(4)}` },
    post(`/api/documents/notes?${program(5)}`, 'Too late', plain),
    { path: '/api/documents' },
  ]
}

/** Two updates that make a document, and one that fits nothing. */
function updates(): readonly string[] {
  const doc = new Y.Doc()
  doc.clientID = 4711
  const made: string[] = []
  doc.on('update', (update: Uint8Array) => made.push(Buffer.from(update).toString('base64')))
  doc.getText('text').insert(0, 'Ŝtormo 💨')
  doc.getText('text').insert(0, 'bold ', { bold: true })
  return [...made, 'AAA=', Buffer.from([1, 2, 3]).toString('base64')]
}

const refusedRequests: readonly HttpRequest[] = [
  { path: '/api/nothing' },
  { path: '/api/messages' },
  post('/api/messages', '{"id":'),
  post('/api/messages', '{}', plain),
  post('/api/messages', '{}', { ...json, origin: 'https://other.example' }),
  post('/api/messages', 'x'.repeat(70_000)),
  { path: '/api/socket?window=c1&channels=main' },
  { path: '/api/stream' },
  post('/api/streaming?window=c1', '', { 'content-type': 'application/x-ndjson' }),
  post('/api/invitations', '{"channel":"notes","may":"read","hours":1}'),
  { path: '/api/history?channel=nowhere' },
  { path: '/api/documents/none%20such' },
]
