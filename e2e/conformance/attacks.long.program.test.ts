// Attacks on memory and on other windows: no message is lost, and memory is released.
// `CROSSWIND_ATTACK_SECONDS=60 npm test -- attacks` attacks for a minute each, and shows the windows' latency beside a quiet one.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import * as Y from 'yjs'
import { defaultConfig } from '../../app/config/config.ts'
import type { Draft } from '../../protocol/messages.ts'
import { modeNamed } from '../../protocol/modes.ts'
import { draftOf } from '../clients/client.ts'
import { visitOwnRoutes } from './application.ts'
import { type AttackName, attacks, onDocuments, onPages, onShares } from './attacks.ts'
import { type CalmWindows, openCalmWindows } from './calm-windows.ts'
import { contentOf, openClient } from './contract-client.ts'
import {
  type Attacker,
  type FloodedServer,
  type Memory,
  startAttacker,
  startFloodedServer,
} from './flood-processes.ts'

const askedSeconds = Number(process.env.CROSSWIND_ATTACK_SECONDS ?? 0)
const isLong = askedSeconds > 0
const attackMs = isLong ? askedSeconds * 1000 : 800
/** Idle time before and after each attack, for the baseline latency. */
const quietMs = isLong ? 5000 : 0

/** Growth of used and of held memory: the allocator keeps memory that it once had. */
const maxKeptBytes = 50_000_000
const maxHeldBytes = 250_000_000
const maxPeakBytes = 600_000_000
/** Reached only if memory is not released. */
const settleMs = 120_000
/** A document thread ends after five seconds without a task. */
const threadsEndMs = 7000
const timeout = attackMs + 2 * quietMs + 2 * settleMs

/** Warm-up before the first measurement: compiles the code and grows the heap. */
const warmUp: readonly AttackName[] = [
  'empty binary frames over WebSocket, answers unread',
  'polls over HTTP/2 without a window',
  'messages of invented senders, sent ahead',
]

/** Default limits, except the log's: retained log entries are not a leak. */
const limits = { ...defaultConfig.limits, logMessages: 1000 }

const names = Object.keys(attacks) as AttackName[]
const onMemory = names.filter((name) => !onShares.has(name))

interface Attacked {
  readonly what: string
  /** Settings of our own server; null for an application's. */
  readonly setting: { readonly storage?: string } | null
  readonly fill: (server: FloodedServer) => Promise<void>
  readonly names: readonly AttackName[]
  /** Limits; all by default, so that the log keeps the attack's messages. */
  readonly limits?: object
}

const attacked: readonly Attacked[] = [
  {
    what: 'a page of the maximum size',
    setting: {},
    fill: fillPage,
    names: onMemory,
    limits,
  },
  {
    what: 'a channel of an application',
    setting: null,
    fill: fillPage,
    names: onMemory.filter((name) => !onPages.has(name)),
    limits,
  },
  {
    what: 'a long document',
    setting: { storage: 'sqlite' },
    fill: fillDocument,
    names: onMemory.filter((name) => onDocuments.has(name)),
    limits,
  },
  ...[...onShares].flatMap((name) => [
    {
      what: `pages, by ${name}`,
      setting: { storage: 'sqlite' },
      fill: fillPage,
      names: [name],
    },
    { what: `channels of an application, by ${name}`, setting: null, fill: fillPage, names: [name] },
  ]),
]

