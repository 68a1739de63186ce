// A transport over a shared connection keeps the same contract as any other.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mode, settled } from '../testing.ts'
import { type Closing, RefusedError } from '../transports/transport.ts'
import type { CoordinatorEvents, ToCoordinator } from './coordinator.ts'
import { SharedClient } from './shared-client.ts'
import { draftOf } from './testing.ts'

function openClient() {
  const ports: { readonly events: CoordinatorEvents; readonly posted: ToCoordinator[] }[] = []
  const client = new SharedClient((events) => {
    const posted: ToCoordinator[] = []
    ports.push({ events, posted })
    return Promise.resolve((said) => void posted.push(said))
  })
  const closings: Closing[] = []
  const frames: string[] = []

  function openNow() {
    return client.open({
      base: 'https://localhost:1',
      mode: mode('sse/1.1'),
      query: new URLSearchParams({ window: 'w1', channels: 'main,wind' }),
      polling: { intervalMs: 1, holdMs: 1 },
      onFrame: ({ type }) => void frames.push(type),
      onClose: (closing) => void closings.push(closing),
    })
  }

  async function open() {
    const transport = openNow()
    await settled()
    return transport
  }

  const newest = () => ports.at(-1) ?? assert.fail('there is no port')
  return { client, open, openNow, ports, newest, closings, frames }
}

test('openings cross as plain data', async () => {
  const { open, newest } = openClient()
  await open()
  const [said] = structuredClone(newest().posted)
  assert.ok(said?.type === 'join')
  assert.deepEqual(
    [said.asked.mode.name, said.asked.query],
    ['sse/1.1', { window: 'w1', channels: 'main,wind' }],
  )
})

test('drafts cross as JSON, whatever else their data has that browsers do not copy', async () => {
  const { open, newest } = openClient()
  const { send } = await open()
  const data = { list: new Proxy([1], {}), method: () => 2 }
  send({ ...draftOf('w1-1'), kind: 'json', body: { data } }).catch(() => undefined)
  const said = structuredClone(newest().posted).at(-1)
  assert.ok(said?.type === 'send')
  assert.deepEqual(JSON.parse(said.draft).body.data.list, [1])
})

test('data nested deeper than the server takes does not cross, and is refused with its code', async () => {
  const { open, newest } = openClient()
  const { send } = await open()
  const nested = (levels: number) => {
    const data = JSON.parse('['.repeat(levels) + ']'.repeat(levels))
    return send({ ...draftOf('w1-1'), kind: 'json', body: { data } })
  }
  for (const levels of [101, 4000])
    await assert.rejects(nested(levels), {
      code: 'bad-shape',
      message: `The data is nested ${levels} levels deep; it may be 100.`,
    })
  assert.equal(newest().posted.length, 1)
  nested(100).catch(() => undefined)
  assert.equal(newest().posted.at(-1)?.type, 'send')
})

test('answers arrive as from an ordinary transport', async () => {
  const { open, newest } = openClient()
  const { send } = await open()
  const sent = ['w1-1', 'w1-2'].map((id) => send(draftOf(id)))
  for (const frame of [
    { type: 'stored', id: 'w1-1', seq: 7 },
    { type: 'refused', id: 'w1-2', code: 'too-large', message: 'No.' },
  ] as const)
    newest().events.onSaid(structuredClone({ type: 'frame', member: 1, frame }))
  const [stored, refused] = await Promise.allSettled(sent)
  assert.deepEqual(stored, { status: 'fulfilled', value: { type: 'stored', id: 'w1-1', seq: 7 } })
  assert.ok(refused?.status === 'rejected' && refused.reason instanceof RefusedError)
})

test('if the coordinator ends, every opening closes, to reconnect at once over a new port', async () => {
  const { open, newest, ports, closings } = openClient()
  const { send } = await open()
  await open()
  const unanswered = send(draftOf('w1-1'))
  newest().events.onGone()
  await assert.rejects(unanswered)
  assert.deepEqual(
    closings.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
    [
      ['replaced', 0],
      ['replaced', 0],
    ],
  )
  await open()
  assert.deepEqual([ports.length, newest().posted.map(({ type }) => type)], [2, ['join']])
})

test('after the coordinator could not be reached, the next opening looks for it again', async () => {
  let tries = 0
  const joined: string[] = []
  const client = new SharedClient(() => {
    tries += 1
    return tries === 1
      ? Promise.reject(new Error('The script did not load.'))
      : Promise.resolve(({ type }) => void joined.push(type))
  })
  const closings: string[] = []
  const open = () =>
    client.open({
      base: 'https://localhost:1',
      mode: mode('sse/1.1'),
      query: new URLSearchParams({ window: 'w1', channels: 'main' }),
      polling: { intervalMs: 1, holdMs: 1 },
      onFrame: () => undefined,
      onClose: ({ code }) => void closings.push(code),
    })
  open()
  await settled()
  assert.deepEqual(closings, ['lost'])
  open()
  await settled()
  assert.deepEqual([closings, joined], [['lost'], ['join']])
})

test('closed before the coordinator was found, it never asks to join', async () => {
  const { openNow, newest } = openClient()
  const transport = openNow()
  transport.close()
  await settled()
  assert.deepEqual(newest().posted, [])
})

test('after its close it receives nothing more', async () => {
  const { open, newest, frames, closings } = openClient()
  const transport = await open()
  transport.close()
  newest().events.onSaid({
    type: 'frame',
    member: 1,
    frame: { type: 'heartbeat', newest: 0, at: 1 },
  })
  newest().events.onGone()
  assert.deepEqual([frames, closings], [[], []])
})

test('when the page ends, each member leaves', async () => {
  const { client, open, newest } = openClient()
  await open()
  await open()
  client.leave()
  const left = newest().posted.flatMap(({ type, member }) => (type === 'leave' ? [member] : []))
  assert.deepEqual(left, [1, 2])
})
