// Concurrent edits converge over every mode, whatever is dropped, repeated or reordered.
// `CROSSWIND_ROUNDS=10000 npm test -- convergence` runs longer; `CROSSWIND_SEED` repeats a failed run.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import * as Y from 'yjs'
import { createDocument, documentText } from '../../app/document/rich-text.ts'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { type Draft, isKind, type Message } from '../../protocol/messages.ts'
import { type Mode, modes } from '../../protocol/modes.ts'
import { createSeededRandom } from '../../protocol/time.ts'
import { nameOf, newKey } from '../clients/client.ts'
import { type ContractClient, openClient } from './contract-client.ts'

const rounds = Number(process.env.CROSSWIND_ROUNDS ?? 100)
const seed = Number(process.env.CROSSWIND_SEED ?? 1)
const peerCount = 4
/** Probabilities per delivery. */
const odds = { drop: 0.1, repeat: 0.1, reorder: 0.2, reconnect: 0.03, forget: 0.2 }

for (const mode of modes) {
  describe(mode.name, () => {
    test(`${rounds} rounds of random edits leave all documents equal`, async (t) => {
      t.diagnostic(`CROSSWIND_SEED=${seed}`)
      const server = await startTestServer()
      t.after(() => server.close())
      const random = createSeededRandom(seed)
      const peers = Array.from({ length: peerCount }, (_, index) => {
        const peer = new Peer(server, mode, random, index + 1)
        t.after(() => peer.close())
        return peer
      })
      for (let round = 0; round < rounds; round += 1) {
        const peer = peers[Math.floor(random() * peerCount)]
        peer?.edit()
        await peer?.send()
        for (const one of peers) one.receive()
      }
      for (const peer of peers) await peer.sendAll()
      const newest = Math.max(...peers.map(({ stored }) => stored))
      const expected = new Peer(server, mode, random, peerCount + 1)
      t.after(() => expected.close())
      await expected.receiveAll(newest)
      for (const peer of peers) {
        await peer.receiveAll(newest)
        assert.deepEqual(peer.content(), expected.content())
      }
      const { refusals, snapshots } = countsOf(peers)
      t.diagnostic(`${refusals} updates arrived too early, ${snapshots} snapshots`)
      // A short run may reorder none.
      if (rounds >= 1000) assert.ok(refusals > 0, 'no update was reordered')
    })
  })
}

function countsOf(peers: readonly Peer[]) {
  const sum = (count: (peer: Peer) => number) => peers.reduce((total, peer) => total + count(peer), 0)
  return { refusals: sum(({ refusals }) => refusals), snapshots: sum(({ snapshots }) => snapshots) }
}

/**
 * A window that never cuts a surrogate pair (Yjs would replace it), but loses, repeats and reorders
 * messages in both directions, and sometimes reconnects.
 */
class Peer {
  readonly #doc = createDocument()
  readonly #text = documentText(this.#doc)
  readonly #open: (cursor: string | null) => ContractClient
  readonly #random: () => number
  readonly #window: string
  #client: ContractClient
  /** Drafts not yet stored. */
  #outbox: Draft<'update'>[] = []
  #sent = 0
  /** Received, but not yet applied. */
  #inbox: Message<'update'>[] = []
  #epoch = ''
  /** All messages up to here were applied; the newest received. */
  #applied = 0
  #hasLost = false
  #isOpen = false
  #seq = 0
  /** The sequence number of the newest stored update of this peer. */
  stored = 0
  refusals = 0
  snapshots = 0

