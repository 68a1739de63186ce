// A window's side of sharing: what it opens is a transport like any other, wherever the bytes travel.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modeNamed } from '../../server/wire/modes.ts'
import { BusyError, type Closing, RefusedError } from '../transports/transport.ts'
import type { LineEvents } from './line.ts'
import type { ToPlace } from './port.ts'
import { createSharing } from './shared-transport.ts'
import { draftOf, settled } from './testing.ts'

function openSharing() {
  const lines: { readonly events: LineEvents; readonly posted: ToPlace[] }[] = []
  const sharing = createSharing((events) => {
    const posted: ToPlace[] = []
    lines.push({ events, posted })
    return Promise.resolve({ post: (said) => void posted.push(said) })
  })
  const closings: Closing[] = []
  const frames: string[] = []

  function openNow() {
    return sharing.open({
      origin: 'https://localhost:1',
      mode: modeNamed('sse/1.1') ?? assert.fail('there is no such mode'),
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

  const newest = () => lines.at(-1) ?? assert.fail('there is no line')
  return { sharing, open, openNow, lines, newest, closings, frames }
}

test('what is asked for crosses as plain data', async () => {
  const { open, newest } = openSharing()
  await open()
  const [said] = structuredClone(newest().posted)
  assert.ok(said?.type === 'join')
  assert.deepEqual([said.asked.mode.name, said.asked.query], ['sse/1.1', 'window=w1&channels=main%2Cwind'])
})

test('answers come back as a transport gives them', async () => {
  const { open, newest } = openSharing()
  const { send } = await open()
  const sent = ['w1-1', 'w1-2', 'w1-3', 'w1-4'].map((id) => send(draftOf(id)))
  const say = (id: string, answer: object) =>
    newest().events.onSaid(structuredClone({ type: 'answer', member: 1, id, answer }) as never)
  const failed = { type: 'failed', turn: 0, sentence: 'No.' }
  say('w1-1', { type: 'stored', id: 'w1-1', seq: 7 })
  say('w1-2', { ...failed, kind: 'refused', code: 'too-large' })
  say('w1-3', { ...failed, kind: 'busy', retryAfterMs: 50 })
  say('w1-4', { ...failed, kind: 'unknown' })
  const [stored, refused, busy, unknown] = await Promise.allSettled(sent)
  assert.deepEqual(stored, { status: 'fulfilled', value: { type: 'stored', id: 'w1-1', seq: 7 } })
  assert.ok(refused?.status === 'rejected' && refused.reason instanceof RefusedError)
  assert.ok(busy?.status === 'rejected' && busy.reason instanceof BusyError)
  assert.equal(busy.reason.retryAfterMs, 50)
  assert.ok(unknown?.status === 'rejected' && unknown.reason instanceof Error)
})

test('what is said after it was told to wait belongs to the next turn', async () => {
  const { open, newest } = openSharing()
  const { send } = await open()
  const first = send(draftOf('w1-1'))
  const failure = { type: 'failed', turn: 0, sentence: 'Wait.', kind: 'busy', retryAfterMs: 5 } as const
  newest().events.onSaid({ type: 'answer', member: 1, id: 'w1-1', answer: failure })
  await assert.rejects(first, BusyError)
  void send(draftOf('w1-1'))
  const turns = newest().posted.flatMap((said) => (said.type === 'send' ? [said.turn] : []))
  assert.deepEqual(turns, [0, 1])
})

test('the place is gone: all that was open ends, to come back at once, over a new line', async () => {
  const { open, newest, lines, closings } = openSharing()
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
  assert.deepEqual([lines.length, newest().posted.map(({ type }) => type)], [2, ['join']])
})

test('closed before the place was found, it never asks to join', async () => {
  const { openNow, newest } = openSharing()
  const transport = openNow()
  transport.close()
  await settled()
  assert.deepEqual(newest().posted, [])
})

test('after its close it hears nothing more', async () => {
  const { open, newest, frames, closings } = openSharing()
  const { close } = await open()
  close()
  newest().events.onSaid({
    type: 'frame',
    member: 1,
    frame: { type: 'heartbeat', newest: 0 },
  })
  newest().events.onGone()
  assert.deepEqual([frames, closings], [[], []])
})

test('the page goes: each member says so', async () => {
  const { sharing, open, newest } = openSharing()
  await open()
  await open()
  sharing.leave()
  const left = newest().posted.flatMap(({ type, member }) => (type === 'leave' ? [member] : []))
  assert.deepEqual(left, [1, 2])
})
