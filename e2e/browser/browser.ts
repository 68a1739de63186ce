// Real browser windows: Chromium through Selenium, Firefox through Puppeteer over WebDriver BiDi.

import { execFile, spawnSync } from 'node:child_process'
import { hash, X509Certificate } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import puppeteer, { type KeyInput, type Page, type Browser as PuppeteerBrowser } from 'puppeteer-core'
import { Builder, By, Key, logging, type WebDriver } from 'selenium-webdriver'
import chrome from 'selenium-webdriver/chrome.js'
import { findPrograms } from '../../scripts/preparation.mjs'
import { exitBySignals } from '../lab/signals.ts'

export const browserNames = ['chromium', 'firefox'] as const
export type BrowserName = (typeof browserNames)[number]

interface BrowserOpening {
  readonly name?: BrowserName
  readonly headed?: boolean
  /** Profile folder, which is kept; by default each browser starts with an empty one. */
  readonly profile?: string
  /** WebDriver address of a Chromium on another machine. */
  readonly remote?: string | undefined
  /**
   * If false, `open` returns at once. A script in a window whose page has not loaded fails after 2
   * s.
   */
  readonly waitsForLoad?: boolean
  readonly http3?: Http3Opening | null
}

/** Settings for HTTP/3: browsers use it only with certificates that they trust without an exception. */
export interface Http3Opening {
  /** Chromium uses only HTTP/3 for them; Firefox follows Alt-Svc. */
  readonly origins: readonly string[]
  /** Theirs, PEM. */
  readonly certificates: readonly string[]
  /** PEM; for Firefox. */
  readonly authorityFile?: string
}

/** Why the browser cannot be made to trust a certificate for HTTP/3; null if it can. */
export function whyNoHttp3(name: BrowserName): string | null {
  const isPossible = name === 'chromium' || spawnSync('certutil', ['-H']).error === undefined
  return isPossible ? null : 'Firefox needs certutil (package libnss3-tools) to trust a certificate'
}

export interface BrowserWindow {
  readonly open: (address: string) => Promise<void>
  /** Unlike a script, does not fail while the page is navigating to another. */
  readonly address: () => Promise<string>
  /** Runs a function in the page; it must not close over outer variables. */
  readonly run: <Result, Arguments extends readonly unknown[]>(
    script: (...args: Arguments) => Result | Promise<Result>,
    ...args: Arguments
  ) => Promise<Result>
  readonly click: (selector: string) => Promise<void>
  readonly key: (key: string) => Promise<void>
  /** Types each character as a key. */
  readonly type: (text: string) => Promise<void>
  /**
   * Presses a key by its name (UI Events), with held keys before it: `Enter`, `Control+Shift+z`.
   */
  readonly press: (keys: string) => Promise<void>
  /** An input method shows this text in place of its previous text. */
  readonly compose: (text: string) => Promise<void>
  /** The input method ends with this text. */
  readonly commit: (text: string) => Promise<void>
  readonly resize: (width: number, height: number) => Promise<void>
  readonly reload: () => Promise<void>
  /** Simulates a page long in the background (Page Lifecycle). */
  readonly freeze: (isFrozen: boolean) => Promise<void>
  readonly close: () => Promise<void>
}

export interface Browser {
  readonly version: string
  readonly newWindow: () => Promise<BrowserWindow>
  /** Console warnings and errors since the last call. */
  readonly consoleMessages: () => Promise<string[]>
  /** Kills the process, like a crash; closing it and its windows is still allowed. */
  readonly kill: () => Promise<void>
  readonly quit: () => Promise<void>
}

