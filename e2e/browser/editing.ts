// Single pages under Puppeteer: real keys, costs, and compositions (IME), which WebDriver lacks.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import puppeteer, { type Browser, type CDPSession, type JSHandle, type Page } from 'puppeteer-core'
import { findPrograms } from '../../scripts/preparation.mjs'
import { type BrowserName, pressKeys } from './browser.ts'

export interface EditingPage {
  /** For uses specific to one test or measurement. */
  readonly page: Page
  readonly run: <Result, Arguments extends readonly unknown[]>(
    script: (...args: Arguments) => Result | Promise<Result>,
    ...args: Arguments
  ) => Promise<Result>
  /** Presses a key by Puppeteer's name, with modifiers before it: `Control+Shift+Z`. */
  readonly key: (key: string) => Promise<void>
  readonly type: (text: string) => Promise<void>
  /** Shows a composition's text in place of the previous one. Chromium only. */
  readonly compose: (text: string) => Promise<void>
  /** Ends the composition with this text. */
  readonly commit: (text: string) => Promise<void>
  /** Puts the page to sleep (Page Lifecycle), or wakes it. Chromium only. */
  readonly freeze: (isFrozen: boolean) => Promise<void>
  /** Errors of the page since the last call. */
  readonly errors: () => string[]
  readonly close: () => Promise<void>
}

interface Surroundings {
  /** Added to the page's clocks before its scripts run, in its frames too. */
  readonly clockShiftMs?: number
  /** A command that starts Chromium, such as `ip netns exec NAME`. */
  readonly through?: readonly string[]
  /** Chromium only: opens another window in this one's browser, which has to be closed last. */
  readonly beside?: EditingPage | undefined
}

/** Opens one window at this address. */
export async function openEditingPage(
  name: BrowserName,
  address: string,
  { clockShiftMs = 0, through, beside }: Surroundings = {},
): Promise<EditingPage> {
  const { page, close } = beside ? await openBeside(beside.page) : await launchBrowser(name, { through })
  try {
    const errors: string[] = []
    page.on('pageerror', (error) =>
      errors.push(error instanceof Error ? (error.stack ?? error.message) : String(error)),
    )
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text())
    })
    if (clockShiftMs !== 0) await page.evaluateOnNewDocument(shiftClocks, clockShiftMs)
    await page.goto(address)
    const session = name === 'chromium' ? await page.createCDPSession() : null
    return { page, ...driving(page, session), errors: () => errors.splice(0), close }
  } catch (error) {
    await close()
    throw error
  }
}

interface Launch {
  readonly through?: readonly string[] | undefined
  /** Further switches of Chromium. */
  readonly further?: readonly string[]
}

/** A browser of its own, with an empty page; `close` ends it. */
export async function launchBrowser(name: BrowserName, { through, further = [] }: Launch) {
  const home = await mkdtemp(join(tmpdir(), 'crosswind-editing-'))
  const isChromium = name === 'chromium'
  const program = isChromium
    ? findPrograms('chromium').CROSSWIND_CHROMIUM
    : findPrograms('firefox').CROSSWIND_FIREFOX
  const browser = await puppeteer.launch({
    browser: isChromium ? 'chrome' : 'firefox',
    executablePath: through ? await startingThrough(home, through, program) : program,
    // A port of another namespace cannot be reached.
    pipe: through !== undefined,
    userDataDir: join(home, 'profile'),
    env: { ...process.env, HOME: home, MOZ_CRASHREPORTER_DISABLE: '1' },
    args: isChromium ? ['--no-sandbox', '--disable-gpu', '--disable-background-networking', ...further] : [],
    acceptInsecureCerts: true,
    defaultViewport: { width: 1000, height: 700 },
  })
  const close = async () => {
    await browser.close()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
  return { page: await browser.newPage(), close }
}

/** Both windows believe that they have the focus. */
async function openBeside(other: Page) {
  const page = await other.browser().newPage({ type: 'window' })
  for (const one of [other, page]) await one.emulateFocusedPage(true)
  return { page, close: () => page.close() }
}

async function startingThrough(home: string, through: readonly string[], program: string): Promise<string> {
  const script = join(home, 'browser.sh')
  const words = [...through, program].map((word) => `'${word.replaceAll("'", "'\\''")}'`)
  await writeFile(script, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 })
  return script
}

