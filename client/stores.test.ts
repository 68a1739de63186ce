// Stores over a connection in memory: what begins and ends with subscriptions, and what the lists have.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualTime } from '../protocol/testing.ts'
import { nothingPlanned } from '../protocol/time.ts'
import type { Crosswind, OpenChannel, RoomMessage, Subscriber } from './connect.ts'
import type { Link } from './link.ts'
import { Listeners } from './listeners.ts'
import { Outbox, plainPolicy } from './outbox.ts'
import { Stores } from './stores.ts'
import { settled } from './testing.ts'
import { RefusedError } from './transports/transport.ts'

const messageOf = (seq: number): RoomMessage<unknown> => ({
  id: `w1-${seq}`,
  channel: 'room.1',
  seq,
  at: 0,
  acceptedAt: 0,
  cursor: `life:${seq}`,
  from: 'w1',
  user: undefined,
  data: seq,
})

/** A connection with a log of ten messages in each channel; what happens to it is in `log`. */
class FakeConnection {
  readonly log: string[] = []
  readonly state = { mode: 'sse/2', status: 'open', pending: 0, reason: null }
  readonly presence = new Listeners<{ change: () => void; refused: (error: unknown) => void }>()
  readonly states = new Map<string, unknown>()
  readonly subscribers = new Set<Subscriber<unknown>>()
  readonly outbox = new Outbox({ window: 'own', timers: createManualTime() }, plainPolicy(), {
    onOutbox: nothingPlanned,
    onStored: nothingPlanned,
    onRefused: nothingPlanned,
  })
  readonly #events = new Listeners<{ state: () => void; error: (error: unknown) => void }>()
  newest = 10

  open(name: string): OpenChannel {
    if (name === 'closed') throw new Error('The connection was closed.')
    return {
      presence: {
        states: this.states,
        users: new Map(),
        on: this.presence.on.bind(this.presence) as never,
        set: (state) => this.log.push(`shows ${JSON.stringify(state)}`),
      },
      link: Promise.resolve({ outbox: this.outbox } as Link),
      publish: async (_kind, data) => ({ seq: Number(data) }),
      sendVolatile: async (_kind, data) => void this.log.push(`sends ${data}`),
      change: async (seq) => ({ seq }),
      erase: async (seq) => ({ seq }),
      readBack: async (_kind, { before = this.newest + 1, limit = 50 } = {}) => {
        this.log.push(`reads ${limit} before ${before}`)
        const all = Array.from({ length: before - 1 }, (_, index) => messageOf(index + 1))
        const messages = all.slice(-limit)
        return { messages, cursor: `life:${this.newest}`, hasEarlier: messages.length < all.length }
      },
      subscribe: (subscriber) => {
        this.log.push(`subscribes from ${subscriber.from}`)
        this.subscribers.add(subscriber)
        return () => this.subscribers.delete(subscriber)
      },
      hold: () => {
        this.log.push(`holds ${name}`)
        return () => this.log.push(`leaves ${name}`)
      },
    }
  }

  on(event: 'state' | 'error', listener: () => void) {
    return this.#events.on(event, listener)
  }

  close() {
    this.log.push('closes')
  }

  publish(change: Partial<RoomMessage<unknown>> = {}): void {
    this.newest += 1
    for (const { onMessage } of this.subscribers) onMessage({ ...messageOf(this.newest), ...change })
  }

  sendVolatile(data: unknown): void {
    for (const { onVolatile } of this.subscribers) onVolatile?.({ ...messageOf(0), data })
  }

  change(seq: number, data: unknown): void {
    this.newest += 1
    const change = { ...messageOf(this.newest), acceptedAt: 5, changes: seq, data }
    for (const { onChange } of this.subscribers) onChange?.(change)
  }
}

/** `turn` ends the turn of the event loop. */
function begin() {
  const connection = new FakeConnection()
  const planned: (() => void)[] = []
  const connect = () => {
    connection.log.push('connects')
    return connection as unknown as Crosswind
  }
  const later = (run: () => void) => {
    planned.push(run)
    return nothingPlanned
  }
  const stores = new Stores(connect, { timers: { later } })
  const turn = async () => {
    for (const run of planned.splice(0)) run()
    await settled()
    return connection.log.splice(0)
  }
  return { stores, connection, turn }
}

