// Lives of a browser's profile: text called kept or stored is there, once, where it was written.
// CROSSWIND_ROUNDS=200 lives more, the first of them from CROSSWIND_SEED.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import { createSeededRandom, type Random } from '../../protocol/time.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { type Browser, type BrowserWindow, startBrowser, until } from '../browser/browser.ts'
import { connectHttp, redeem, textOf } from '../clients/http-client.ts'
import { type CuttingProxy, startProxy } from '../network/cutting-proxy.ts'
import { deleteDrafts, draftsKept, forgetCookies, isThere, unpromised } from './page.ts'
import { browserModes, browserName, untilNotOpen, untilOpen, untilStored, webFolder } from './stage.ts'

const lives = Number(process.env.CROSSWIND_ROUNDS || 2)
const firstSeed = Number(process.env.CROSSWIND_SEED || 1)
const stepsInLife = 14
const maxWindows = 3
/** Typing four letters and keeping them takes less. */
const maxMsBeforeKill = 400

let server: TestServer
before(async () => {
  const limits = {
    ...testConfig.limits,
    maxChannels: 10_000,
    newChannelsPerHour: 10_000,
    logMessages: 100_000,
  }
  server = await startTestServer({ access: 'invited', limits }, webFolder)
})
after(() => server?.close())

/** A user with a document of their own. */
interface Person {
  readonly channel: string
  readonly invitation: string
}

interface OpenWindow extends BrowserWindow {
  readonly person: Person
  /** Typed since it was loaded. */
  letters: string
}

/** Each letter of a life is another one, so that it can be counted. */
interface Letter {
  readonly person: Person
  promise: 'none' | 'kept' | 'stored'
}

const firstLetter = 0x4e00

/** Data that a browser can lose: its cookies, its drafts, or both. */
const losses: readonly (readonly [words: string, ...(() => void)[]])[] = [
  ['its cookies', forgetCookies],
  ['its drafts', deleteDrafts],
  ['its cookies and drafts', forgetCookies, deleteDrafts],
]

/** Not before the window ends, either: nobody would answer. */
function neverAsk(): void {
  addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), { capture: true })
}

function stepClock(ms: number): void {
  const now = performance.now.bind(performance)
  performance.now = () => now() + ms
}

interface Setting {
  readonly profile: string
  readonly proxy: CuttingProxy
  readonly people: readonly Person[]
  readonly browser: Browser
}

class Life {
  readonly #random: Random
  readonly #profile: string
  readonly #proxy: CuttingProxy
  readonly #people: readonly Person[]
  readonly #letters = new Map<string, Letter>()
  #browser: Browser
  #windows: OpenWindow[] = []
  #isOnline = true
  /** The steps so far, to print if a life fails. */
  readonly story: string[] = []

  constructor(random: Random, { profile, proxy, people, browser }: Setting) {
    this.#random = random
    this.#profile = profile
    this.#proxy = proxy
    this.#people = people
    this.#browser = browser
  }

  async step(): Promise<void> {
    const steps = [
      () => this.#type(),
      () => this.#type(),
      () => this.#type(),
      () => this.#type(),
      () => this.#connect(!this.#isOnline),
      () => this.#connect(!this.#isOnline),
      () => this.#open(this.#pick(this.#people)),
      () => this.#close(),
      () => this.#reload(),
      () => this.#kill(),
      () => this.#lose(),
      () => this.#lose(),
      () => this.#stepClock(),
    ]
    await this.#pick(steps)()
  }

  /** Every browser comes back online; then everything promised must be there. */
  async end(): Promise<void> {
    await this.#connect(true)
    for (const person of this.#people) {
      await this.#closeAll()
      const window = await this.#open(person)
      const kept = () => window.run(draftsKept, 'crosswind', person.channel)
      await until(async () => (await kept()) === 0, 'text is still kept')
      await untilStored(window)
    }
    await this.#closeAll()
    for (const person of this.#people) {
      const text = await textIn(person)
      for (const [letter, { person: writer, promise }] of this.#letters) {
        const times = text.split(letter).length - 1
        const told = `${letter} of ${writer.channel}, ${promise}, is ${times} times in ${person.channel}`
        if (writer !== person) assert.equal(times, 0, told)
        else if (promise === 'none') assert.ok(times <= 1, told)
        else assert.equal(times, 1, told)
      }
    }
  }

  async quit(): Promise<void> {
    await this.#browser.quit()
  }

  #pick<One>(all: readonly One[]): One {
    return all[Math.floor(this.#random() * all.length)] as One
  }

  #tell(what: string): void {
    this.story.push(what)
  }

