// The servers and providers of y-websocket and Hocuspocus, as the tests use them.

import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setTimeout } from 'node:timers/promises'
import { HocuspocusProvider } from '@hocuspocus/provider'
import { Server } from '@hocuspocus/server'
import { docs, setupWSConnection } from '@y/websocket-server/utils'
import { WebSocketServer } from 'ws'
import { WebsocketProvider } from 'y-websocket'

const settlesWithinMs = 2000

const require = createRequire(import.meta.url)
const labelOf = (label, name) => `${label} ${require(`./node_modules/${name}/package.json`).version}`

/** Resolves once `isSo()`, which changes only with one of these events. */
async function until(provider, events, isSo) {
  while (!isSo())
    await new Promise((resolve) => {
      const changed = () => {
        for (const event of events) provider.off(event, changed)
        resolve()
      }
      for (const event of events) provider.on(event, changed)
    })
}

export async function yWebsocket() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', setupWSConnection)
  await once(server, 'listening')
  return {
    label: labelOf('y-websocket', 'y-websocket'),
    port: server.address().port,
    open(port, doc) {
      const provider = new WebsocketProvider(`ws://127.0.0.1:${port}`, 'doc', doc, { disableBc: true })
      return {
        says: () => ({ synced: provider.synced }),
        isSynced: (synced) => until(provider, ['sync'], () => provider.synced === synced),
        settled: async () => undefined,
        close: () => provider.destroy(),
      }
    },
    close() {
      for (const client of server.clients) client.terminate()
      server.close()
      for (const doc of docs.values()) doc.destroy()
    },
  }
}

export async function hocuspocus() {
  const server = new Server({ port: 0, address: '127.0.0.1', quiet: true, stopOnSignals: false })
  await server.listen()
  return {
    label: labelOf('Hocuspocus', '@hocuspocus/provider'),
    port: server.address.port,
    open(port, document) {
      const url = `ws://127.0.0.1:${port}`
      const provider = new HocuspocusProvider({ url, name: 'doc', document, delay: 100, minDelay: 100 })
      return {
        says: () => ({ synced: provider.synced, unsyncedChanges: provider.unsyncedChanges }),
        isSynced: (synced) => until(provider, ['status', 'synced'], () => provider.synced === synced),
        settled: () =>
          Promise.race([
            until(provider, ['unsyncedChanges'], () => provider.unsyncedChanges === 0),
            setTimeout(settlesWithinMs),
          ]),
        close: () => provider.destroy(),
      }
    },
    close: () => server.destroy(),
  }
}
