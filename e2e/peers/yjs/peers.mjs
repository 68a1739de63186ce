// The servers and providers of y-websocket and Hocuspocus, as the tests use them.

import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setTimeout } from 'node:timers/promises'
import { HocuspocusProvider } from '@hocuspocus/provider'
import { Server } from '@hocuspocus/server'
import { docs, setupWSConnection } from '@y/websocket-server/utils'
import { WebSocketServer } from 'ws'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'

const settlesWithinMs = 2000

const require = createRequire(import.meta.url)
const labelOf = (label, name) => `${label} ${require(`./node_modules/${name}/package.json`).version}`

/** Resolves once `isSo()`, which changes only with one of these events. */
async function until(emitter, events, isSo) {
  while (!isSo())
    await new Promise((resolve) => {
      const changed = () => {
        for (const event of events) emitter.off(event, changed)
        resolve()
      }
      for (const event of events) emitter.on(event, changed)
    })
}

const inTime = (work) => Promise.race([work, setTimeout(settlesWithinMs)])

/** What an editor does with either provider, which stays among the open ones until it is closed. */
function editor(provider, doc, open) {
  open.add(provider)
  return {
    doc,
    async reads(text) {
      const read = () => String(doc.getText('t'))
      await inTime(until(doc, ['update'], () => read() === text))
      return read()
    },
    show: (name) => provider.awareness.setLocalState({ name }),
    async sees(names) {
      const seen = () => {
        const others = [...provider.awareness.getStates()].filter(([client]) => client !== doc.clientID)
        return others.flatMap(([, state]) => state.name ?? [])
      }
      await inTime(until(provider.awareness, ['update'], () => String(seen()) === String(names)))
      return seen()
    },
    // Neither provider is told of a refusal.
    refused: () => new Promise(() => undefined),
    async loses(count) {
      let lost = 0
      const isLost = ({ status }) => {
        if (status === 'disconnected') lost += 1
      }
      provider.on('status', isLost)
      await until(provider, ['status'], () => lost === count)
    },
    disconnect: () => provider.disconnect(),
    connect: () => provider.connect(),
    close: () => open.delete(provider) && provider.destroy(),
  }
}

function closeAll(open) {
  for (const provider of open) provider.destroy()
  open.clear()
}

/** `maxBytes`: of a frame. */
export async function yWebsocket({ maxBytes: maxPayload } = {}) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', ...(maxPayload && { maxPayload }) })
  server.on('connection', (socket, request) => {
    // A frame that is too large is an error of the socket.
    socket.on('error', () => undefined)
    setupWSConnection(socket, request)
  })
  await once(server, 'listening')
  const open = new Set()
  return {
    label: labelOf('y-websocket', 'y-websocket'),
    port: server.address().port,
    open(port, doc) {
      const provider = new WebsocketProvider(`ws://127.0.0.1:${port}`, 'doc', doc, { disableBc: true })
      return {
        ...editor(provider, doc, open),
        says: () => ({ synced: provider.synced }),
        isSynced: (synced) => until(provider, ['sync'], () => provider.synced === synced),
        settled: async () => undefined,
      }
    },
    close() {
      closeAll(open)
      for (const client of server.clients) client.terminate()
      server.close()
      for (const doc of docs.values()) doc.destroy()
    },
  }
}

/** An application's storage of documents, whose writes a test may hold. */
class Storage {
  #stored
  #isHeld = false
  #waiting = Promise.withResolvers()
  #passing = Promise.withResolvers()

  constructor(stored = new Map()) {
    this.#stored = stored
  }

  hold() {
    this.#isHeld = true
  }

  /** Resolves once a write waits. */
  waits() {
    return this.#waiting.promise
  }

  /** Lets the write pass that waits. */
  pass() {
    this.#waiting = Promise.withResolvers()
    this.#passing.resolve()
    this.#passing = Promise.withResolvers()
  }

  async store({ documentName, document }) {
    const update = Y.encodeStateAsUpdate(document)
    if (this.#isHeld) {
      this.#waiting.resolve()
      await this.#passing.promise
    }
    this.#stored.set(documentName, update)
  }

  load({ documentName, document }) {
    const update = this.#stored.get(documentName)
    if (update) Y.applyUpdate(document, update)
  }

  copy() {
    return new Storage(new Map(this.#stored))
  }
}

/** `debounceMs`: of its writes. `silentMs`: until a silent client has left. */
export async function hocuspocus({ maxBytes, debounceMs, silentMs, storage = new Storage() } = {}) {
  const setting = {
    port: 0,
    address: '127.0.0.1',
    quiet: true,
    stopOnSignals: false,
    onLoadDocument: async (payload) => storage.load(payload),
    onStoreDocument: (payload) => storage.store(payload),
    ...(maxBytes && { websocketOptions: { maxPayload: maxBytes } }),
    ...(debounceMs && { debounce: debounceMs }),
    ...(silentMs && { timeout: silentMs }),
  }
  const server = new Server(setting)
  await server.listen()
  const open = new Set()
  return {
    label: labelOf('Hocuspocus', '@hocuspocus/provider'),
    port: server.address.port,
    storage,
    /** A server with what this one would have stored if its process were killed now. */
    restart: () => hocuspocus({ storage: storage.copy() }),
    open(port, document) {
      const url = `ws://127.0.0.1:${port}`
      const provider = new HocuspocusProvider({ url, name: 'doc', document, delay: 100, minDelay: 100 })
      return {
        ...editor(provider, document, open),
        says: () => ({ synced: provider.synced, unsaved: provider.unsyncedChanges }),
        isSynced: (synced) => until(provider, ['status', 'synced'], () => provider.synced === synced),
        settled: () => inTime(until(provider, ['unsyncedChanges'], () => provider.unsyncedChanges === 0)),
      }
    },
    close() {
      closeAll(open)
      return server.destroy()
    },
  }
}
