// Checks the queues against queueing theory, and the plan's arithmetic.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mean } from '../../client/statistics.ts'
import { createSeededRandom } from '../../client/wire.ts'
import { type Costs, plan, type SimulatedLoad, simulate } from './scaling-model.ts'

const costs: Costs = {
  messageMicros: 100,
  deliveryMicros: 10,
  followMicros: 50,
  brokerMicros: 40,
  idleMicros: 0,
  bytesPerWindow: 30_000,
  bytesPerDelivery: 300,
}
const load: SimulatedLoad = {
  processes: 1,
  pages: 1,
  windowsPerPage: 1,
  messageRate: 1,
  isEven: true,
  seconds: 10,
}
const run = (change: Partial<SimulatedLoad>, given: Partial<Costs> = {}) =>
  simulate({ ...load, ...change }, { ...costs, ...given }, createSeededRandom(1))

test("without a queue, a delivery's latency is its message's time plus that of the deliveries before it", () => {
  const { latenciesMs, busyShares } = run({ windowsPerPage: 4 })
  assert.equal(latenciesMs.length, 40)
  assert.deepEqual(latenciesMs.slice(0, 4), [0.11, 0.12, 0.13, 0.14])
  assert.ok(Math.abs((busyShares[0] ?? 0) - 0.00014) < 1e-9)
})

test('the queue is that of M/D/1: Pollaczek and Khinchine', () => {
  const serviceMs = 0.11
  const messageRate = 7000
  const { latenciesMs, busyShares } = run({ messageRate, isEven: false, seconds: 60 })
  const busy = (messageRate * serviceMs) / 1000
  const expected = serviceMs + (busy * serviceMs) / (2 * (1 - busy))
  assert.ok(Math.abs(mean(latenciesMs) / expected - 1) < 0.03, `${mean(latenciesMs)} for ${expected}`)
  assert.ok(Math.abs((busyShares[0] ?? 0) / busy - 1) < 0.01)
})

test('with several processes each message passes the broker, and every process follows all messages', () => {
  const { latenciesMs, busyShares, brokerShare } = run({ processes: 4, pages: 100, messageRate: 100 })
  assert.equal(latenciesMs.length, 1000)
  // Accepted, numbered, followed, delivered.
  assert.ok(latenciesMs.every((ms) => ms >= 0.1 + 0.04 + 0.05 + 0.01 - 1e-9))
  const sum = busyShares.reduce((total, share) => total + share, 0)
  assert.ok(Math.abs(sum - (100 * (100 + 4 * 50 + 10)) / 1e6) < 1e-9, String(sum))
  assert.ok(Math.abs(brokerShare - 0.004) < 1e-9)
})

test('a few of many processes represent all: each is as busy, and as fast', () => {
  const change = {
    processes: 40,
    pages: 2000,
    windowsPerPage: 10,
    messageRate: 4000,
    isEven: false,
    seconds: 4,
  }
  const all = run(change)
  const few = run({ ...change, watched: 4 })
  assert.equal(few.busyShares.length, 4)
  assert.ok(Math.abs(mean(few.busyShares) / mean(all.busyShares) - 1) < 0.03)
  // The others accept their messages without a queue.
  assert.ok(Math.abs(mean(few.latenciesMs) / mean(all.latenciesMs) - 1) < 0.05)
  assert.ok(Math.abs(few.latenciesMs.length / all.latenciesMs.length / (4 / 40) - 1) < 0.05)
})

test('a plan names what needs the most processes, and the capacity of one stream', () => {
  const machine = { busyShare: 0.6, memoryBytes: 3e9, networkBytes: 1e8, streamMessages: 10_000 }
  const small = plan({ windows: 1000, windowsPerPage: 10, messageRate: 0.1 }, costs, machine)
  assert.deepEqual([small.needed, small.streams, small.messages, small.deliveries], [1, 1, 100, 1000])
  const many = plan({ windows: 1e6, windowsPerPage: 10, messageRate: 0.01 }, costs, machine)
  // A process can follow 6,000 of 10,000 messages a second in half of its time: two streams, 0.25
  // of each core; 0.35 is left for 1e6 × 0.01 × 200 µs = 2 s.
  assert.deepEqual(
    [many.streams, many.followShare, many.processes],
    [2, 0.25, { cpu: 6, memory: 10, network: 1 }],
  )
  assert.deepEqual([many.first, many.needed], ['memory', 10])
  const all = plan({ windows: 1e8, windowsPerPage: 10, messageRate: 0.01 }, costs, machine)
  assert.equal(all.streams, 167)
  const light = plan(
    { windows: 1e8, windowsPerPage: 10, messageRate: 0.01 },
    { ...costs, followMicros: 5 },
    machine,
  )
  assert.equal(light.streams, 100)
})
