// A server with one document, and its editors: Crosswind, y-websocket or Hocuspocus.

import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import * as Y from 'yjs'
import { programs } from '../../../client/node.ts'
import { temporaryFolder } from '../../../scripts/folder-testing.ts'
import { provide, refusal, startDocuments, startProcess } from '../yjs-testing.ts'
import { originOf } from './comparison.ts'

export interface Documents {
  readonly label: string
  readonly port: number
  /** `port`: its own, or that of a proxy. */
  open(port: number, doc: Y.Doc): Editor
}

/** Keeps its document. */
export interface StoredDocuments extends Documents {
  readonly storage: {
    /** From now on, each write waits. */
    hold(): void
    /** Resolves once a write waits; at once if none ever does. */
    waits(): Promise<unknown>
    /** Lets the write pass that waits. */
    pass(): void
  }
  /** Resolves to another server with what this one has stored, as if its process were killed. */
  restart(): Promise<StoredDocuments>
}

export interface Editor {
  readonly doc: Y.Doc
  /** Returns the state that it reports to the application. */
  says(): object
  isSynced(synced: boolean): Promise<unknown>
  /** Resolves once it says that everything is stored, or if it does not in time. */
  settled(): Promise<unknown>
  /** Resolves to the code of a refusal. */
  refused(): Promise<string>
  /** Resolves once the connection was lost so many times. */
  loses(count: number): Promise<unknown>
  /** Resolves to its text once it is this, or if it is not in time. */
  reads(text: string): Promise<string>
  /** Shows its user to the others. */
  show(name: string): void
  /** Resolves to the names of the others once they are these, or if they are not in time. */
  sees(names: readonly string[]): Promise<readonly string[]>
  disconnect(): void
  connect(): void
  close(): void
}

/** An editor of a document of its own. */
export function edit(t: TestContext, documents: Documents, port = documents.port): Editor {
  const doc = new Y.Doc()
  t.after(() => doc.destroy())
  return documents.open(port, doc)
}

export const textOf = ({ doc }: Editor) => doc.getText('t')

const openIn = (t: TestContext, mode: string): Documents['open'] => {
  return (port, doc) => {
    const provider = provide(t, originOf(port), 'doc.1', doc, { modes: [mode], platform: programs })
    const { awareness } = provider
    const names = () => {
      const others = [...awareness.getStates()].filter(([client]) => client !== doc.clientID)
      return others.flatMap(([, { name }]) => name ?? [])
    }
    return {
      doc,
      says: () => ({ synced: provider.synced, unsaved: provider.unsaved }),
      async isSynced(synced) {
        while (provider.synced !== synced) await new Promise((resolve) => provider.once('sync', resolve))
      },
      settled: () => provider.whenSaved(),
      refused: () => refusal(provider),
      async loses(count) {
        for (let left = count; left > 0; left -= 1)
          await new Promise((resolve) => provider.once('connection-close', resolve))
      },
      async reads(text) {
        while (String(doc.getText('t')) !== text) await new Promise((resolve) => doc.once('update', resolve))
        return text
      },
      show: (name) => awareness.setLocalState({ name }),
      async sees(wanted) {
        while (String(names()) !== String(wanted))
          await new Promise((resolve) => awareness.once('update', resolve))
        return names()
      },
      disconnect: () => provider.disconnect(),
      connect: () => provider.connect(),
      close: () => provider.destroy(),
    }
  }
}

/** A short heartbeat, so that a test need not wait long until a silent client has left. */
export async function startCrosswind(t: TestContext, mode: string): Promise<Documents> {
  const { origin } = await startDocuments(t, { heartbeatMs: 1000 })
  return {
    label: `Crosswind over ${mode}`,
    port: Number(new URL(origin).port),
    open: openIn(t, mode),
  }
}

/** In a process of its own. */
export async function startStoredCrosswind(
  t: TestContext,
  mode: string,
  folder = temporaryFolder(t),
): Promise<StoredDocuments> {
  const { port, kill } = await startProcess(t, folder)
  return {
    label: `Crosswind over ${mode}`,
    port,
    open: openIn(t, mode),
    // Writes are done before they are acknowledged.
    storage: { hold: () => undefined, waits: async () => undefined, pass: () => undefined },
    async restart() {
      await kill()
      return startStoredCrosswind(t, mode, folder)
    },
  }
}

interface PeerSetting {
  /** Of a frame. */
  readonly maxBytes?: number
  /** Of the writes to the storage. */
  readonly debounceMs?: number
  /** Until a silent client has left. */
  readonly silentMs?: number
}

type Closing<System> = Omit<System, 'restart'> & {
  close(): unknown
  restart(): Promise<Closing<System>>
}

/** What `e2e/peers/yjs/peers.mjs` exports. */
interface Peers {
  yWebsocket(setting?: PeerSetting): Promise<Documents & { close(): unknown }>
  hocuspocus(setting?: PeerSetting): Promise<Closing<StoredDocuments>>
}

let installing: Promise<Peers> | undefined
const peersFolder = temporaryFolder()

/** Their packages, in a folder of their own; with the same Yjs, of which a process may have one. */
async function install(): Promise<Peers> {
  await cp(join(import.meta.dirname, '../../peers/yjs'), peersFolder, { recursive: true })
  const links = ['yjs', 'y-protocols'].map((name) => join(import.meta.dirname, '../../../node_modules', name))
  await promisify(execFile)('npm', ['install', '--no-save', '--no-audit', '--no-fund', ...links], {
    cwd: peersFolder,
    timeout: 15_000,
  })
  return import(String(pathToFileURL(join(peersFolder, 'peers.mjs'))))
}

export async function startHocuspocus(t: TestContext, setting: PeerSetting = {}): Promise<StoredDocuments> {
  installing ??= install()
  return untilEnd(t, await (await installing).hocuspocus(setting))
}

function untilEnd(t: TestContext, started: Closing<StoredDocuments>): StoredDocuments {
  t.after(() => started.close())
  return { ...started, restart: async () => untilEnd(t, await started.restart()) }
}

export async function startYWebsocket(t: TestContext, setting: PeerSetting = {}): Promise<Documents> {
  installing ??= install()
  const started = await (await installing).yWebsocket(setting)
  t.after(() => started.close())
  return started
}