/** Runs in the page. Chromium does not start under libfaketime. */
function shiftClocks(byMs: number): void {
  const { timeOrigin } = performance
  Object.defineProperty(Performance.prototype, 'timeOrigin', { get: () => timeOrigin + byMs })
  globalThis.Date = new Proxy(Date, {
    construct: (right, given) =>
      new right(...((given.length > 0 ? given : [right.now() + byMs]) as [number])),
    get: (right, name) => (name === 'now' ? () => right.now() + byMs : Reflect.get(right, name)),
  })
}

function driving(page: Page, session: CDPSession | null): Omit<EditingPage, 'page' | 'errors' | 'close'> {
  const chromium = () => {
    if (!session) throw new Error('Only Chromium supports compositions and sleep from outside.')
    return session
  }
  return {
    run: (script, ...args) => page.evaluate(script as never, ...(args as never)),
    key: (keys) => pressKeys(page, keys),
    type: (text) => page.keyboard.type(text),
    compose: async (text) =>
      void (await chromium().send('Input.imeSetComposition', {
        text,
        selectionStart: text.length,
        selectionEnd: text.length,
      })),
    commit: async (text) => void (await chromium().send('Input.insertText', { text })),
    freeze: async (isFrozen) =>
      void (await chromium().send('Page.setWebLifecycleState', { state: isFrozen ? 'frozen' : 'active' })),
  }
}

export type MeasuredPage = Awaited<ReturnType<typeof openMeasuredPage>>
export type PageMemory = Awaited<ReturnType<MeasuredPage['memory']>>

/** Opens a separate Chromium with a new profile, on an empty page. */
export async function openMeasuredPage() {
  const page = await openEditingPage('chromium', 'about:blank')
  try {
    return await measuring(page)
  } catch (error) {
    await page.close()
    throw error
  }
}

async function measuring(editing: EditingPage) {
  const { page } = editing
  const browser = page.browser()
  const session = await page.createCDPSession()
  await page.evaluateOnNewDocument(installProbe)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const metric = async (name: string) => {
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find((one) => one.name === name)?.value ?? Number.NaN
  }
  return {
    ...editing,
    version: await browser.version(),
    open: async (address: string) => void (await page.goto(address)),
    /** Returns the probe's records since the last call. */
    takeProbe: () => editing.run(readProbe),
    /** Processor time of the page's main thread since it was opened, ms. */
    mainThreadMs: async () => (await metric('TaskDuration')) * 1000,
    /**
     * JavaScript heap after a garbage collection; private memory of the renderer process, null if
     * the system does not report it.
     */
    async memory() {
      await session.send('HeapProfiler.collectGarbage')
      return { heapBytes: await metric('JSHeapUsedSize'), processBytes: await privateBytes(browser) }
    },
    eventListeners: () => metric('JSEventListeners'),
    /** How many objects inherit from each of these prototypes, other prototypes excepted. */
    async countObjects(prototypes: () => readonly object[]) {
      const found = await page.evaluateHandle(prototypes)
      const counts = Array.from(await found.getProperties(), async ([, prototype]) => {
        const all = await page.queryObjects(prototype as JSHandle<object>)
        return all.evaluate(
          (list) =>
            (list as unknown as readonly object[]).filter((one) => !Object.hasOwn(one, 'constructor')).length,
        )
      })
      return Promise.all(counts)
    },
  }
}

/**
 * Private memory of the largest renderer, which is the page's: no other page of a separate Chromium is
 * that large.
 */
