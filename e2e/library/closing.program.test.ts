// What a connection adds to a page is gone once it is closed, with every door of the client.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import * as Y from 'yjs'
import { LinkClock } from '../../client/clock.ts'
import { connect } from '../../client/connect.ts'
import { keptDrafts } from '../../client/drafts.ts'
import { limitedStreams, sharedConnection } from '../../client/share.ts'
import { CrosswindProvider } from '../../client/yjs.ts'
import { createNodePlatform } from '../clients/client.ts'
import { connectHttp } from '../clients/http-client.ts'
import { MemoryIndexedDb } from './memory-indexeddb.ts'
import { start, untilState } from './testing.ts'

/** Whether the client called, not the server in the same process. */
const isClients = () => /\/client\/(?!testing)/.test(new Error().stack ?? '')

/**
 * A page whose additions are counted: each as what it is, until it is undone. Listeners are those of the
 * window and the document.
 */
function openPage(t: TestContext) {
  const added = new Map<unknown, string>()
  const Channel = globalThis.BroadcastChannel
  const { setTimeout, clearTimeout } = globalThis

  const target = () => {
    const events = new EventTarget()
    return {
      addEventListener(type: string, listener: () => void, options: AddEventListenerOptions = {}) {
        if (options.signal?.aborted) return
        added.set(listener, `listener of ${type}`)
        options.signal?.addEventListener('abort', () => added.delete(listener))
        events.addEventListener(type, listener, options)
      },
      removeEventListener: (_type: string, listener: () => void) => void added.delete(listener),
    }
  }

  class CountedChannel extends Channel {
    constructor(name: string) {
      super(name)
      added.set(this, `channel ${name}`)
    }
    override close() {
      added.delete(this)
      super.close()
    }
  }

  const window = target()
  const replaced = {
    window,
    addEventListener: window.addEventListener,
    document: { ...target(), visibilityState: 'visible' },
    BroadcastChannel: CountedChannel,
    setTimeout(run: () => void, delayMs: number) {
      if (!isClients()) return setTimeout(run, delayMs)
      const timer = setTimeout(() => {
        added.delete(timer)
        run()
      }, delayMs)
      added.set(timer, `timer of ${delayMs} ms`)
      return timer
    },
    clearTimeout(timer: ReturnType<typeof setTimeout>) {
      added.delete(timer)
      clearTimeout(timer)
    },
  }
  for (const [name, value] of Object.entries(replaced)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name)
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
    t.after(() => {
      if (before) Object.defineProperty(globalThis, name, before)
      else Reflect.deleteProperty(globalThis, name)
    })
  }
  new MemoryIndexedDb().install(t)

  /** The locks that are held and waited for, and all else. */
  async function left(): Promise<readonly string[]> {
    const { held = [], pending = [] } = await navigator.locks.query()
    return [...added.values(), ...[...held, ...pending].map(({ name }) => `lock ${name}`)].sort()
  }
  return { left }
}

/** Rejects with what is left after a minute: even a busy machine closes sooner. */
async function untilNothing(left: () => Promise<readonly string[]>): Promise<void> {
  const end = performance.now() + 60_000
  while ((await left()).length > 0 && performance.now() < end)
    await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(await left(), [])
}

const options = {
  'a connection': () => ({}),
  'one with a clock': () => ({ clock: LinkClock }),
  'one that polls': () => ({ modes: ['long-polling/1.1'] }),
  'a shared one': () => ({ share: limitedStreams(sharedConnection({ user: 'ada' })) }),
  'one with drafts': () => ({ drafts: keptDrafts({ user: 'ada' }) }),
  'a shared one with drafts': () => ({
    share: sharedConnection({ user: 'ada' }),
    drafts: keptDrafts({ user: 'ada' }),
  }),
}

for (const [name, optionsOf] of Object.entries(options))
  for (const when of ['open', 'opening', 'cut off'])
    test(`${name} that is ${when} leaves nothing in the page when it is closed`, async (t) => {
      let isCut = false
      const { origin, cut } = await start(t, {
        channels: { 'room.*': { kind: 'json' }, 'doc.*': { kind: 'yjs' } },
        cuts: () => isCut,
      })
      const { left } = openPage(t)
      const platform = createNodePlatform(connectHttp('1.1', origin, null))
      t.after(() => platform.close())
      const crosswind = connect(`${origin}/realtime`, { platform, ...optionsOf() })
      t.after(() => crosswind.close())
      const room = crosswind.channel('room.1')
      const doc = new Y.Doc()
      const provider = new CrosswindProvider('', 'doc.1', doc, { connection: crosswind })
      room.publish('hello').catch(() => undefined)
      doc.getText('text').insert(0, 'hello')
      if (when !== 'opening') await untilState(crosswind, ({ status }) => status === 'open')
      if (when === 'cut off') {
        isCut = true
        cut()
        await untilState(crosswind, ({ status }) => status === 'waiting')
        crosswind.channel('room.2')
        await untilState(crosswind, ({ status }) => status === 'waiting')
      }
      if (when !== 'opening') assert.notDeepEqual(await left(), [])
      provider.destroy()
      crosswind.close()
      await untilNothing(left)
    })
