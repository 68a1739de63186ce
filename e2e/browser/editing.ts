// Drives pages by real keys and compositions (IME), with Puppeteer: WebDriver has no compositions.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import puppeteer, { type CDPSession, type KeyInput, type Page } from 'puppeteer-core'
import { findPrograms } from '../../scripts/preparation.mjs'
import type { BrowserName } from './browser.ts'

export interface EditingPage {
  /** For what only one test or measurement needs. */
  readonly page: Page
  readonly run: <Result, Arguments extends readonly unknown[]>(
    script: (...args: Arguments) => Result | Promise<Result>,
    ...args: Arguments
  ) => Promise<Result>
  /** Puppeteer's name of a key, with modifiers before it: `Control+Shift+Z`. */
  readonly key: (key: string) => Promise<void>
  readonly type: (text: string) => Promise<void>
  /** Shows a composition's text in place of the one so far. Chromium only. */
  readonly compose: (text: string) => Promise<void>
  /** Ends the composition with that text. */
  readonly commit: (text: string) => Promise<void>
  /** Errors of the page since the last call. */
  readonly errors: () => string[]
  readonly close: () => Promise<void>
}

interface Surroundings {
  /** Added to the page's clocks, before its scripts run, in its frames too. */
  readonly clockShiftMs?: number
  /** A command that starts Chromium, `ip netns exec NAME`. */
  readonly through?: readonly string[]
}

/** Opens one window with that address. */
export async function openEditingPage(
  name: BrowserName,
  address: string,
  { clockShiftMs = 0, through }: Surroundings = {},
): Promise<EditingPage> {
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
    args: isChromium ? ['--no-sandbox', '--disable-gpu', '--disable-background-networking'] : [],
    acceptInsecureCerts: true,
    defaultViewport: { width: 1000, height: 700 },
  })
  const close = async () => {
    await browser.close()
    await rm(home, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const page = await browser.newPage()
    const errors: string[] = []
    page.on('pageerror', (error) =>
      errors.push(error instanceof Error ? (error.stack ?? error.message) : String(error)),
    )
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text())
    })
    if (clockShiftMs !== 0) await page.evaluateOnNewDocument(shiftClocks, clockShiftMs)
    await page.goto(address)
    const session = isChromium ? await page.createCDPSession() : null
    return { page, ...driving(page, session), errors: () => errors.splice(0), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function startingThrough(home: string, through: readonly string[], program: string): Promise<string> {
  const script = join(home, 'browser.sh')
  const words = [...through, program].map((word) => `'${word.replaceAll("'", "'\\''")}'`)
  await writeFile(script, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 })
  return script
}

/** In the page. Chromium does not start under libfaketime. */
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
    if (!session) throw new Error('Only Chromium composes from outside.')
    return session
  }
  return {
    run: (script, ...args) => page.evaluate(script as never, ...(args as never)),
    async key(key) {
      const keys = key.split('+') as KeyInput[]
      const last = keys.pop()
      for (const modifier of keys) await page.keyboard.down(modifier)
      if (last) await page.keyboard.press(last)
      for (const modifier of keys.reverse()) await page.keyboard.up(modifier)
    },
    type: (text) => page.keyboard.type(text),
    compose: async (text) =>
      void (await chromium().send('Input.imeSetComposition', {
        text,
        selectionStart: text.length,
        selectionEnd: text.length,
      })),
    commit: async (text) => void (await chromium().send('Input.insertText', { text })),
  }
}