async function privateBytes(browser: Browser): Promise<number | null> {
  if (process.platform !== 'linux') return null
  const session = await browser.target().createCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  await session.detach()
  const renderers = processInfo.filter(({ type }) => type === 'renderer')
  const sizes = await Promise.all(
    renderers.map(async ({ id }) => {
      const rollup = await readFile(`/proc/${id}/smaps_rollup`, 'utf8').catch(() => '')
      const kilobytes = Array.from(rollup.matchAll(/^Private_\w+:\s+(\d+) kB$/gm), ([, kB]) => Number(kB))
      return kilobytes.reduce((sum, kB) => sum + kB, 0) * 1024
    }),
  )
  return Math.max(...sizes) || null
}

// The functions below run in the page: no outer variables.

interface Probe {
  /**
   * From `beforeinput` until the publish frame is given to the WebSocket, ms; one for each message
   * sent.
   */
  sendMs: number[]
  /**
   * From the parsed message until its handler has returned and the animation frames after it have
   * run, ms.
   */
  applyMs: number[]
  /** WebSocket frames with their headers, without TLS. */
  upBytes: number
  downBytes: number
  /** Part of `downBytes`: who is here, and carets. */
  presenceBytes: number
}

/** Runs before the page's scripts. Wraps the WebSocket and animation-frame functions they use. */
function installProbe(): void {
  const probe: Probe = { sendMs: [], applyMs: [], upBytes: 0, downBytes: 0, presenceBytes: 0 }
  Object.assign(globalThis, { probe })
  let inputAt: number | null = null
  let parsedAt: number | null = null
  const utf8 = new TextEncoder()
  const framed = (text: unknown, mask: number) => {
    const length = typeof text === 'string' ? utf8.encode(text).length : 0
    return length + mask + (length < 126 ? 2 : length < 65_536 ? 4 : 10)
  }
  globalThis.addEventListener?.(
    'beforeinput',
    () => {
      inputAt = performance.now()
    },
    true,
  )

  const { send, addEventListener: listen } = WebSocket.prototype
  WebSocket.prototype.send = function (data) {
    if (inputAt !== null && typeof data === 'string' && data.startsWith('{"type":"publish"')) {
      probe.sendMs.push(performance.now() - inputAt)
      inputAt = null
    }
    probe.upBytes += framed(data, 4)
    send.call(this, data)
  }

  const { parse } = JSON
  JSON.parse = (...given) => {
    const parsed = parse(...given)
    parsedAt ??= performance.now()
    return parsed
  }
  WebSocket.prototype.addEventListener = function (type: string, listener: never, options?: never) {
    if (type !== 'message') return listen.call(this, type, listener, options)
    const handle = listener as (event: MessageEvent) => void
    listen.call(this, type, (event) => {
      const message = event as MessageEvent
      parsedAt = null
      handle(message)
      const endAt = performance.now()
      const bytes = framed(message.data, 0)
      probe.downBytes += bytes
      if (/^\{"type":"(awareness|presence)"/.test(message.data)) probe.presenceBytes += bytes
      if (
        typeof message.data === 'string' &&
        /^\{"type":"message".{0,200}"kind":"(json|update)"/.test(message.data)
      )
        probe.applyMs.push(endAt - (parsedAt ?? endAt))
    })
  }

  const request = requestAnimationFrame
  globalThis.requestAnimationFrame = (callback) =>
    request((time) => {
      const startAt = performance.now()
      callback(time)
      const newest = probe.applyMs.pop()
      if (newest !== undefined) probe.applyMs.push(newest + performance.now() - startAt)
    })
}

function readProbe(): Probe {
  const { probe } = globalThis as unknown as { readonly probe: Probe }
  const taken = { ...probe, sendMs: probe.sendMs.splice(0), applyMs: probe.applyMs.splice(0) }
  Object.assign(probe, { upBytes: 0, downBytes: 0, presenceBytes: 0 })
  return taken
}
