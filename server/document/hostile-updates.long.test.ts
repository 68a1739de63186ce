// Valid but hostile updates are stored or refused, and none makes a document too costly to read.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultConfig } from '../../app/config/schema.ts'
import { pageSchema, pageTasks } from '../../app/document/page-schema.ts'
import type { AllTasks } from '../../app/document/page-tasks-testing.ts'
import { Refusal } from '../../protocol/refusal.ts'
import { createSeededRandom, type Random } from '../../protocol/time.ts'
import { processTimers } from '../../scripts/process.ts'
import { ampleLimits, toyTypes } from '../log/log-testing.ts'
import { createMemoryLog } from '../log/memory-log.ts'
import { DocumentWorker, isTooCostly } from './document-worker.ts'
import { Ledger } from './ledger.ts'
import { behind, UpdateWriter } from './testing.ts'

const rounds = Number(process.env.CROSSWIND_ROUNDS ?? 40)
const seed = Number(process.env.CROSSWIND_SEED ?? 1)

/** Largest update, bytes. */
const maxBytes = 700_000

const documentSeconds = 1

/** A model of one document's contents. */
class Model {
  readonly #random: Random
  /** The next clock of each client. */
  next = new Map<number, number>()

  constructor(random: Random) {
    this.#random = random
  }

  below(most: number): number {
    return Math.floor(this.#random() * most)
  }

  /** Usually of few structs, sometimes of as many as a message can hold. */
  update(): { readonly bytes: Uint8Array; readonly next: Map<number, number> } {
    const next = new Map(this.next)
    const size = Math.ceil(100_000 ** (this.#random() ** 2))
    const own = [...next.keys()]
    const clients = Array.from({ length: 1 + this.below(this.#random() < 0.1 ? size : 3) }, () =>
      this.#random() < 0.5 && own.length > 0 ? (own[this.below(own.length)] ?? 1) : 1 + this.below(2 ** 31),
    )
    const shape = this.below(5)
    const writer = new UpdateWriter()
    const unique = [...new Set(clients)]
    for (const client of unique) {
      const count = Math.max(1, Math.floor(size / unique.length))
      for (let made = 0; made < count && writer.bytes < maxBytes; made += 1) {
        const clock = next.get(client) ?? 0
        const any = () => this.#anyId(next)
        const last = clock > 0 ? { client, clock: clock - 1 } : null
        const kind = this.below(20)
        const [left, right] = [
          // All at one place, one behind the other, or anywhere.
          () => (shape === 0 ? [null, any()] : shape === 1 ? [last, null] : [any(), any()]),
          () => (shape === 2 ? [any(), null] : [last, any()]),
        ][this.below(2)]?.() ?? [null, null]
        const len = this.below(8) === 0 ? 1 + this.below(200) : 1
        if (kind === 0) writer.gone(client, clock, len)
        else if (kind === 1) writer.deleted(client, clock, len, left ?? null, right ?? null)
        else if (kind === 2) writer.format(client, clock, 'bold', true, left ?? null, right ?? null)
        else writer.text(client, clock, 'x'.repeat(len), left ?? null, right ?? null)
        next.set(client, clock + (kind === 2 ? 1 : len))
      }
    }
    const ranges = this.#random() < 0.3 ? this.below(size) : 0
    for (let made = 0; made < ranges && writer.bytes < maxBytes; made += 1) {
      const { client, clock } = this.#anyId(next) ?? { client: 1, clock: 0 }
      if (next.has(client)) writer.delete(client, clock, 1)
    }
    return { bytes: writer.end(), next }
  }

  #anyId(next: ReadonlyMap<number, number>) {
    if (next.size === 0) return null
    let index = this.below(Math.min(next.size, 50))
    for (const [client, clocks] of next) {
      if (index === 0) return { client, clock: this.below(clocks) }
      index -= 1
    }
    return null
  }
}

test(`${rounds} hostile updates are stored or refused as too much, and what is stored can be read`, async (t) => {
  const failures: unknown[] = []
  const quarantined: string[] = []
  const open = () =>
    new DocumentWorker<AllTasks>({
      tasks: pageTasks,
      limits: { documentSeconds, documentMegabytes: 384 },
      timers: processTimers,
      onQuarantined: (channel) => quarantined.push(channel),
    })
  const documents = open()
  const trials = open()
  const onFailure = (error: unknown) => void failures.push(error)
  const now = () => 1
  const ledger = new Ledger({
    schema: pageSchema,
    documents,
    trials,
    documentSeconds,
    documentBytes: 1e8,
    now,
    onFailure,
  })
  // A log of the usual size: the pauses of garbage collection grow with its content.
  const { logMessages: messages, logBytes: bytes } = defaultConfig.limits
  const limits = { ...ampleLimits, messages, bytes, maxChannels: 1000 }
  const log = behind(
    ledger,
    createMemoryLog({ epoch: 'life1', limits, typeOf: toyTypes({ fold: ledger.fold }), now, onFailure }),
  )
  t.after(async () => {
    await log.close()
    await Promise.all([documents.close(), trials.close()])
  })
  const random = createSeededRandom(seed)
  // A document that has become costly accepts no more of them.
  const models = Array.from({ length: Math.max(20, rounds / 20) }, () => new Model(random))
  const codes = new Map<string, number>()
  let longestMs = 0
  for (let round = 0; round < rounds; round += 1) {
    const index = Math.floor(random() * models.length)
    const model = models[index]
    if (!model) continue
    const { bytes, next } = model.update()
    const update = Buffer.from(bytes).toString('base64')
    let usage = process.threadCpuUsage()
    const look = () => {
      const { user, system } = process.threadCpuUsage(usage)
      longestMs = Math.max(longestMs, (user + system) / 1000)
      usage = process.threadCpuUsage()
    }
    const looking = setInterval(look, 0)
    const draft = { id: `eve-${round}`, channel: `c${index}`, kind: 'update', from: 'eve', at: 1 } as const
    const code = await Promise.resolve(log.append({ ...draft, body: { update } }, 1)).then(
      () => 'stored',
      (error) => (error instanceof Refusal ? error.code : Promise.reject(error)),
    )
    look()
    clearInterval(looking)
    if (code === 'stored') model.next = next
    codes.set(code, (codes.get(code) ?? 0) + 1)
  }
  for (const index of models.keys()) {
    const { messages } = await log.snapshot(new Set([`c${index}`]))
    await documents.read(`c${index}`, 'textOf', 'text/plain', messages).catch((error) => {
      if (!isTooCostly(error)) throw error
    })
  }
  t.diagnostic(
    `${JSON.stringify(Object.fromEntries(codes))}, longest turn ${longestMs.toFixed(0)} ms, ${quarantined.length} quarantined`,
  )
  assert.deepEqual([failures, quarantined], [[], []])
  assert.deepEqual(
    [...codes.keys()].filter((code) => !['stored', 'too-costly', 'document-full'].includes(code)),
    [],
  )
  assert.ok((codes.get('stored') ?? 0) > rounds / 2)
})
