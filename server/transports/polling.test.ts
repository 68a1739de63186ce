// How long polls are held, and that a response is valid JSON whatever its messages contain.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { DownFrame, PollAnswer } from '../../protocol/messages.ts'
import { defaultEngine } from '../config/engine-settings.ts'
import { idsIn, openHub, refusalOf, settled, typesIn } from '../hub/hub-testing.ts'
import { draft } from '../log/log-testing.ts'
import { grantWith } from '../security/testing.ts'
import { Budget } from './budget.ts'
import { longPolling } from './polling.ts'

/** Mounts it on a router and requests it without a socket; `res` is the response stream. */
function openPolling(holdMs: number, lastsMs: number | null = null) {
  const opened = openHub()
  const { time } = opened
  const grant = grantWith({ expiresAt: lastsMs && time.now() + lastsMs })
  const routes = new Map<string, (ctx: unknown) => Promise<void>>()
  const router = { get: (path: string, run: (ctx: unknown) => Promise<void>) => routes.set(path, run) }
  const limits = { stateBytes: 4096, channelsPerWindow: 8, maxMessageBytes: 1000, bodySeconds: 1 }
  const budget = new Budget(defaultEngine.limits, time)
  longPolling({ router, hub: opened.hub, timers: time, budget, limits, holdMs } as never)
  function ask(query: string) {
    const res = Object.assign(new EventEmitter(), { destroyed: false })
    const ctx = {
      set: () => undefined,
      querystring: query,
      state: { grant },
      req: { httpVersionMajor: 2, headers: {}, socket: {} },
      res,
      type: '',
      body: Buffer.alloc(0),
    }
    const answered = routes
      .get('/api/long-poll')?.(ctx)
      .then((): PollAnswer => JSON.parse(String(ctx.body)))
    return { res, answered: answered ?? Promise.reject(new Error('nothing is mounted')) }
  }
  return { ...opened, ask }
}

test('a response is valid JSON, whatever its messages contain', async () => {
  const { hub, ask } = openPolling(0)
  const hostile = ['"}]}', '\\', '\n\u2028\0', '💨\ud83d', '</script>']
  for (const [n, html] of hostile.entries()) await hub.publish(draft(`m-${n}`, html))
  const { cursor, frames } = await ask('window=w1&channels=main&cursor=life1:0&first').answered
  const htmlOf = (frame: DownFrame) =>
    frame.type === 'message' && 'html' in frame.message.body ? [frame.message.body.html] : []
  assert.deepEqual([cursor, frames[0]?.type, frames.flatMap(htmlOf)], ['life1:5', 'welcome', hostile])
})

test('an empty response is valid JSON too', async () => {
  const { ask } = openPolling(0)
  assert.deepEqual(await ask('window=w1&channels=main&cursor=life1:0').answered, {
    cursor: 'life1:0',
    frames: [],
  })
})

const holds: [hold: string, heldMs: number][] = [
  ['', 300],
  ['&hold=100', 100],
  ['&hold=9999', 300],
  ['&hold=Infinity', 300],
  ['&hold=-5', 0],
  ['&hold=soon', 0],
  ['&hold=0', 0],
]

for (const [hold, heldMs] of holds) {
  test(`holds a poll for as long as it asks, within the server’s limit: ${hold || 'nothing said'}`, async () => {
    const { time, ask } = openPolling(300)
    let isAnswered = false
    const answered = ask(`window=w1&channels=main&cursor=life1:0${hold}`).answered.then(() => {
      isAnswered = true
    })
    await settled()
    time.advance(Math.max(0, heldMs - 1))
    await settled()
    assert.equal(isAnswered, heldMs === 0)
    time.advance(1)
    await answered
  })
}

test('a held poll ends when its connection closes', async () => {
  const { time, ask } = openPolling(20_000)
  const before = time.pending()
  const { res, answered } = ask('window=w1&channels=main&cursor=life1:0')
  await settled()
  time.advance(100)
  assert.equal(time.pending(), before + 1)
  res.destroyed = true
  res.emit('close')
  await answered
  assert.deepEqual([time.pending(), res.listenerCount('close')], [before, 0])
})

test('a malformed poll is refused', async () => {
  const { ask } = openPolling(0)
  const { status, code } = await refusalOf(() => ask('channels=main').answered)
  assert.deepEqual([status, code], [400, 'bad-query'])
})

test('a held poll that outlives its session gets no messages', async () => {
  const { hub, time, ask } = openPolling(300, 200)
  const { answered } = ask('window=w1&channels=main&cursor=life1:0')
  await settled()
  time.advance(200)
  await hub.publish(draft('m-1'))
  assert.equal((await refusalOf(() => answered)).code, 'session-expired')
})

test('a poll returns what others sent since the last one', async () => {
  const { hub, ask } = openPolling(20_000)
  const { cursor } = await ask('window=w1&channels=main&first').answered
  const held = ask(`window=w1&channels=main&cursor=${cursor}`).answered
  await settled()
  await hub.publish(draft('m-1'))
  const { frames } = await held
  assert.deepEqual([typesIn(frames), idsIn(frames)], [['message', 'heartbeat'], ['m-1']])
})