  async #aWindow(): Promise<OpenWindow> {
    const { length } = this.#windows
    return length > 0 ? this.#pick(this.#windows) : this.#open(this.#pick(this.#people))
  }

  /** By the person's invitation, which replaces another's session. */
  async #open(person: Person): Promise<OpenWindow> {
    await this.#connect(true)
    if (this.#windows.length >= maxWindows) await this.#close()
    const mode = this.#pick(browserModes)
    this.#tell(`opens ${person.channel} in ${mode.name}`)
    const window = await this.#browser.newWindow()
    await window.open(`${this.#origin}${person.invitation}`)
    if (await window.run(isThere, 'form button')) await window.click('form button')
    // A script ends with the page that is being left.
    const isTaken = () => window.run(isThere, '#document').catch(() => false)
    await until(isTaken, 'the invitation was not taken')
    const query = new URLSearchParams({ transport: mode.transport, http: mode.http, record: '' })
    await window.open(`${this.#origin}/d/${person.channel}?${query}`)
    await untilOpen(window, mode)
    const opened: OpenWindow = { ...window, person, letters: '' }
    this.#windows.push(opened)
    return opened
  }

  get #origin(): string {
    return `https://localhost:${this.#proxy.port}`
  }

  async #type(): Promise<void> {
    const window = await this.#aWindow()
    const from = this.#letters.size
    const count = 1 + Math.floor(this.#random() * 4)
    const waits = this.#random() < 0.75
    const typed = String.fromCharCode(...Array.from({ length: count }, (_, n) => firstLetter + from + n))
    this.#tell(`types ${typed} in ${window.person.channel}`)
    for (const letter of typed) this.#letters.set(letter, { person: window.person, promise: 'none' })
    await window.click('#document')
    await window.type(typed)
    window.letters += typed
    if (waits) await this.#hearPromise(window)
  }

  /** Waits until the page calls everything kept or stored, or refused. */
  async #hearPromise(window: OpenWindow): Promise<void> {
    let promise: Letter['promise'] | 'refused' | null = null
    await until(async () => {
      const { unstored, unkept, isUnshared, text } = await window.run(unpromised)
      if (isUnshared) promise = 'refused'
      else if (Array.from(window.letters).every((letter) => text.includes(letter)))
        promise = unstored === 0 ? 'stored' : unkept === 0 ? 'kept' : null
      return promise !== null
    }, 'nothing is said of the text')
    this.#tell(`which is ${promise}`)
    if (promise === 'refused' || promise === null) return
    for (const letter of window.letters) {
      const known = this.#letters.get(letter)
      if (known && known.promise !== 'stored') known.promise = promise
    }
  }

  async #connect(isOnline: boolean): Promise<void> {
    if (isOnline === this.#isOnline) return
    this.#isOnline = isOnline
    this.#tell(isOnline ? 'online' : 'offline')
    this.#proxy.refuse(!isOnline)
    if (isOnline) return
    this.#proxy.cut()
    for (const window of this.#windows) await untilNotOpen(window)
  }

  async #close(): Promise<void> {
    const window = this.#windows.length > 0 ? this.#pick(this.#windows) : null
    if (!window) return
    this.#tell(`closes ${window.person.channel}`)
    this.#windows = this.#windows.filter((one) => one !== window)
    await window.close()
  }

  async #closeAll(): Promise<void> {
    while (this.#windows.length > 0) await this.#close()
  }

  async #reload(): Promise<void> {
    const window = await this.#aWindow()
    await this.#connect(true)
    this.#tell(`reloads ${window.person.channel}`)
    window.letters = ''
    await window.run(neverAsk)
    await window.reload()
    // Another's session may have replaced this one's.
    const isShown = await window.run(isThere, '#crosswind')
    if (isShown) await until(() => window.run(isThere, '#document'), 'the page was not loaded')
    else {
      this.#windows = this.#windows.filter((one) => one !== window)
      await window.close()
    }
  }

  /** At any moment: also while something is typed, kept, sent or loaded. */
  async #kill(): Promise<void> {
    const meanwhile = this.#pick([() => this.#type(), () => this.#type(), () => this.#reload(), null])
    const afterMs = this.#random() * maxMsBeforeKill
    const interrupted = this.#windows.length > 0 && meanwhile ? meanwhile() : null
    const settled = interrupted?.catch(() => undefined)
    if (interrupted) await Promise.race([settled, pause(afterMs)])
    this.#tell('is killed')
    await this.#browser.kill()
    await settled
    await this.#browser.quit()
    this.#windows = []
    this.#browser = await startBrowser({ name: browserName, profile: this.#profile })
  }

  async #lose(): Promise<void> {
    const window = await this.#aWindow()
    const [words, ...clear] = this.#pick(losses)
    this.#tell(`loses ${words}`)
    for (const each of clear) await window.run(each)
    if (!clear.includes(deleteDrafts)) return
    for (const letter of this.#letters.values()) if (letter.promise === 'kept') letter.promise = 'none'
  }

  async #stepClock(): Promise<void> {
    const window = await this.#aWindow()
    const hours = this.#pick([-48, -1, 1, 48])
    this.#tell(`steps the clock by ${hours} hours in ${window.person.channel}`)
    await window.run(stepClock, hours * 3_600_000)
  }
}

async function textIn({ channel, invitation }: Person): Promise<string> {
  const origin = server.origin['2']
  const cookie = await redeem(origin, server.ca, origin + invitation)
  const http = connectHttp('2', origin, server.ca, cookie)
  try {
    const { status, body } = await http.ask({ path: `/api/documents/${channel}` })
    const text = await textOf(body)
    return status === 404 ? '' : text
  } finally {
    http.close()
  }
}

async function begin(t: TestContext, seed: number): Promise<Life> {
  const people: Person[] = []
  for (const name of ['ada', 'bob']) {
    const channel = `${name}-${seed}`
    const { pathname, search } = new URL(await server.invite({ channels: [channel], may: 'write' }))
    people.push({ channel, invitation: pathname + search })
  }
  const opened = new AsyncDisposableStack()
  t.after(() => opened.disposeAsync())
  const profile = join(temporaryFolder({ after: (run) => opened.defer(run) }), 'profile')
  const proxy = await startProxy(server.ports['2'])
  opened.defer(proxy.close)
  const browser = await startBrowser({ name: browserName, profile })
  const life = new Life(createSeededRandom(seed), { profile, proxy, people, browser })
  opened.defer(() => life.quit())
  return life
}

for (let seed = firstSeed; seed < firstSeed + lives; seed += 1)
  test(`life ${seed}: text that was called kept or stored is there once, and only where it was written`, async (t) => {
    const life = await begin(t, seed)
    try {
      for (let count = 0; count < stepsInLife; count += 1) await life.step()
      await life.end()
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}\n${life.story.join('; ')}`, {
        cause: error,
      })
    }
  })