for (const { what, setting, fill, names, limits } of attacked)
  describe(`during an attack on ${what}`, () => {
    let server: FloodedServer
    let attacker: Attacker
    let calm: CalmWindows
    let ownRoutes: Awaited<ReturnType<typeof visitOwnRoutes>> | null = null
    let history: Awaited<ReturnType<typeof writeHistory>> | null = null

    before(async () => {
      ;[server, attacker] = await Promise.all([
        startFloodedServer({ ...setting, limits: limits ?? defaultConfig.limits }, setting === null),
        startAttacker(),
      ])
      await fill(server)
      // A small log has no room for it beside the attacks.
      if (!limits) history = await writeHistory(server)
      calm = await openCalmWindows(server, ['sse/2', 'websocket/1.1'])
      if (server.isApplication) ownRoutes = await visitOwnRoutes(server)
      for (const name of warmUp) await attacker.attack(name, server.target, isLong ? 5000 : 500)
    })
    after(async () => {
      calm.close()
      await Promise.all([attacker.close(), server.close()])
    })

    for (const name of names) {
      test(`${name}: the windows stay open, and memory is ${limits ? 'released' : 'bounded'}`, {
        timeout,
      }, async (t) => {
        await calm.takeLatencies()
        await delay(quietMs)
        const quiet = await calm.takeLatencies()
        const atStart = await server.memory()
        const connections = await attacker.attack(name, server.target, attackMs)
        const attacked = await calm.takeLatencies()
        await delay(quietMs)
        quiet.push(...(await calm.takeLatencies()))
        const atEnd = limits ? await settled(server, atStart) : await server.memory()
        const ratio = median(attacked) / median(quiet)
        const p99 = attacked[Math.ceil(attacked.length * 0.99) - 1] ?? Number.NaN
        const memory = [atStart.held, atEnd.held, atEnd.peak].map((bytes) => `${Math.round(bytes / 1e6)} MB`)
        t.diagnostic(
          `${connections} connections; memory at start, at the end and peak: ${memory.join(', ')}; median ` +
            `latency ${median(quiet).toFixed(1)} ms, under attack ${median(attacked).toFixed(1)} ms, ` +
            `${ratio.toFixed(2)} times; 99th percentile ${p99.toFixed(0)} ms`,
        )
        assert.deepEqual(calm.failures, [])
        if (limits) assert.ok(isBack(atEnd, atStart), `${memory[1]} after it, ${memory[0]} before`)
        assert.ok(atEnd.peak < maxPeakBytes, `${memory[2]} at most`)
      })
    }

    test('no message was lost, duplicated or reordered, others’ history is whole, and an application’s own routes answered', {
      timeout,
    }, async (t) => {
      t.diagnostic(`${await calm.finish()} messages`)
      await ownRoutes?.finish()
      await history?.check()
    })
  })

async function fillPage(server: FloodedServer): Promise<void> {
  const content = contentOf(server.isApplication, 'x'.repeat(defaultConfig.limits.maxMessageBytes - 1000))
  await write(server, [{ ...draftOf('filler', 1, '', 'attacked'), ...content }])
}

/** 8 million characters in one base. */
async function fillDocument(server: FloodedServer): Promise<void> {
  const doc = new Y.Doc()
  const updates: Uint8Array[] = []
  doc.on('update', (update: Uint8Array) => updates.push(update))
  for (let line = 0; line < 12; line += 1) doc.getText('text').insert(0, `${'a long line '.repeat(58_000)}\n`)
  await write(
    server,
    updates.map((update, index) => ({
      ...draftOf('filler', index + 1, '', 'attacked'),
      kind: 'update',
      body: { update: Buffer.from(update).toString('base64') },
    })),
  )
  // Lets the threads that read it end: their memory is not the attack's.
  await delay(threadsEndMs)
}

/** Another client's 200 messages; `check` reads them again, and resolves if each is there, in order. */
async function writeHistory(server: FloodedServer) {
  const drafts = Array.from({ length: 200 }, (_nothing, index) => ({
    ...draftOf('ann', index + 1, '', 'earlier'),
    ...contentOf(server.isApplication, `text ${index + 1}`),
  }))
  const cursor = await write(server, drafts)
  return {
    async check() {
      const client = open(server, { window: 'bob', channels: 'earlier', cursor })
      const { recovered } = await client.next('welcome')
      assert.ok(recovered)
      const read = [] as string[]
      while (read.length < drafts.length) read.push((await client.next('message')).message.id)
      client.close()
      assert.deepEqual(
        read,
        drafts.map(({ id }) => id),
      )
    },
  }
}

/** Resolves to the cursor before them. */
async function write(server: FloodedServer, drafts: readonly Draft[]): Promise<string> {
  const { channel = '', from = '' } = drafts[0] ?? {}
  const client = open(server, { window: from, channels: channel })
  const { cursor } = await client.next('welcome')
  for (const draft of drafts) assert.equal((await client.send(draft)).type, 'stored')
  client.close()
  return cursor
}

function open({ origin, ca }: FloodedServer, query: Record<string, string>) {
  const mode = modeNamed('websocket/1.1')
  if (!mode) throw new Error('There is no mode websocket/1.1.')
  return openClient({ mode, origin: origin['1.1'], ca, query: new URLSearchParams(query) })
}

/** Resolves once memory is back near the start, or after `settleMs`. */
async function settled({ memory }: FloodedServer, atStart: Memory): Promise<Memory> {
  const until = performance.now() + settleMs
  let peak = 0
  for (;;) {
    const now = await memory()
    peak = Math.max(peak, now.peak)
    if (isBack(now, atStart) || performance.now() > until) return { ...now, peak }
    await delay(500)
  }
}

function isBack({ used, held }: Memory, atStart: Memory): boolean {
  return used - atStart.used < maxKeptBytes && held - atStart.held < maxHeldBytes
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
