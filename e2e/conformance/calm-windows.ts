// Ordinary windows that write at a fixed pace while their server is flooded.

import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { type HttpVersion, modeNamed } from '../../protocol/modes.ts'
import { draftOf, nameOf } from '../clients/client.ts'
import { type ContractClient, contentOf, openClient } from './contract-client.ts'

const paceMs = 20

const calmKey = (index: number) => `a-key-of-calm-window-${index}`

/** The window's proven name; attackers know it. */
export const calmName = (index: number) => nameOf(calmKey(index), `calm${index}`)

interface CalmWindow {
  readonly name: string
  readonly client: ContractClient
  /** Message ids, in order. */
  readonly seen: string[]
}

interface CalmServer {
  readonly origin: Readonly<Record<HttpVersion, string>>
  readonly ca: string
  readonly isApplication: boolean
}

export async function openCalmWindows(
  { origin, ca, isApplication }: CalmServer,
  modeNames: readonly string[],
): Promise<CalmWindows> {
  const windows = modeNames.map((modeName, index): CalmWindow => {
    const mode = modeNamed(modeName)
    if (!mode) throw new Error(`There is no mode named ${modeName}.`)
    const name = calmName(index)
    const query = new URLSearchParams({ window: name, key: calmKey(index), channels: 'calm' })
    return { name, client: openClient({ mode, origin: origin[mode.http], query, ca }), seen: [] }
  })
  for (const { client } of windows) await client.next('welcome')
  return new CalmWindows(windows, isApplication)
}

export class CalmWindows {
  readonly failures: string[] = []
  readonly #windows: readonly CalmWindow[]
  readonly #isApplication: boolean
  readonly #sent: string[] = []
  readonly #dueAt = new Map<string, number>()
  readonly #arrivals = new EventEmitter()
  readonly #writing: Promise<void>
  #latencies: number[] = []
  #isWriting = true

  constructor(windows: readonly CalmWindow[], isApplication: boolean) {
    this.#windows = windows
    this.#isApplication = isApplication
    for (const window of windows) this.#read(window).catch(() => undefined)
    this.#writing = this.#write()
  }

  async #read({ name, client, seen }: CalmWindow): Promise<void> {
    client.ended.then(({ sentence }) => {
      this.failures.push(`${name} was closed: ${sentence}`)
      this.#arrivals.emit('seen')
    })
    for (;;) {
      const { message } = await client.next('message')
      if (message.from !== name) this.#latencies.push(performance.now() - (this.#dueAt.get(message.id) ?? 0))
      seen.push(message.id)
      this.#arrivals.emit('seen')
    }
  }

  /** Open loop: a stall delays every message that falls due during it. */
  async #write(): Promise<void> {
    const startedAt = performance.now()
    for (let count = 1; this.#isWriting; count += 1) {
      const due = startedAt + count * paceMs
      await delay(Math.max(0, due - performance.now()))
      const window = this.#windows[count % this.#windows.length]
      if (!window) continue
      const content = contentOf(this.#isApplication, `text ${count}`)
      const draft = { ...draftOf(window.name, count, '', 'calm'), ...content }
      this.#dueAt.set(draft.id, due)
      this.#sent.push(draft.id)
      window.client
        .send(draft)
        .catch((error) => this.failures.push(`${window.name} could not send: ${error}`))
    }
  }

  /**
   * Latencies since the last call, from due to received by the other window, ms, sorted. Waits for a message due
   * after the call, so that delayed ones are included.
   */
  async takeLatencies(): Promise<number[]> {
    await this.#untilSeen(this.#sent.length + 1)
    const latencies = this.#latencies.sort((one, other) => one - other)
    this.#latencies = []
    return latencies
  }

  /**
   * Stops writing; resolves to the number of messages once all have arrived. Rejects on a lost, duplicated or
   * reordered message.
   */
  async finish(): Promise<number> {
    this.#isWriting = false
    await this.#writing
    await this.#untilSeen(this.#sent.length)
    assert.deepEqual(this.failures, [])
    const [first = [], ...others] = this.#windows.map(({ seen }) => seen)
    for (const other of others) assert.deepEqual(other, first)
    assert.deepEqual(first.toSorted(), this.#sent.toSorted())
    for (const { name } of this.#windows) {
      const own = (ids: readonly string[]) => ids.filter((id) => id.startsWith(name))
      assert.deepEqual(own(first), own(this.#sent))
    }
    return this.#sent.length
  }

  /** Resolves early if a window was closed. */
  async #untilSeen(count: number): Promise<void> {
    while (this.failures.length === 0 && this.#windows.some(({ seen }) => seen.length < count))
      await once(this.#arrivals, 'seen')
  }

  close(): void {
    this.#isWriting = false
    for (const { client } of this.#windows) client.close()
  }
}
