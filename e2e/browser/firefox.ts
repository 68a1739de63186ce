// Firefox windows through Puppeteer over WebDriver BiDi.

import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import puppeteer, { type KeyInput, type Page, type Browser as PuppeteerBrowser } from 'puppeteer-core'
import { findPrograms } from '../../scripts/preparation.mjs'
import type { Browser, BrowserWindow } from './browser.ts'

const viewport = { width: 1000, height: 700 }

const preferences = {
  // Light, whatever the desktop prefers.
  'layout.css.prefers-color-scheme.content-override': 1,
  // Covered windows keep their timers.
  'dom.min_background_timeout_value': 4,
  'dom.timeout.enable_budget_timer_throttling': false,
  // Firefox contacts other hosts before its remote-control preferences apply.
  'app.normandy.enabled': false,
  'browser.region.network.url': '',
  'browser.search.serpEventTelemetryCategorization.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'network.dns.disablePrefetch': true,
  'network.trr.mode': 5,
  'toolkit.telemetry.server': '',
}

/** Headless, on this machine. `profile`: see `startBrowser`. */
export async function startFirefox(profile?: string): Promise<Browser> {
  const program = findPrograms('firefox')
  const folder = await makeFolder()
  try {
    const browser = await puppeteer.launch({
      browser: 'firefox',
      executablePath: program.CROSSWIND_FIREFOX,
      userDataDir: profile ?? join(folder.path, 'profile'),
      // Firefox refuses to run as root in another user's home.
      env: { ...process.env, HOME: join(folder.path, 'home'), MOZ_CRASHREPORTER_DISABLE: '1' },
      acceptInsecureCerts: true,
      defaultViewport: null,
      // Otherwise bodies are copied and kept, even of endless streams.
      networkEnabled: false,
      extraPrefsFirefox: preferences,
      // Puppeteer's handlers would end Firefox only: see `endBySignals`.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    })
    // Each open browser adds two exit listeners: no leak.
    process.setMaxListeners(process.getMaxListeners() + 2)
    folder.removeAtExit()
    endBySignals()
    return asBrowser(browser, await browser.version(), folder.remove)
  } catch (error) {
    await folder.remove()
    throw error
  }
}

async function makeFolder() {
  const path = await mkdtemp(join(tmpdir(), 'crosswind-firefox-'))
  await mkdir(join(path, 'home'))
  const options = { recursive: true, force: true, maxRetries: 5 }
  const removeNow = () => rmSync(path, options)
  return {
    path,
    /** Call after the launch: Puppeteer's exit listener, which ends Firefox, must run first. */
    removeAtExit: () => void process.once('exit', removeNow),
    async remove() {
      process.off('exit', removeNow)
      await rm(path, options)
    },
  }
}

/** Signals exit the process, so that exit listeners end Firefox, which has its own process group. */
function endBySignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    if (!process.listeners(signal).includes(exitBySignal)) process.on(signal, exitBySignal)
  }
}

function exitBySignal(signal: NodeJS.Signals): never {
  process.exit(128 + constants.signals[signal])
}

async function press(page: Page, keys: string): Promise<void> {
  const held = keys.split('+') as KeyInput[]
  const last = held.pop()
  for (const key of held) await page.keyboard.down(key)
  if (last) await page.keyboard.press(last)
  for (const key of held.reverse()) await page.keyboard.up(key)
}

/**
 * In the page. WebDriver BiDi has no input methods: does to the DOM what one does, with the events that Firefox sends.
 */
function imitateComposition(text: string, isLast: boolean): void {
  const page = globalThis as typeof globalThis & {
    composed?: { node: Text; start: number; end: number } | null
  }
  const target = document.activeElement
  const { anchorNode: node, anchorOffset: start = 0 } = getSelection() ?? {}
  const tell = (type: string, data: string) =>
    target?.dispatchEvent(new CompositionEvent(type, { data, bubbles: true }))
  if (!page.composed) {
    tell('compositionstart', '')
    if (!(node instanceof Text)) throw new Error('A composition is imitated only within text.')
    page.composed = { node, start, end: start }
  }
  const { composed } = page
  tell('compositionupdate', text)
  composed.node.replaceData(composed.start, composed.end - composed.start, text)
  composed.end = composed.start + text.length
  getSelection()?.collapse(composed.node, composed.end)
  if (!isLast) return
  page.composed = null
  tell('compositionend', text)
}

function asBrowser(browser: PuppeteerBrowser, version: string, removeFolder: () => Promise<void>): Browser {
  const messages: string[] = []
  let front: Page | null = null
  let isKilled = false

  /** Keys have no effect in a window without focus. */
  async function toFront(page: Page): Promise<void> {
    if (front !== page) await page.bringToFront()
    front = page
  }

  function windowFor(page: Page): BrowserWindow {
    page.on('console', (message) => {
      if (['warn', 'error', 'assert'].includes(message.type())) messages.push(message.text())
    })
    page.on('pageerror', (error) => messages.push(String(error)))
    return {
      open: async (address) => void (await page.goto(address)),
      address: async () => page.url(),
      // Puppeteer's equivalent types do not match the generic ones.
      run: (script, ...args) => page.evaluate(script as never, ...(args as never)),
      click: (selector) => toFront(page).then(() => page.click(selector)),
      key: (key) => toFront(page).then(() => page.keyboard.press(key as KeyInput)),
      type: (text) => toFront(page).then(() => page.keyboard.type(text)),
      press: (keys) => toFront(page).then(() => press(page, keys)),
      compose: (text) => page.evaluate(imitateComposition, text, false),
      commit: (text) => page.evaluate(imitateComposition, text, true),
      resize: (width, height) => page.setViewport({ width, height }),
      reload: async () => void (await page.reload()),
      freeze: () => Promise.reject(new Error('Firefox has no way to put a page to sleep (Page Lifecycle).')),
      close: async () => void (isKilled || (await page.close())),
    }
  }

  return {
    version: version.replace('/', ' '),
    async newWindow() {
      const page = await browser.newPage({ type: 'window' })
      front = page
      await page.setViewport(viewport)
      return windowFor(page)
    },
    consoleMessages: async () => messages.splice(0),
    async kill() {
      isKilled = true
      browser.process()?.kill('SIGKILL')
    },
    async quit() {
      // After `kill` there is nothing to close.
      await browser.close().catch(() => undefined)
      await removeFolder()
    },
  }
}
