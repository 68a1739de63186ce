// Without SharedWorker, windows elect a leader over real Web Locks and BroadcastChannels.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { BroadcastChannel } from 'node:worker_threads'
import { createFakeTransports, mode } from '../testing.ts'
import { Coordinator } from './coordinator.ts'
import { Election } from './reach-coordinator.ts'

const endings: (() => void)[] = []
after(() => {
  for (const end of endings) end()
})

/** Does not keep this process alive. */
class Channel extends BroadcastChannel {
  constructor(name: string) {
    super(name)
    this.unref()
  }
}
Object.assign(globalThis, { BroadcastChannel: Channel })

async function until(holds: () => boolean, otherwise: string): Promise<void> {
  for (let tries = 0; !holds(); tries += 1) {
    assert.ok(tries < 2000, otherwise)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Windows of one group; `streams` are those that a window opened as the leader. */
function openWindows(group: string) {
  return (window: string) => {
    const { transports, streams } = createFakeTransports()
    const heard: string[] = []
    let terms = 0
    let isGone = 0
    // The window's own lock, which shows that it is alive.
    const { promise, resolve: die } = Promise.withResolvers<void>()
    const alive = `${group} ${window} alive`
    void navigator.locks.request(alive, () => promise)
    const election = new Election(group, alive, () => {
      terms += 1
      return new Coordinator(transports)
    })
    endings.push(() => election.resign(), die)

    async function join(): Promise<void> {
      const post = await election.reach({
        onSaid: ({ type }) => void heard.push(type),
        onGone() {
          isGone += 1
        },
      })
      const query = { window, key: 'k1', opening: '1', channels: window, cursor: 'life1:0' }
      const polling = { intervalMs: 1000, holdMs: 1000 }
      post({
        type: 'join',
        member: 1,
        asked: { base: 'https://localhost:1', mode: mode('sse/2'), query, polling },
      })
    }

    return { election, join, streams, heard, terms: () => terms, isGone: () => isGone, die }
  }
}

test('the first window leads, and is itself served like the others', async () => {
  const open = openWindows('first')
  const one = open('one')
  const two = open('two')
  await one.join()
  await until(() => one.streams.length === 1, 'the leader did not hear itself')
  one.streams[0]?.welcome()
  await two.join()
  await until(() => one.streams.length === 2, 'the leader did not hear the other')
  assert.equal(one.streams[1]?.query.get('channels'), 'one,two')
  one.streams[1]?.welcome()
  one.streams[1]?.heartbeat()
  await until(() => one.heard.length > 1 && two.heard.length > 1, 'not both were served')
  assert.deepEqual([one.terms(), two.terms()], [1, 0])
})

test('when the leader leaves, the next one leads, and all learn that the old one is gone', async () => {
  const open = openWindows('next')
  const one = open('one')
  const two = open('two')
  const three = open('three')
  for (const window of [one, two, three]) await window.join()
  await until(() => one.streams.length === 1, 'the leader did not hear them')
  one.election.resign()
  await until(() => two.isGone() + three.isGone() === 2, 'the others did not notice')
  assert.deepEqual([two.terms(), three.terms(), one.streams[0]?.isClosed()], [1, 0, true])
  await three.join()
  await until(() => two.streams.length === 1, 'the new leader did not hear it')
})

test('a window that ends without notice is detected by its lock', async () => {
  const open = openWindows('vanished')
  const one = open('one')
  const two = open('two')
  await one.election.reach({ onSaid: () => undefined, onGone: () => undefined })
  await two.join()
  await until(() => one.streams.length === 1, 'the leader did not hear it')
  two.die()
  await until(() => one.streams[0]?.isClosed() === true, 'the leader did not notice')
})

test('a leader that resigned before a freeze stands for election again after it', async () => {
  const open = openWindows('frozen')
  const one = open('one')
  await one.join()
  one.election.resign()
  one.election.stand()
  await until(() => one.terms() === 2, 'it does not lead again')
})
