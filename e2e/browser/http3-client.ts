// Chromium as an HTTP/3 client for Node, which has none: requests made by `fetch` in an empty page.

import { addAbortSignal, Readable } from 'node:stream'
import type { CDPSession, JSHandle, Page } from 'puppeteer-core'
import type { HttpClient, HttpRequest } from '../clients/http-client.ts'
import { http3Switches } from './browser.ts'
import { launchBrowser } from './editing.ts'

export type Http3Browser = Awaited<ReturnType<typeof startHttp3Browser>>

/** One Chromium for many servers, at these ports of localhost, with this certificate (PEM). */
export async function startHttp3Browser(ports: readonly number[], certificate: string) {
  const origins = ports.map((port) => `https://localhost:${port}`)
  const further = http3Switches({ origins, certificates: [certificate] })
  const { page: first, close } = await launchBrowser('chromium', { further })
  const browser = first.browser()
  return {
    /** Something must answer at `origin`, with any status. */
    async open(origin: string): Promise<OriginPage> {
      const page = await browser.newPage()
      // Answers of the API allow their documents nothing.
      await page.setBypassCSP(true)
      await page.goto(`${origin}/api/clock`)
      await keepBodiesUnread(await page.createCDPSession())
      return new OriginPage(page, await page.evaluateHandle(createRequests))
    },
    close,
  }
}

/** Chromium reads tens of megabytes ahead of a page, unless the answer must not be stored. */
async function keepBodiesUnread(session: CDPSession): Promise<void> {
  session.on('Fetch.requestPaused', ({ requestId, responseStatusCode, responseHeaders = [] }) => {
    const others = responseHeaders.filter(({ name }) => name.toLowerCase() !== 'cache-control')
    const headers = [...others, { name: 'cache-control', value: 'no-store' }]
    // Without a status the request has failed.
    const changed = responseStatusCode && { responseCode: responseStatusCode, responseHeaders: headers }
    session.send('Fetch.continueResponse', { requestId, ...changed }).catch(() => undefined)
  })
  await session.send('Fetch.enable', { patterns: [{ requestStage: 'Response' }] })
}

type PageRequests = ReturnType<typeof createRequests>

/** Runs in the page. Bytes are in base64; a read is a piece of the answer's body, or null at its end. */
function createRequests() {
  const aborts = new Map<number, AbortController>()
  const uploads = new Map<number, WritableStreamDefaultWriter<Uint8Array>>()
  const bodies = new Map<number, ReadableStreamDefaultReader<Uint8Array> | undefined>()

  function streamFor(id: number): ReadableStream {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    uploads.set(id, writable.getWriter())
    return readable
  }

  return {
    async ask(
      id: number,
      path: string,
      request: RequestInit & { readonly body: string | null },
      isStreamed: boolean,
    ) {
      const abort = new AbortController()
      aborts.set(id, abort)
      const bytes = request.body === null ? null : Uint8Array.fromBase64(request.body)
      const body = isStreamed ? streamFor(id) : bytes
      const options = { ...request, body, duplex: 'half', cache: 'no-store', signal: abort.signal } as const
      const answer = await fetch(path, options as RequestInit)
      bodies.set(id, answer.body?.getReader())
      return { status: answer.status, headers: Object.fromEntries(answer.headers) }
    },
    write: (id: number, bytes: string) => uploads.get(id)?.write(Uint8Array.fromBase64(bytes)),
    finish: (id: number) => uploads.get(id)?.close(),
    async read(id: number): Promise<string | null> {
      const piece = await bodies.get(id)?.read()
      return piece?.value?.toBase64() ?? null
    },
    abort(id: number): void {
      aborts.get(id)?.abort()
      for (const held of [aborts, uploads, bodies]) held.delete(id)
    },
  }
}

/** A page of one origin, whose clients share its connection. */
export class OriginPage {
  readonly #page: Page
  readonly #requests: JSHandle<PageRequests>
  #asked = 0

  constructor(page: Page, requests: JSHandle<PageRequests>) {
    this.#page = page
    this.#requests = requests
  }

  /** A page cannot set cookies or other headers that are the browser's (Fetch, 2.2.2). */
  connect(): HttpClient {
    const closing = new AbortController()
    return {
      ask: (request) => this.#ask(request, closing.signal),
      openSocket() {
        throw new Error('No browser has WebSockets over HTTP/3.')
      },
      close: () => closing.abort(),
    }
  }

  /** ALPN names (RFC 7301) of all responses that have ended. */
  protocols(): Promise<string[]> {
    return this.#page.evaluate(() => {
      const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
      // A request that was cut before its response has no protocol.
      const answered = entries.filter(({ responseStatus }) => responseStatus > 0)
      return [...new Set(answered.map(({ nextHopProtocol }) => nextHopProtocol))]
    })
  }

  close(): Promise<void> {
    return this.#page.close()
  }

  async #ask({ method = 'GET', path, headers = {}, body, signal }: HttpRequest, closing: AbortSignal) {
    const ending = AbortSignal.any([closing, ...(signal ? [signal] : [])])
    ending.throwIfAborted()
    this.#asked += 1
    const id = this.#asked
    const abort = () => void this.#run('abort', id).catch(() => undefined)
    ending.addEventListener('abort', abort, { once: true })
    const isStreamed = body instanceof Readable
    const bytes = body === undefined || isStreamed ? null : Buffer.from(body).toString('base64')
    const asked = this.#run('ask', id, path, { method, headers, body: bytes }, isStreamed)
    if (isStreamed) this.#upload(id, body).catch(abort)
    const { status, headers: answered } = await asked
    return { status, headers: answered, body: this.#bodyOf(id, ending) }
  }

  async #upload(id: number, body: Readable): Promise<void> {
    for await (const piece of body) await this.#run('write', id, Buffer.from(piece).toString('base64'))
    await this.#run('finish', id)
  }

  /** Requests each piece, so that a reader that stops also stops the server. */
  #bodyOf(id: number, ending: AbortSignal): Readable {
    const run = this.#run.bind(this)
    const body = new Readable({
      async read() {
        try {
          const piece = await run('read', id)
          this.push(piece === null ? null : Buffer.from(piece, 'base64'))
        } catch (error) {
          this.destroy(error as Error)
        }
      },
      destroy(error, done) {
        run('abort', id).catch(() => undefined)
        done(error)
      },
    })
    // Readers that do not listen would end the process.
    body.on('error', () => undefined)
    return addAbortSignal(ending, body)
  }

  #run<Name extends keyof PageRequests>(
    name: Name,
    ...given: Parameters<PageRequests[Name]>
  ): Promise<Awaited<ReturnType<PageRequests[Name]>>> {
    return this.#requests.evaluate(
      (requests, called, args) => (requests[called] as (...all: unknown[]) => never)(...args),
      name,
      given as unknown[],
    )
  }
}
