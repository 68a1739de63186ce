// A Chromium window and its costs: work for each message, main thread, memory.

import { readFile } from 'node:fs/promises'
import type { Browser } from 'puppeteer-core'
import { type EditingPage, openEditingPage } from './editing.ts'

export interface PageMemory {
  /** JavaScript's heap after a garbage collection. */
  readonly heapBytes: number
  /** Private memory of the window's renderer process; null where the system does not tell. */
  readonly processBytes: number | null
}

export interface MeasuredPage extends EditingPage {
  readonly version: string
  readonly open: (address: string) => Promise<void>
  /** What the probe saw since the last call. */
  readonly takeProbe: () => Promise<Probe>
  /** Processor time of the page's main thread since it was opened, ms. */
  readonly mainThreadMs: () => Promise<number>
  readonly memory: () => Promise<PageMemory>
}

/** A Chromium of its own with a new profile, on an empty page. */
export async function openMeasuredPage(): Promise<MeasuredPage> {
  const page = await openEditingPage('chromium', 'about:blank')
  try {
    return await measuring(page)
  } catch (error) {
    await page.close()
    throw error
  }
}

async function measuring(editing: EditingPage): Promise<MeasuredPage> {
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
    open: async (address) => void (await page.goto(address)),
    takeProbe: () => editing.run(readProbe),
    mainThreadMs: async () => (await metric('TaskDuration')) * 1000,
    async memory() {
      await session.send('HeapProfiler.collectGarbage')
      return { heapBytes: await metric('JSHeapUsedSize'), processBytes: await privateBytes(browser) }
    },
  }
}

/** Of the largest renderer, which is the page's: a Chromium of its own has no other page of that size. */
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

export interface Probe {
  /** `beforeinput` → the publish frame is given to the WebSocket, ms; one for each message sent. */
  sendMs: number[]
  /** A message is parsed → its handler has returned, and the animation frames after it have run, ms. */
  applyMs: number[]
  /** WebSocket frames with their headers, without TLS. */
  upBytes: number
  downBytes: number
  /** Of `downBytes`: who is here, and carets. */
  presenceBytes: number
}

/** Before the page's scripts. Wraps what they use of the WebSocket and of animation frames. */
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
        /^\{"type":"message".{0,200}"kind":"(edit|update)"/.test(message.data)
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
