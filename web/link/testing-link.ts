// A link with everything around it in memory, and a record of what it told.

import assert from 'node:assert/strict'
import { createManualTime } from '../../server/wire/manual-time.ts'
import { type Mode, modeNamed } from '../../server/wire/modes.ts'
import { createLink, type LinkParts, type OutboxState } from './link.ts'
import type { LinkState } from './link-state.ts'
import { openOutboxStore, type SessionItems } from './outbox-store.ts'
import { createFakeTransports, type FakeStream } from './testing.ts'

export function mode(name: string): Mode {
  return modeNamed(name) ?? assert.fail(`there is no mode ${name}`)
}

/** `sessionStorage` in memory; `mostItems` is its quota. */
export function createItems(mostItems = Number.POSITIVE_INFINITY) {
  const items = new Map<string, string>()
  const store: SessionItems = {
    getItem: (key) => items.get(key) ?? null,
    setItem(key, value) {
      if (!items.has(key) && items.size >= mostItems) throw new Error('QuotaExceededError')
      items.set(key, value)
    },
    removeItem: (key) => void items.delete(key),
  }
  return { items, store }
}

export interface Circumstances extends Partial<LinkParts> {
  readonly items?: SessionItems
}

/** A link over transports in memory, with what it told kept in the order in which it came. */
export function openLink({ items = createItems().store, ...change }: Circumstances = {}) {
  const time = createManualTime()
  const startAt = time.now()
  const { streams, transports } = createFakeTransports()
  const heard = {
    states: [] as string[],
    newest: null as LinkState | null,
    messages: [] as number[],
    newLogs: 0,
    windows: [] as number[],
    unstored: [] as number[],
    outbox: null as OutboxState | null,
    stored: [] as string[],
    refused: [] as string[],
    superseded: [] as string[],
  }
  const link = createLink({
    transports,
    originFor: (http) => `https://localhost:${http}`,
    polling: { intervalMs: 1000, holdMs: 20_000 },
    window: 'w1',
    browser: 'b1',
    channels: ['main', 'wind'],
    mode: mode('sse/2'),
    cursor: null,
    bounds: { messages: 1000, bytes: 1_000_000 },
    store: openOutboxStore(() => items),
    renewSession: () => Promise.resolve(true),
    timers: time,
    random: () => 1,
    onState(told) {
      const { state, mode, spokenHttp, reason, retryAt } = told
      const said = {
        open: `HTTP/${spokenHttp}`,
        opening: '',
        waiting: `${retryAt === null ? '–' : retryAt - startAt}: ${reason}`,
      }
      heard.newest = told
      heard.states.push(`${state} ${mode} ${said[state]}`.trim())
    },
    onMessage: ({ seq }) => void heard.messages.push(seq),
    onNewLog() {
      heard.newLogs += 1
    },
    onPresence: ({ windows }) => void heard.windows.push(windows),
    onOutbox(outbox) {
      heard.outbox = outbox
      heard.unstored.push(outbox.unstored)
    },
    onStored: (id, seq) => void heard.stored.push(`${id} as ${seq}`),
    onRefused: (id, sentence) => void heard.refused.push(`${id}: ${sentence}`),
    onSuperseded: (id) => void heard.superseded.push(id),
    ...change,
  })
  const newest = (): FakeStream => streams.at(-1) ?? assert.fail('nothing was opened')
  const publish = (html = '') => link.publish('main', 'edit', { html })
  return { link, time, streams, newest, heard, publish }
}
