// Real Chromium windows through Selenium: every oddity of WebDriver is in this folder, and nothing else is.

import { Builder, By, logging, type WebDriver } from 'selenium-webdriver'
import chrome from 'selenium-webdriver/chrome.js'
import { advice, findBrowser } from '../../scripts/steps/browser.mjs'

export interface BrowserOpening {
  /** Shows the windows; needs a display. */
  readonly headed?: boolean
  /** A WebDriver address on another machine; Chromium runs there then. */
  readonly remote?: string | undefined
  readonly dark?: boolean
}

export interface BrowserWindow {
  readonly open: (address: string) => Promise<void>
  /** Runs a function in the page and gives what it returns; it may use nothing from outside but its arguments. */
  readonly run: <Result, Arguments extends readonly unknown[]>(
    script: (...given: Arguments) => Result | Promise<Result>,
    ...given: Arguments
  ) => Promise<Result>
  readonly click: (selector: string) => Promise<void>
  /** One key to what has the focus, as the operating system would send it. */
  readonly key: (key: string) => Promise<void>
  readonly resize: (width: number, height: number) => Promise<void>
  /** PNG. */
  readonly screenshot: () => Promise<Buffer>
  readonly reload: () => Promise<void>
  /** Puts the page to sleep as a browser does with one long in the background (Page Lifecycle), and wakes it. */
  readonly freeze: (isFrozen: boolean) => Promise<void>
  readonly close: () => Promise<void>
}

export interface Browser {
  readonly version: string
  readonly newWindow: () => Promise<BrowserWindow>
  /** What the windows wrote to their consoles since the last call: warnings and errors. */
  readonly consoleMessages: () => Promise<string[]>
  readonly quit: () => Promise<void>
}

/** Background and occluded windows are slowed down otherwise, and Chromium asks its maker's hosts for things. */
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
  const driver = await build(opening)
  try {
    const version = `${(await driver.getCapabilities()).getBrowserName()} ${(await driver.getCapabilities()).getBrowserVersion()}`
    return asBrowser(driver, version ?? 'unknown')
  } catch (error) {
    await driver.quit()
    throw error
  }
}

async function build({ headed = false, remote, dark = false }: BrowserOpening): Promise<WebDriver> {
  const options = new chrome.Options()
  options.addArguments(...switches)
  if (!headed) options.addArguments('--headless=new', '--disable-gpu')
  if (dark) options.addArguments('--blink-settings=preferredColorScheme=0')
  // As root, as in a container, Chromium starts without its sandbox or not at all.
  if (process.getuid?.() === 0 || remote) options.addArguments('--no-sandbox')
  options.setAcceptInsecureCerts(true)
  const wanted = new logging.Preferences()
  wanted.setLevel(logging.Type.BROWSER, logging.Level.WARNING)
  options.setLoggingPrefs(wanted)
  const builder = new Builder().forBrowser('chrome')
  if (remote) return builder.usingServer(remote).setChromeOptions(options).build()
  const programs = findBrowser()
  if (programs === null) throw new Error(advice)
  options.setChromeBinaryPath(programs.CROSSWIND_CHROMIUM)
  const service = new chrome.ServiceBuilder(programs.CROSSWIND_CHROMEDRIVER)
  return builder.setChromeOptions(options).setChromeService(service).build()
}

function asBrowser(driver: WebDriver, version: string): Browser {
  const inTurn = createTurns()
  let home: string | null = null
  let current = ''

  async function to(handle: string): Promise<void> {
    if (handle !== current) await driver.switchTo().window(handle)
    current = handle
  }

  async function devTools(command: string, parameters: object): Promise<void> {
    if (!(driver instanceof chrome.Driver))
      throw new Error('Only a Chromium of this machine has DevTools here.')
    await driver.sendDevToolsCommand(command, parameters)
  }

  /** The window that the browser starts with stays empty: a session ends with its last window. */
  async function newHandle(): Promise<string> {
    home ??= await driver.getWindowHandle()
    await to(home)
    await driver.switchTo().newWindow('window')
    current = await driver.getWindowHandle()
    return current
  }

  /** WebDriver speaks to one window at a time: everything waits for its turn and switches first. */
  function windowFor(handle: string): BrowserWindow {
    const here = <Result>(act: () => Promise<Result>) => inTurn(() => to(handle).then(act))
    return {
      open: (address) => here(() => driver.get(address)),
      run: (script, ...given) => here(() => runIn(driver, script, given)),
      click: (selector) => here(() => driver.findElement(By.css(selector)).click()),
      key: (key) => here(() => driver.actions().sendKeys(key).perform()),
      resize: (width, height) =>
        here(async () => void (await driver.manage().window().setRect({ width, height }))),
      screenshot: () => here(async () => Buffer.from(await driver.takeScreenshot(), 'base64')),
      reload: () => here(() => driver.navigate().refresh()),
      freeze: (isFrozen) =>
        here(() => devTools('Page.setWebLifecycleState', { state: isFrozen ? 'frozen' : 'active' })),
      close: () =>
        here(async () => {
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
    quit: () => inTurn(() => driver.quit()),
  }
}

async function runIn<Result>(
  driver: WebDriver,
  script: (...given: never[]) => unknown,
  given: readonly unknown[],
): Promise<Result> {
  const source = `const done = arguments[arguments.length - 1]
    Promise.resolve((${script})(...[...arguments].slice(0, -1))).then((result) => done([result]), (error) => done([null, String(error)]))`
  const [result, failure] = await driver.executeAsyncScript<[Result, string | undefined]>(source, ...given)
  if (failure) throw new Error(`In the page: ${failure}`)
  return result
}

/** Runs what it is given one after the other, whoever asks. */
function createTurns(): <Result>(act: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const turn = last.then(act)
    last = turn.catch(() => undefined)
    return turn
  }
}