const seqs = (store: { getSnapshot(): { readonly messages: readonly RoomMessage<unknown>[] } }) =>
  store.getSnapshot().messages.map(({ seq }) => seq)

test('subscriptions that begin and end in one turn connect nothing; those that are replaced keep all', async () => {
  const { stores, turn } = begin()
  for (let times = 0; times < 1000; times += 1) stores.channel('room.1').subscribe(nothingPlanned)()
  assert.deepEqual(await turn(), [])
  const off = stores.channel('room.1').subscribe(nothingPlanned)
  assert.deepEqual(await turn(), [
    'connects',
    'holds room.1',
    'reads 100 before 11',
    'subscribes from life:10',
  ])
  off()
  const next = stores.channel('room.1').subscribe(nothingPlanned)
  assert.deepEqual(await turn(), [])
  assert.equal(seqs(stores.channel('room.1')).length, 10)
  next()
  assert.deepEqual(await turn(), ['leaves room.1'])
  assert.deepEqual(seqs(stores.channel('room.1')), [])
})

test('a list has the newest messages, loses its oldest, and grows by what is loaded', async () => {
  const { stores, connection, turn } = begin()
  const room = stores.channel('room.1', { limit: 3 })
  const other = stores.channel('room.1', { limit: 3 })
  assert.deepEqual(room.getSnapshot(), {
    status: 'loading',
    messages: [],
    pending: [],
    hasEarlier: false,
    error: null,
  })
  const heard: string[] = []
  room.subscribe(({ status }) => heard.push(status))
  other.subscribe(nothingPlanned)
  const log = await turn()
  assert.deepEqual(
    log.filter((entry) => entry.startsWith('reads')),
    ['reads 3 before 11'],
  )
  connection.publish()
  assert.deepEqual(seqs(room), [9, 10, 11])
  assert.equal(room.getSnapshot(), other.getSnapshot())
  await Promise.all([room.loadEarlier(), other.loadEarlier()])
  assert.deepEqual(seqs(room), [6, 7, 8, 9, 10, 11])
  connection.publish()
  assert.deepEqual(seqs(room), [7, 8, 9, 10, 11, 12])
  for (let pages = 0; pages < 2; pages += 1) await room.loadEarlier()
  assert.deepEqual([seqs(room).at(0), room.getSnapshot().hasEarlier], [1, false])
  assert.deepEqual((await turn()).length, 3)
  await room.loadEarlier()
  assert.deepEqual(await turn(), [])
  assert.deepEqual([...new Set(heard)], ['loading', 'ready'])
})

test('a burst is told twice: its first message at once, the others at the end of the turn', async () => {
  const { stores, connection, turn } = begin()
  const room = stores.channel('room.1')
  const told: string[] = []
  room.subscribe(({ messages }) => told.push(messages.map(({ data }) => data).join(' ')))
  for (let turns = 0; turns < 3; turns += 1) await turn()
  told.length = 0
  connection.publish()
  assert.deepEqual(told, ['1 2 3 4 5 6 7 8 9 10 11'])
  connection.publish()
  connection.change(12, 'twelve')
  connection.publish({ seq: 14, data: 'new' })
  assert.equal(told.length, 1)
  assert.equal(room.getSnapshot().messages.length, 13)
  await turn()
  assert.deepEqual(told.slice(1), ['1 2 3 4 5 6 7 8 9 10 11 twelve new'])
  await turn()
  assert.equal(told.length, 2)
  connection.publish()
  assert.equal(told.length, 3)
})

