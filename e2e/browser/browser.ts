// Real browser windows: Chromium through Selenium; Firefox in firefox.ts.

import { Builder, By, Key, logging, type WebDriver } from 'selenium-webdriver'
import chrome from 'selenium-webdriver/chrome.js'
import { findPrograms } from '../../scripts/preparation.mjs'
import { startFirefox } from './firefox.ts'

export const browserNames = ['chromium', 'firefox'] as const
export type BrowserName = (typeof browserNames)[number]

interface BrowserOpening {
  readonly name?: BrowserName
  readonly headed?: boolean
  /** Folder of a profile, which is kept; by default each browser begins with an empty one. */
  readonly profile?: string
  /** WebDriver address of a Chromium on another machine. */
  readonly remote?: string | undefined
  /** False: `open` returns at once. A script in a window whose page has not come ends with an error after 2 s. */
  readonly waitsForLoad?: boolean
}

export interface BrowserWindow {
  readonly open: (address: string) => Promise<void>
  /** Unlike a script, it does not break off where the page is just leaving for another. */
  readonly address: () => Promise<string>
  /** Runs a function in the page; it must not close over outer variables. */
  readonly run: <Result, Arguments extends readonly unknown[]>(
    script: (...args: Arguments) => Result | Promise<Result>,
    ...args: Arguments
  ) => Promise<Result>
  readonly click: (selector: string) => Promise<void>
  readonly key: (key: string) => Promise<void>
  /** Each character as a key. */
  readonly type: (text: string) => Promise<void>
  /** A key by its name (UI Events), held keys before it: `Enter`, `Control+Shift+z`. */
  readonly press: (keys: string) => Promise<void>
  /** An input method shows this text in place of what it showed so far. */
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
  /** Ends the process without a farewell, as a crash does; closing it and its windows is still allowed. */
  readonly kill: () => Promise<void>
  readonly quit: () => Promise<void>
}

/** Polls until `holds` is true; rejects with the sentence after `withinMs`. */
export async function until(
  holds: () => Promise<boolean>,
  otherwise: string,
  withinMs = 20_000,
): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${otherwise} within ${withinMs / 1000} s.`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Chromium holds back scripts for a page that is under way. */
const pendingScriptMs = 2000

/** Against throttled background windows and Chromium's own requests. */
const switches = [
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
  if (opening.name === 'firefox') return startFirefox(opening.profile)
  const driver = await build(opening)
  try {
    const capabilities = await driver.getCapabilities()
    const version = `${capabilities.getBrowserName()} ${capabilities.getBrowserVersion()}`
    return asBrowser(driver, version, Number(capabilities.get('goog:processID')))
  } catch (error) {
    await driver.quit()
    throw error
  }
}

async function build({
  headed = false,
  remote,
  profile,
  waitsForLoad = true,
}: BrowserOpening): Promise<WebDriver> {
  const options = new chrome.Options()
  options.addArguments(...switches)
  if (!headed) options.addArguments('--headless=new', '--disable-gpu')
  if (profile) options.addArguments(`--user-data-dir=${profile}`)
  // Chromium refuses to run as root with its sandbox.
  if (process.getuid?.() === 0 || remote) options.addArguments('--no-sandbox')
  options.setAcceptInsecureCerts(true)
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
  return builder.setChromeOptions(options).setChromeService(service).build()
}

function asBrowser(driver: WebDriver, version: string, processId: number): Browser {
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
      press: (keys) => here(() => press(driver, keys)),
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
    quit: () => inTurn(() => driver.quit().catch((error) => (isKilled ? undefined : Promise.reject(error)))),
  }
}

async function devTools(driver: WebDriver, command: string, parameters: object): Promise<void> {
  if (!(driver instanceof chrome.Driver))
    throw new Error('Only a Chromium of this machine has DevTools here.')
  await driver.sendDevToolsCommand(command, parameters)
}

async function press(driver: WebDriver, keys: string): Promise<void> {
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
