// Servers of documents, and their providers, for tests.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import * as Y from 'yjs'
import type { Crosswind } from '../../client/connect.ts'
import { CrosswindProvider, type ProviderOptions } from '../../client/yjs.ts'
import { modeNamed } from '../../protocol/modes.ts'
import { createNodePlatform } from '../clients/client.ts'
import { connectHttp } from '../clients/http-client.ts'
import { start } from './testing.ts'

const documents = { channels: { 'doc.*': { kind: 'yjs' } } } as const

type Setting = NonNullable<Parameters<typeof start>[1]>

export async function startDocuments(t: TestContext, setting: Setting = {}) {
  const server = await start(t, { ...documents, ...setting })
  return {
    ...server,
    provide: (options: ProviderOptions = {}, doc = new Y.Doc(), name = 'doc.1') =>
      provide(t, server.origin, name, doc, options),
  }
}

export function provide(t: TestContext, origin: string, name: string, doc: Y.Doc, options: ProviderOptions) {
  const { http = '1.1' } = modeNamed(options.modes?.[0] ?? '') ?? {}
  const platform = createNodePlatform(connectHttp(http, origin, null))
  const provider = new CrosswindProvider(`${origin}/realtime`, name, doc, { platform, ...options })
  t.after(() => {
    provider.destroy()
    platform.close()
  })
  return provider
}

/** A server with its documents in that folder. `rest`: see `document-server.ts`. */
export async function startProcess(t: TestContext, folder: string, port = 0, rest: readonly string[] = []) {
  const child = fork(join(import.meta.dirname, 'document-server.ts'), [String(port), folder, ...rest])
  const exited = once(child, 'exit')
  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await exited
  }
  t.after(kill)
  const [address] = (await once(child, 'message')) as [AddressInfo]
  let asking: Promise<string | null> = Promise.resolve(null)
  async function ask(channel: string): Promise<string | null> {
    if (!child.connected) return null
    const answered = once(child, 'message')
    // A child that is being killed takes nothing more: its exit says so.
    child.send(channel, ignore)
    const [update] = await Promise.race([answered, exited.then(() => [null])])
    return update
  }
  return {
    port: address.port,
    kill,
    /** The document of `channel` as it is stored, in base64; null if the server is killed before it answers. */
    stored(channel: string): Promise<string | null> {
      asking = asking.then(() => ask(channel))
      return asking
    },
  }
}

/** Follows a channel without a document. */
export function follow(connection: Crosswind, take: () => void = ignore) {
  return connection.follow('doc.1', {
    take,
    newLog: ignore,
    end: ignore,
    presence: { heard: ignore, refused: ignore },
  })
}

const ignore = () => undefined

export const isEqual = (one: Y.Doc, other: Y.Doc) => Y.equalSnapshots(Y.snapshot(one), Y.snapshot(other))

export function copyOf(doc: Y.Doc): Y.Doc {
  const copy = new Y.Doc()
  Y.applyUpdate(copy, Y.encodeStateAsUpdate(doc))
  return copy
}

/** Whether the first has all that the second has. */
export function contains(doc: Y.Doc, part: Y.Doc): boolean {
  const both = copyOf(doc)
  Y.applyUpdate(both, Y.encodeStateAsUpdate(part))
  return isEqual(both, doc)
}

/** Resolves once all have the same content. */
export async function converged(...docs: readonly Y.Doc[]): Promise<void> {
  const [first, ...others] = docs
  const { promise, resolve } = Promise.withResolvers<void>()
  const look = () => others.every((doc) => isEqual(first as Y.Doc, doc)) && resolve()
  for (const doc of docs) doc.on('update', look)
  look()
  await promise
  for (const doc of docs) doc.off('update', look)
}

export function synced(provider: CrosswindProvider): Promise<void> {
  return new Promise((resolve) => {
    if (provider.synced) resolve()
    else provider.once('sync', () => resolve())
  })
}

/** The code of the present refusal, or of the next one. */
export function refusal(provider: CrosswindProvider): Promise<string> {
  return new Promise((resolve) => {
    if (provider.refused) resolve(provider.refused.code)
    else provider.once('refused', ({ code }) => resolve(code))
  })
}

/** Resolves once these are the states, in any order. */
export function shown({ awareness }: CrosswindProvider, states: readonly unknown[]): Promise<void> {
  const texts = (all: Iterable<unknown>) =>
    Array.from(all, (state) => JSON.stringify(state))
      .sort()
      .join()
  const wanted = texts(states)
  return new Promise((resolve) => {
    const look = () => {
      if (texts(awareness.getStates().values()) !== wanted) return
      awareness.off('update', look)
      resolve()
    }
    awareness.on('update', look)
    look()
  })
}