test('a list has messages as they were changed and erased', async () => {
  const { stores, connection, turn } = begin()
  const room = stores.channel('room.1', { limit: 2 })
  room.subscribe(nothingPlanned)
  await turn()
  connection.change(9, 'new')
  connection.change(10, undefined)
  const before = room.getSnapshot()
  connection.change(3, 'not in the list')
  assert.equal(room.getSnapshot(), before)
  assert.deepEqual(
    room.getSnapshot().messages.map(({ seq, data, changedAt }) => [seq, data, changedAt]),
    [
      [9, 'new', 5],
      [10, undefined, 5],
    ],
  )
})

test('what is published is pending until it comes; what is refused, until it is dropped', async () => {
  const { stores, connection, turn } = begin()
  const room = stores.channel('room.1')
  room.subscribe(nothingPlanned)
  await turn()
  const { outbox } = connection
  const say = (data: unknown, channel = 'room.1') => outbox.publish(channel, 'json', { data } as never)
  const id = say('one')?.id ?? ''
  const two = say('two')?.id ?? ''
  const shown = () => room.getSnapshot().pending.map(({ data, error }) => [data, error?.code])
  assert.deepEqual(shown(), [
    ['one', undefined],
    ['two', undefined],
  ])
  connection.publish({ id, data: 'one' })
  outbox.refuse(new RefusedError('declined', 'No.'))
  assert.deepEqual([room.getSnapshot().messages.at(-1)?.data, shown()], ['one', [['two', 'declined']]])
  room.drop(two)
  const before = room.getSnapshot()
  assert.deepEqual(before.pending, [])
  say('elsewhere', 'room.2')
  assert.equal(room.getSnapshot(), before)
  await room.sendVolatile('typing')
  assert.ok((await turn()).includes('sends typing'))
})

test('what waits is withdrawn when it is dropped; what was sent stays, in its place', async () => {
  const { stores, connection, turn } = begin()
  const room = stores.channel('room.1')
  const errors: unknown[] = []
  room.subscribe(({ pending }) => errors.push(...pending.map(({ error }) => error)))
  await turn()
  const { outbox } = connection
  const [sent, later, waits] = ['sent', 'later', 'waits'].map(
    (data) => outbox.publish('room.1', 'json', { data })?.id ?? '',
  ) as [string, string, string]
  outbox.connect(() => new Promise(() => undefined), 2, nothingPlanned)
  for (const id of [sent, waits, later]) room.drop(id)
  const shown = () => room.getSnapshot().pending.map(({ data }) => data)
  assert.deepEqual(shown(), ['sent', 'later'])
  outbox.disconnect()
  room.drop(sent)
  await turn()
  assert.deepEqual(shown(), ['sent', 'later'])
  assert.ok(errors.every((error) => error === undefined))
})

test('of another user’s messages, those that are kept for that user are no longer pending', async () => {
  const { stores, connection, turn } = begin()
  const room = stores.channel('room.1')
  room.subscribe(nothingPlanned)
  await turn()
  const { outbox } = connection
  const connectAs = (user: string) =>
    outbox.connect(() => new Promise(() => undefined), 2, nothingPlanned, user)
  const shown = () => room.getSnapshot().pending.map(({ data, error }) => [data, error?.code])
  connectAs('ann')
  outbox.publish('room.1', 'json', { data: 'lost' })
  connectAs('ben')
  assert.deepEqual(shown(), [['lost', 'other-user']])
  const keep = nothingPlanned
  outbox.keeper = {
    state: { persisted: 0, canPersist: true },
    changed: keep,
    connected: keep,
    flush: keep,
    close: keep,
  }
  outbox.publish('room.1', 'json', { data: 'kept' })
  connectAs('ann')
  assert.deepEqual(shown(), [['lost', 'other-user']])
  connectAs('ben')
  assert.deepEqual(shown(), [
    ['lost', 'other-user'],
    ['kept', undefined],
  ])
})

test('volatile messages are heard from the end of the turn until nobody listens', async () => {
  const { stores, connection, turn } = begin()
  const heard: string[] = []
  const off = stores.onVolatile<string>('room.1', ({ data }) => heard.push(data))
  const offToo = stores.onVolatile<string>('room.1', ({ data }) => heard.push(`${data} too`))
  assert.equal(connection.subscribers.size, 0)
  await turn()
  connection.sendVolatile('a')
  offToo()
  await turn()
  connection.sendVolatile('b')
  off()
  await turn()
  assert.deepEqual(heard, ['a', 'a too', 'b'])
  assert.equal(connection.subscribers.size, 0)
})

