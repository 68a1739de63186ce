// Servers of documents, and their providers, for tests.

import type { TestContext } from 'node:test'
import * as Y from 'yjs'
import { CrosswindProvider, type ProviderOptions } from '../../client/yjs.ts'
import { modeNamed } from '../../server/wire/modes.ts'
import { createNodePlatform } from '../clients/client.ts'
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
  const platform = createNodePlatform(http, origin, null)
  const provider = new CrosswindProvider(`${origin}/realtime`, name, doc, { platform, ...options })
  t.after(() => {
    provider.destroy()
    platform.close()
  })
  return provider
}

export const isEqual = (one: Y.Doc, other: Y.Doc) => Y.equalSnapshots(Y.snapshot(one), Y.snapshot(other))

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

export const refusal = (provider: CrosswindProvider) =>
  new Promise<string>((resolve) => provider.once('refused', ({ code }) => resolve(code)))

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