/** Polls until `holds` is true; rejects with the sentence after `withinMs`. Even a busy machine needs less. */
export async function until(
  holds: () => Promise<boolean>,
  otherwise: string,
  withinMs = 60_000,
): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${otherwise} within ${withinMs / 1000} s.`)
    // A script in Chromium takes over 4 ms of processor time.
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Chromium delays scripts for a page that is loading. */
const pendingScriptMs = 2000

/** For the page of a server that stops answering. */
const loadWithinMs = 60_000

/**
 * Against throttled background windows, Chromium's own requests, and the pop-ups of the address bar:
 * each new window loads their pages, which takes more processor time than an empty window.
 */
const switches = [
  '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup',
  '--disable-background-timer-throttling',
  '--disable-renderer-backgrounding',
  '--disable-backgrounding-occluded-windows',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--window-size=1000,700',
]

export async function startBrowser(opening: BrowserOpening = {}): Promise<Browser> {
  if (opening.name === 'firefox') return startFirefox(opening)
  const folder = await makeFolder('chromium')
  folder.removeAtExit()
  let driver: WebDriver | null = null
  try {
    driver = await build(opening, folder.path)
    const capabilities = await driver.getCapabilities()
    const version = `${capabilities.getBrowserName()} ${capabilities.getBrowserVersion()}`
    return asChromium(driver, version, Number(capabilities.get('goog:processID')), folder.remove)
  } catch (error) {
    await driver?.quit()
    await folder.remove()
    throw error
  }
}

/** Chromium keeps its profile and its sockets in `folder`. */
async function build(
  { headed = false, remote, profile, waitsForLoad = true, http3 }: BrowserOpening,
  folder: string,
): Promise<WebDriver> {
  const options = new chrome.Options()
  options.addArguments(...switches, ...(http3 ? http3Switches(http3) : []))
  if (!headed) options.addArguments('--headless=new', '--disable-gpu')
  if (profile) options.addArguments(`--user-data-dir=${profile}`)
  // Chromium refuses to run as root with its sandbox.
  if (process.getuid?.() === 0 || remote) options.addArguments('--no-sandbox')
  options.setAcceptInsecureCerts(true)
  options.set('timeouts', { pageLoad: loadWithinMs })
  if (!waitsForLoad) {
    options.setPageLoadStrategy('none')
    options.set('timeouts', { script: pendingScriptMs })
  }
  const wanted = new logging.Preferences()
  wanted.setLevel(logging.Type.BROWSER, logging.Level.WARNING)
  options.setLoggingPrefs(wanted)
  const builder = new Builder().forBrowser('chrome')
  if (remote) return builder.usingServer(remote).setChromeOptions(options).build()
  const programs = findPrograms('chromium')
  options.setChromeBinaryPath(programs.CROSSWIND_CHROMIUM)
  const service = new chrome.ServiceBuilder(programs.CROSSWIND_CHROMEDRIVER)
  service.setEnvironment({ ...process.env, TMPDIR: folder })
  return builder.setChromeOptions(options).setChromeService(service).build()
}

/** For QUIC, only the key of an untrusted certificate can be exempted. */
export function http3Switches({ origins, certificates }: Http3Opening): readonly string[] {
  const pins = certificates.map((certificate) => {
    const { publicKey } = new X509Certificate(certificate)
    return hash('sha256', publicKey.export({ type: 'spki', format: 'der' }), 'base64')
  })
  return [
    `--origin-to-force-quic-on=${origins.map((origin) => new URL(origin).host).join(',')}`,
    `--ignore-certificate-errors-spki-list=${pins.join(',')}`,
  ]
}

function asChromium(
  driver: WebDriver,
  version: string,
  processId: number,
  removeFolder: () => Promise<void>,
): Browser {
  const inTurn = createTurns()
  let isKilled = false
  let home: string | null = null
  let current = ''

  async function to(handle: string): Promise<void> {
    if (handle !== current) await driver.switchTo().window(handle)
    current = handle
  }

  /** The initial window stays empty: the session ends with its last window. */
  async function newHandle(): Promise<string> {
    home ??= await driver.getWindowHandle()
    await to(home)
    await driver.switchTo().newWindow('window')
    current = await driver.getWindowHandle()
    return current
  }

  /** WebDriver drives one window at a time: each command switches first. */
  function windowFor(handle: string): BrowserWindow {
    const here = <Result>(act: () => Promise<Result>) => inTurn(() => to(handle).then(act))
    return {
      open: (address) => here(() => driver.get(address)),
      address: () => here(() => driver.getCurrentUrl()),
      run: (script, ...args) => here(() => runIn(driver, script, args)),
      click: (selector) => here(() => driver.findElement(By.css(selector)).click()),
      key: (key) => here(() => driver.actions().sendKeys(key).perform()),
      type: (text) => here(() => driver.actions().sendKeys(text).perform()),
      press: (keys) => here(() => pressInChromium(driver, keys)),
      compose: (text) =>
        here(() =>
          devTools(driver, 'Input.imeSetComposition', {
            text,
            selectionStart: text.length,
            selectionEnd: text.length,
          }),
        ),
      commit: (text) => here(() => devTools(driver, 'Input.insertText', { text })),
      resize: (width, height) =>
        here(async () => void (await driver.manage().window().setRect({ width, height }))),
      reload: () => here(() => driver.navigate().refresh()),
      freeze: (isFrozen) =>
        here(() => devTools(driver, 'Page.setWebLifecycleState', { state: isFrozen ? 'frozen' : 'active' })),
      close: () =>
        isKilled
          ? Promise.resolve()
          : here(async () => {
              await driver.close()
              current = ''
            }),
    }
  }

  return {
    version,
    newWindow: () => inTurn(async () => windowFor(await newHandle())),
    consoleMessages: () =>
      inTurn(async () =>
        (await driver.manage().logs().get(logging.Type.BROWSER)).map(({ message }) => message),
      ),
    async kill() {
      isKilled = true
      process.kill(processId, 'SIGKILL')
    },
    async quit() {
      await inTurn(() => driver.quit().catch((error) => (isKilled ? undefined : Promise.reject(error))))
      await removeFolder()
    },
  }
}

async function devTools(driver: WebDriver, command: string, parameters: object): Promise<void> {
  if (!(driver instanceof chrome.Driver))
    throw new Error('DevTools are available only in a Chromium on this machine.')
  await driver.sendDevToolsCommand(command, parameters)
}

async function pressInChromium(driver: WebDriver, keys: string): Promise<void> {
  const held = keys.split('+').map((name) => (name.length === 1 ? name : keyCode(name)))
  const last = held.pop() ?? ''
  const actions = driver.actions()
  for (const key of held) actions.keyDown(key)
  actions.sendKeys(last)
  for (const key of held.reverse()) actions.keyUp(key)
  await actions.perform()
}

/** Selenium calls `ArrowLeft` `ARROW_LEFT`. */
function keyCode(name: string): string {
  const theirs = name === 'Backspace' ? 'BACK_SPACE' : name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()
  const code = Key[theirs as 'ENTER']
  if (typeof code !== 'string') throw new Error(`There is no key “${name}”.`)
  return code
}

async function runIn<Result>(
  driver: WebDriver,
  script: (...args: never[]) => unknown,
  args: readonly unknown[],
): Promise<Result> {
  const source = `const done = arguments[arguments.length - 1]
    Promise.resolve((${script})(...[...arguments].slice(0, -1))).then((result) => done([result]), (error) => done([null, String(error)]))`
  const [result, failure] = await driver.executeAsyncScript<[Result, string | undefined]>(source, ...args)
  if (failure) throw new Error(`In the page: ${failure}`)
  return result
}

function createTurns(): <Result>(act: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const turn = last.then(act)
    last = turn.catch(() => undefined)
    return turn
  }
}

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
async function startFirefox({ profile, http3 }: BrowserOpening): Promise<Browser> {
  const program = findPrograms('firefox')
  const folder = await makeFolder('firefox')
  exitBySignals()
  try {
    const userDataDir = profile ?? join(folder.path, 'profile')
    if (http3?.authorityFile) await trust(http3.authorityFile, userDataDir)
    const browser = await puppeteer.launch({
      browser: 'firefox',
      executablePath: program.CROSSWIND_FIREFOX,
      userDataDir,
      // Firefox refuses to run as root in another user's home.
      env: { ...process.env, HOME: join(folder.path, 'home'), MOZ_CRASHREPORTER_DISABLE: '1' },
      acceptInsecureCerts: true,
      defaultViewport: null,
      // Otherwise bodies are copied and kept, even those of endless streams.
      networkEnabled: false,
      extraPrefsFirefox: http3 ? { ...preferences, ...http3Preferences } : preferences,
      // Puppeteer's handlers would end only Firefox, and its exit listener does that, too.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    })
    // Puppeteer's exit listener of each open browser is not a leak.
    process.setMaxListeners(process.getMaxListeners() + 1)
    folder.removeAtExit()
    return asFirefox(browser, await browser.version(), folder.remove)
  } catch (error) {
    await folder.remove()
    throw error
  }
}

/** Otherwise Firefox disables HTTP/3 where an authority is trusted that it did not ship with. */
const http3Preferences = { 'network.http.http3.disable_when_third_party_roots_found': false }

async function trust(authorityFile: string, userDataDir: string): Promise<void> {
  await mkdir(userDataDir, { recursive: true })
  const database = ['-d', `sql:${userDataDir}`]
  await promisify(execFile)('certutil', ['-N', ...database, '--empty-password'])
  await promisify(execFile)('certutil', [
    '-A',
    ...database,
    '-n',
    'Crosswind',
    '-t',
    'C,,',
    '-i',
    authorityFile,
  ])
}

async function makeFolder(browser: BrowserName) {
  const path = await mkdtemp(join(tmpdir(), `crosswind-${browser}-`))
  await mkdir(join(path, 'home'))
  const options = { recursive: true, force: true, maxRetries: 5 }
  const removeNow = () => rmSync(path, options)
  return {
    path,
    /** For Firefox call it after the launch: Puppeteer's exit listener, which ends Firefox, must run first. */
    removeAtExit() {
      process.setMaxListeners(process.getMaxListeners() + 1)
      process.once('exit', removeNow)
    },
    async remove() {
      process.off('exit', removeNow)
      await rm(path, options)
    },
  }
}

/** Puppeteer's names of keys, held ones before the last: `Control+Shift+Z`. */
export async function pressKeys(page: Page, keys: string): Promise<void> {
  const held = keys.split('+') as KeyInput[]
  const last = held.pop()
  for (const key of held) await page.keyboard.down(key)
  if (last) await page.keyboard.press(last)
  for (const key of held.reverse()) await page.keyboard.up(key)
}

/**
 * Runs in the page. WebDriver BiDi has no input methods, so this changes the DOM as one would, with
 * the events that Firefox sends.
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

function asFirefox(browser: PuppeteerBrowser, version: string, removeFolder: () => Promise<void>): Browser {
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
      press: (keys) => toFront(page).then(() => pressKeys(page, keys)),
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