  constructor({ origin, ca }: TestServer, mode: Mode, random: () => number, clientID: number) {
    const key = newKey()
    this.#random = random
    this.#window = nameOf(key, 'w')
    this.#doc.clientID = clientID
    this.#doc.on('update', (update: Uint8Array, from: unknown) => {
      if (from !== this) this.#outbox.push(this.#draftOf(update))
    })
    let opening = 0
    this.#open = (cursor) => {
      opening += 1
      const query = new URLSearchParams({
        window: this.#window,
        key,
        channels: 'main',
        opening: `${opening}`,
      })
      if (cursor !== null) query.set('cursor', cursor)
      return openClient({ mode, origin: origin[mode.http], ca, query })
    }
    this.#client = this.#open(null)
  }

  #draftOf(update: Uint8Array): Draft<'update'> {
    this.#sent += 1
    const body = { update: Buffer.from(update).toString('base64') }
    const id = `${this.#window}-${this.#sent}`
    return { id, channel: 'main', kind: 'update', from: this.#window, at: this.#sent, body }
  }

  #below(most: number): number {
    return Math.floor(this.#random() * most)
  }

  edit(): void {
    const text = this.#text
    const index = this.#below(text.length + 1)
    const kind = this.#random()
    if (kind < 0.55) text.insert(index, ['a', 'word ', '\n', 'é', '\u2028'][this.#below(5)] ?? '')
    else if (kind < 0.8) text.delete(index, Math.min(this.#below(8), text.length - index))
    else if (kind < 0.95)
      text.format(index, Math.min(this.#below(8), text.length - index), { bold: kind < 0.9 || null })
    else text.insert(index, '\n', { block: 'h1' })
  }

  /** Drafts that are dropped, or refused for a gap, stay in the outbox. */
  async send(): Promise<void> {
    await this.#opened()
    const due = this.#outbox.filter(() => this.#random() >= odds.drop)
    if (this.#random() < odds.reorder) due.reverse()
    for (const draft of due) {
      const times = this.#random() < odds.repeat ? 2 : 1
      await Promise.all(Array.from({ length: times }, () => this.#sendOne(draft)))
    }
  }

  async #opened(): Promise<void> {
    for (let waited = 0; !this.#isOpen; waited += 1) {
      assert.ok(waited < 10_000, 'the stream did not open')
      await delay(1)
      this.#takeFrames()
    }
  }

  async #sendOne(draft: Draft<'update'>): Promise<void> {
    const answer = await this.#client.send(draft)
    if (answer.type === 'stored') {
      this.#outbox = this.#outbox.filter(({ id }) => id !== draft.id)
      this.stored = Math.max(this.stored, answer.seq)
    } else {
      assert.equal(answer.code, 'update-gap', answer.message)
      this.refusals += 1
    }
  }

  async sendAll(): Promise<void> {
    await this.#opened()
    for (const draft of [...this.#outbox]) await this.#sendOne(draft)
    assert.deepEqual(this.#outbox, [])
  }

  receive(): void {
    if (this.#random() < odds.reconnect) this.#reconnect()
    this.#takeFrames()
    if (this.#random() < odds.reorder) return
    const batch = this.#inbox.splice(0)
    if (this.#random() < odds.reorder) batch.reverse()
    for (const message of batch) {
      if (this.#random() < odds.drop) this.#hasLost = true
      else this.#apply(message, this.#random() < odds.repeat ? 2 : 1)
    }
    if (!this.#hasLost && batch.length > 0) this.#applied = Math.max(...batch.map(({ seq }) => seq))
  }

  #takeFrames(): void {
    for (const frame of this.#client.take()) {
      if (frame.type === 'welcome') {
        this.#isOpen = true
        this.#epoch = frame.cursor.split(':')[0] ?? ''
        if (!frame.recovered) this.snapshots += 1
      } else if (frame.type === 'message' && isKind(frame.message, 'update')) {
        this.#seq = Math.max(this.#seq, frame.message.seq)
        this.#inbox.push(frame.message)
      }
    }
  }

  #apply({ body }: Message<'update'>, times: number): void {
    for (let count = 0; count < times; count += 1)
      Y.applyUpdate(this.#doc, Buffer.from(body.update, 'base64'), this)
  }

  /** Resumes from before the first lost message, or without a cursor. */
  #reconnect(): void {
    this.#client.close()
    const isKnown = this.#epoch !== '' && this.#random() >= odds.forget
    this.#client = this.#open(isKnown ? `${this.#epoch}:${this.#applied}` : null)
    this.#inbox = []
    this.#isOpen = false
    this.#hasLost = false
    if (!isKnown) this.#applied = 0
    this.#seq = this.#applied
  }

  async receiveAll(seq: number): Promise<void> {
    this.#reconnect()
    for (let waited = 0; waited < 10_000; waited += 5) {
      this.#takeFrames()
      for (const message of this.#inbox.splice(0)) this.#apply(message, 1)
      if (this.#seq >= seq && this.#isOpen && this.#isWhole()) return
      await delay(5)
    }
    assert.fail('updates are missing')
  }

  #isWhole(): boolean {
    const { pendingStructs, pendingDs } = this.#doc.store
    return pendingStructs === null && pendingDs === null
  }

  content() {
    return { delta: this.#text.toDelta(), state: Y.encodeStateVector(this.#doc) }
  }

  close(): void {
    this.#client.close()
  }
}