test('after a gap a list has what follows; a message that was read back is not shown twice', async () => {
  const { stores, connection, turn } = begin()
  const room = stores.channel('room.1', { from: 'newest' })
  room.subscribe(nothingPlanned)
  await turn()
  assert.equal(room.getSnapshot().hasEarlier, true)
  const loading = room.loadEarlier()
  connection.publish()
  await loading
  assert.deepEqual(seqs(room).slice(-3), [9, 10, 11])
  const late = room.loadEarlier()
  for (const { onGap } of connection.subscribers) onGap?.()
  connection.newest = 1
  connection.publish()
  await late
  assert.deepEqual(seqs(room), [2])
})

test('a page that was sent with messages shows them at once, and requests none of them', async () => {
  const { stores, connection, turn } = begin()
  const initial = { messages: [messageOf(9), messageOf(10)], cursor: 'life:10', hasEarlier: true }
  const room = stores.channel('room.1', { initial })
  assert.equal(room.getServerSnapshot().messages, initial.messages)
  assert.equal(room.getSnapshot(), room.getServerSnapshot())
  room.subscribe(nothingPlanned)
  assert.deepEqual(await turn(), ['connects', 'holds room.1', 'subscribes from life:10'])
  connection.publish()
  assert.deepEqual(seqs(room), [9, 10, 11])
  assert.equal(room.getServerSnapshot().messages, initial.messages)
})

test('a client is shown from the first subscription, whenever its state is set, to the last', async () => {
  const { stores, connection, turn } = begin()
  const { subscribe, set, getSnapshot } = stores.presence<string>('room.1')
  const off = subscribe(nothingPlanned)
  set('Ann')
  assert.deepEqual(await turn(), ['connects', 'holds room.1', 'shows "Ann"'])
  const before = getSnapshot()
  connection.states.set('w2', 'Bob')
  connection.presence.tell('change')
  assert.notEqual(getSnapshot(), before)
  assert.deepEqual([...getSnapshot().states], [['w2', 'Bob']])
  await turn()
  let times = 0
  subscribe(() => (times += 1))()
  const offToo = subscribe(() => (times += 1))
  for (let news = 0; news < 10; news += 1) connection.presence.tell('change')
  await turn()
  offToo()
  assert.equal(times, 4)
  connection.presence.tell('refused', 'too large')
  assert.equal(getSnapshot().error, 'too large')
  set('A')
  assert.equal(getSnapshot().error, null)
  off()
  assert.deepEqual(await turn(), ['shows "A"', 'shows null', 'leaves room.1'])
})

test('a channel that cannot be opened is in its snapshot, and the others go on', async () => {
  const { stores, turn } = begin()
  const closed = stores.channel('closed')
  closed.subscribe(nothingPlanned)
  stores.connection.subscribe(nothingPlanned)
  await turn()
  const { status, error } = closed.getSnapshot()
  assert.deepEqual([status, String(error)], ['failed', 'Error: The connection was closed.'])
  assert.equal(stores.connection.getSnapshot().mode, 'sse/2')
  assert.throws(() => stores.channel('room.1', { limit: 0 }), {
    message: 'limit is 0; it must be a whole number above 0.',
  })
})

test('a connection is closed a turn after the last that holds it, and made anew for the next', async () => {
  const { stores, turn } = begin()
  const release = stores.hold()
  await stores.channel('room.1').publish(3)
  assert.deepEqual(await turn(), ['connects', 'holds room.1', 'leaves room.1'])
  release()
  release()
  const again = stores.hold()
  assert.deepEqual(await turn(), [])
  again()
  assert.deepEqual(await turn(), ['closes'])
  assert.deepEqual(await stores.channel('room.1').publish(3), { seq: 3 })
  assert.equal((await turn())[0], 'connects')
})
