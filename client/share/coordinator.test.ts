// Windows that share a coordinator each get every message once, in order, and all answers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FakeStream, messageOf, settled } from '../testing.ts'
import { HttpError } from '../transports/http.ts'
import { BusyError, RefusedError } from '../transports/transport.ts'
import { draftOf, openCoordinator, openShared, type ShownState, shownAt } from './testing.ts'

const frames = (seqs: readonly number[], channel = 'main') =>
  seqs.map((seq) => ({ type: 'message', message: messageOf(seq, channel) }) as const)

const welcomeAt = (cursor: string, recovered: boolean) =>
  ({
    type: 'welcome',
    window: 's1',
    cursor,
    recovered,
    http: '2',
    heartbeatMs: 15_000,
    at: 0,
    stateBytes: 4096,
  }) as const

test('windows that join together share one opening, under a name of its own', () => {
  const { streams, stream, windows } = openShared(3)
  assert.equal(streams.length, 1)
  assert.deepEqual([stream.asked.window, stream.asked.channels, stream.cursor], ['s1', 'main,wind', 'life:0'])
  for (const [index, { heard }] of windows.entries())
    assert.deepEqual(heard.frames, [`welcome w${index + 1} life:0 recovered`])
})

test('each key has its own stream', () => {
  const { streams, window } = openCoordinator()
  const mine = 'ab-cd_efghijklmnopqrst'
  const another = 'b'.repeat(22)
  window().join({ window: `${mine}.w1`, key: 'k1' })
  window().join({ window: `${mine}.w2`, key: 'k1' })
  window().join({ window: `${another}.w3`, key: 'k2' })
  assert.deepEqual(
    streams.map(({ asked }) => [asked.window, asked.key]),
    [
      [`${mine}.s1`, 'k1'],
      [`${another}.s2`, 'k2'],
    ],
  )
})

test('each message goes to the members that read its channel, in order', () => {
  const { stream, first, second } = openShared(2)
  for (const seq of [1, 2, 3]) stream.message(seq)
  stream.message(4, 'elsewhere')
  assert.deepEqual(first.heard.messages, [1, 2, 3])
  assert.deepEqual(second.heard.messages, [1, 2, 3])
})

test('volatile messages go to the members that read their channel; those of a member are sent once, and answered in any case', async () => {
  const { stream, first, second, newest, window, time } = openShared(2)
  const message = { ...draftOf('w9-v1'), volatile: undefined }
  stream.frame({ type: 'volatile', message })
  stream.frame({ type: 'volatile', message: { ...message, id: 'w9-v2', channel: 'elsewhere' } })
  for (const { heard } of [first, second]) assert.deepEqual(heard.frames.slice(1), ['volatile w9-v1'])
  for (const id of ['w1-v1', 'w1-v2', 'w1-v3']) first.send(id, { volatile: true })
  assert.deepEqual(stream.sent, ['w1-v1', 'w1-v2', 'w1-v3'])
  await stream.store('w1-v1', 0)
  await stream.fail('w1-v2', new RefusedError('bad-shape', 'It does not fit.'))
  await stream.fail('w1-v3', new Error('It was lost.'))
  assert.deepEqual(first.heard.answers, [
    'w1-v1 as 0',
    'w1-v2 bad-shape: It does not fit.',
    'w1-v3 lost: It was lost.',
  ])
  assert.deepEqual(newest().sent.length, 3)
  const early = window()
  early.join({ window: 'w3', key: 'k3' })
  early.send('w3-v1', { volatile: true })
  await settled()
  assert.deepEqual(early.heard.answers, ['w3-v1 lost: The shared connection is not open.'])
  time.advance(1000)
  newest().welcome()
  assert.deepEqual(newest().sent, [])
})

test('a member that joins later is welcomed as if the stream were welcomed then', () => {
  const { stream, window, time } = openShared(1)
  stream.welcome({ at: 5000 })
  time.advance(7000)
  const late = window()
  late.join({ window: 'w2' })
  assert.deepEqual(late.heard.welcomedAt, [12_000])
})

test('a message that a browser cannot copy is left out, and all get what follows', (t) => {
  const { stream, windows } = openShared(2)
  t.mock.method(console, 'warn', () => undefined)
  for (const { refuseNext } of windows) refuseNext()
  for (const seq of [1, 2]) stream.message(seq)
  for (const { heard } of windows) assert.deepEqual(heard.messages, [2])
})

test('a late window gets what the tail holds after its cursor, then what follows', () => {
  const { stream, window, questions } = openShared(1)
  for (const seq of [1, 2, 3]) stream.message(seq)
  const late = window()
  late.join({ window: 'w2', cursor: 'life:2' })
  stream.message(4)
  assert.deepEqual(late.heard.frames, ['welcome w2 life:3 recovered', '3', '4'])
  assert.equal(questions.length, 0)
  late.send('w2-1')
  assert.deepEqual(stream.sent, ['w2-1'])
})

test('the welcome names the end of the log, even while the stream itself is catching up', () => {
  const { window, newest } = openCoordinator()
  const first = window()
  const late = window()
  first.join({ cursor: 'life:2' })
  newest().welcome({ cursor: 'life:5' })
  newest().message(3)
  late.join({ window: 'w2', cursor: 'life:2' })
  newest().message(4)
  assert.deepEqual(first.heard.frames, ['welcome w1 life:5 recovered', '3', '4'])
  assert.deepEqual(late.heard.frames, ['welcome w2 life:5 recovered', '3', '4'])
})

test('a cursor from before the tail takes one request to the server, under the stream’s name', async () => {
  const opened = openCoordinator()
  const first = opened.window()
  first.join({ cursor: 'life:7' })
  const stream = opened.newest()
  stream.welcome()
  const late = opened.window()
  late.join({ window: 'w2', cursor: 'life:3' })
  const { cursor, channels, window, isFirst, answer } = opened.asked()
  assert.deepEqual([cursor, channels, window, isFirst], ['life:3', 'main,wind', 's1', true])
  // Arrives while the request is pending, and again in its answer.
  stream.message(8)
  await answer({ cursor: 'life:8', frames: [welcomeAt('life:8', true), ...frames([4, 5, 8])] })
  stream.message(9)
  assert.deepEqual(late.heard.frames, ['welcome w2 life:8 recovered', '4', '5', '8', '9'])
  assert.deepEqual(first.heard.messages, [8, 9])
})

test('messages that arrive during the request follow from the tail', async () => {
  const opened = openShared(1, { cursor: 'life:7' })
  const late = opened.window()
  late.join({ window: 'w2', cursor: null })
  opened.stream.message(8)
  opened.stream.message(9)
  await opened.asked().answer({ cursor: 'life:8', frames: [welcomeAt('life:8', false), ...frames([5, 8])] })
  assert.deepEqual(late.heard.frames, ['welcome w2 life:8 snapshot', '5', '8', '9'])
})

test('a truncated answer is continued from where it ended', async () => {
  const opened = openShared(1, { cursor: 'life:7' })
  const late = opened.window()
  late.join({ window: 'w2', cursor: 'life:1' })
  await opened.asked().answer({ cursor: 'life:3', frames: [welcomeAt('life:7', true), ...frames([2, 3])] })
  assert.deepEqual([opened.asked().cursor, opened.asked().isFirst], ['life:3', false])
  await opened.asked().answer({ cursor: 'life:7', frames: frames([5, 7]) })
  opened.stream.message(8)
  assert.deepEqual(late.heard.messages, [2, 3, 5, 7, 8])
})

test('a request that makes no progress closes its window and is not repeated', async () => {
  const opened = openShared(1, { cursor: 'life:7' })
  const late = opened.window()
  late.join({ window: 'w2', cursor: 'life:1' })
  await opened.asked().answer({ cursor: 'other:3', frames: [welcomeAt('other:3', false)] })
  await opened.asked().answer({ cursor: 'other:3', frames: [] })
  assert.equal(opened.questions.length, 2)
  assert.deepEqual(
    late.heard.closings.map(({ code }) => code),
    ['lost'],
  )
})

test('a failed request closes only its own window', async () => {
  const opened = openShared(1, { cursor: 'life:7' })
  const late = opened.window()
  late.join({ window: 'w2', cursor: 'life:1' })
  await opened.asked().fail(new Error('no network'))
  assert.equal(late.heard.closings.length, 1)
  assert.equal(opened.first.heard.closings.length, 0)
})

test('a window that leaves cancels its request', () => {
  const opened = openShared(1, { cursor: 'life:7' })
  const late = opened.window()
  late.join({ window: 'w2', cursor: 'life:1' })
  late.vanish()
  assert.equal(opened.asked().signal.aborted, true)
})

test('if the stream starts with a snapshot, each member requests what it lacks', async () => {
  const opened = openCoordinator()
  const first = opened.window()
  first.join({ cursor: 'old:5' })
  const stream = opened.newest()
  stream.welcome({ cursor: 'life:9', recovered: false })
  for (const seq of [8, 9]) stream.message(seq)
  await opened.asked().answer({ cursor: 'life:9', frames: [welcomeAt('life:9', false), ...frames([8, 9])] })
  stream.message(10)
  assert.deepEqual(first.heard.frames, ['welcome w1 life:9 snapshot', '8', '9', '10'])
})

test('a channel missing from the stream reopens it from its cursor, while the old one continues', async () => {
  const { streams, stream, first, window, newest, questions, asked } = openShared(1)
  stream.message(1)
  const late = window()
  late.join({ window: 'w2', channels: 'other,wind', cursor: 'life:0' })
  const next = newest()
  assert.deepEqual([streams.length, next.asked.window, next.asked.opening], [2, 's1', '2'])
  assert.deepEqual([next.asked.channels, next.cursor], ['main,wind,other', 'life:1'])
  stream.message(2)
  assert.deepEqual([stream.isClosed(), first.heard.messages], [false, [1, 2]])
  next.welcome({ cursor: 'life:4' })
  assert.equal(stream.isClosed(), true)
  // The new stream resumes from where it was opened: messages that the old one brought meanwhile
  // arrive twice.
  next.message(2)
  next.message(3, 'other')
  next.message(4)
  assert.equal(questions.length, 1)
  await asked().answer({ cursor: 'life:4', frames: [welcomeAt('life:4', true), ...frames([1, 3], 'other')] })
  next.message(5, 'other')
  assert.deepEqual(first.heard.messages, [1, 2, 4])
  assert.deepEqual(late.heard.messages, [1, 3, 5])
})

test('if the server refuses a larger stream, members are unaffected and the newcomer gets its own', () => {
  const { streams, stream, first, window, newest } = openShared(1)
  const late = window()
  late.join({ window: 'w2', channels: 'other' })
  newest().end({ code: 'refused' })
  assert.deepEqual(
    late.heard.closings.map(({ code }) => code),
    ['refused'],
  )
  stream.message(1)
  assert.deepEqual([first.heard.closings, first.heard.messages], [[], [1]])
  late.join({ window: 'w2', channels: 'other' })
  assert.deepEqual([streams.length, newest().asked.window, newest().asked.channels], [3, 's2', 'other'])
})

test('twenty windows join and leave during a thousand messages: each sees each message once, in order', async () => {
  const { window, stream, windows, questions } = openShared(10)
  for (let seq = 1; seq <= 1500; seq += 1) {
    stream.message(seq, seq % 3 === 0 ? 'wind' : 'main')
    if (seq % 100 !== 0) continue
    const [left] = windows.splice(0, 1)
    left?.leave()
    const late = window()
    late.join({ cursor: `life:${seq - 90}` })
    windows.push(late)
  }
  await settled()
  assert.equal(questions.length, 0)
  for (const { heard } of windows) {
    const [start = 0] = heard.messages
    assert.deepEqual(
      heard.messages,
      Array.from({ length: 1501 - start }, (_, index) => start + index),
    )
  }
})

test('when the server ends the old stream for the new one, drafts wait and go over the new one', async () => {
  const { stream, first, window, newest } = openShared(1)
  first.send('w1-1')
  window().join({ window: 'w2', channels: 'other' })
  stream.end({ code: 'replaced' })
  await stream.fail('w1-1', new Error('The connection ended.'))
  first.send('w1-2')
  assert.deepEqual([first.heard.answers, first.heard.closings], [[], []])
  newest().welcome()
  await newest().store('w1-1', 1)
  await newest().store('w1-2', 2)
  assert.deepEqual(newest().sent, ['w1-1', 'w1-2'])
  assert.deepEqual(first.heard.answers, ['w1-1 as 1', 'w1-2 as 2'])
})

test('sends drafts in order, and each answer goes to its window', async () => {
  const { stream, first, second } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  second.send('w2-1')
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1'])
  await stream.store('w1-1', 1)
  await stream.fail('w2-1', new RefusedError('too-large', 'Too large.'))
  await stream.store('w1-2', 2)
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1', 'w1-2'])
  assert.deepEqual(first.heard.answers, ['w1-1 as 1', 'w1-2 as 2'])
  assert.deepEqual(second.heard.answers, ['w2-1 too-large: Too large.'])
})

test('over a transport that sends several at once, drafts do not wait for each other', async () => {
  const { stream, first } = openShared(1, { mode: 'websocket/1.1' })
  for (const id of ['w1-1', 'w1-2', 'w1-3']) first.send(id)
  assert.deepEqual(stream.sent, ['w1-1', 'w1-2', 'w1-3'])
})

test('busy: later drafts wait for the pause, and nothing overtakes resent drafts', async () => {
  const { stream, first, second, time } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  await stream.fail('w1-1', new BusyError('Wait.', 500))
  first.send('w1-3')
  second.send('w2-1')
  time.advance(499)
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1'])
  time.advance(1)
  for (const id of ['w1-1', 'w1-2', 'w1-3']) await stream.store(id, 1)
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1', 'w1-1', 'w1-2', 'w1-3'])
  assert.deepEqual(first.heard.answers, ['w1-1 as 1', 'w1-2 as 1', 'w1-3 as 1'])
})

test('a late busy answer to an earlier attempt does not affect the resent drafts', async () => {
  const { stream, first, time } = openShared(1, { mode: 'websocket/1.1' })
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  await stream.fail('w1-1', new BusyError('Wait.', 500))
  time.advance(500)
  await stream.fail('w1-2', new BusyError('Wait.', 500))
  first.send('w1-3')
  assert.deepEqual(stream.sent, ['w1-1', 'w1-2', 'w1-1', 'w1-2', 'w1-3'])
  time.advance(10_000)
  assert.equal(stream.sent.length, 5)
})

test('a draft that failed for an unknown reason ends its member; the others keep their stream', async () => {
  const { stream, first, second } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  await stream.fail('w1-1', new Error('500'))
  first.send('w1-3')
  assert.deepEqual([stream.sent, first.heard.answers, first.heard.closings.length], [['w1-1'], [], 1])
  stream.message(1)
  assert.deepEqual([second.heard.messages, second.heard.closings], [[1], []])
})

test('a draft that another session may not send ends all members, which open the stream anew', async () => {
  const { stream, streams, first, second, newest } = openShared(2)
  first.send('w1-1')
  await stream.fail('w1-1', new HttpError({ status: 401, text: '{"code":"other-user"}' }))
  for (const { heard } of [first, second]) assert.equal(heard.closings.length, 1)
  assert.ok(stream.isClosed())
  second.join({ window: 'w2' })
  newest().welcome({ user: 'ben' })
  assert.deepEqual([streams.length, second.heard.frames.at(-1)], [2, 'welcome w2 life:0 recovered'])
})

test('if the stream is welcomed as another user, nothing of its members goes over it, and they begin anew', () => {
  const { window, newest } = openCoordinator()
  const first = window()
  const second = window()
  first.join()
  newest().welcome({ user: 'ann' })
  first.send('w1-1')
  assert.deepEqual(newest().sent, ['w1-1'])
  second.join({ window: 'w2', channels: 'other' })
  newest().welcome({ user: 'ben' })
  assert.deepEqual(newest().sent, [])
  const codes = [first, second].map(({ heard }) => heard.closings.map(({ code }) => code))
  assert.deepEqual(codes, [['overflow'], []])
})

test('if the stream is welcomed with other rights, the members whose rights changed begin anew', () => {
  const { window, newest } = openCoordinator()
  const first = window()
  const second = window()
  first.join()
  second.join({ window: 'w2', channels: 'other' })
  newest().welcome({ readOnly: ['other'] })
  window().join({ window: 'w3', channels: 'third' })
  newest().welcome({ readOnly: ['main', 'other'] })
  const codes = [first, second].map(({ heard }) => heard.closings.map(({ code }) => code))
  assert.deepEqual(codes, [['overflow'], []])
})

test('sends nothing more from a window that left', async () => {
  const { stream, first, second } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  first.leave()
  await stream.store('w1-1', 1)
  second.send('w2-1')
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1'])
})

test('if the stream ends while drafts are in flight, every window gets the reason, rejoins, and shares one again', async () => {
  const { stream, streams, first, second, newest } = openShared(2)
  stream.message(1)
  first.send('w1-1')
  stream.end({ code: 'draining', retryAfterMs: 400 })
  await stream.fail('w1-1', new Error('The connection ended.'))
  for (const { heard } of [first, second])
    assert.deepEqual(
      heard.closings.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
      [['draining', 400]],
    )
  assert.deepEqual(first.heard.answers, [])
  for (const window of [first, second]) window.join({ cursor: window.cursor() })
  assert.deepEqual([streams.length, newest().asked.window, newest().asked.opening], [2, 's1', '2'])
  newest().welcome()
  newest().message(2)
  first.send('w1-1')
  assert.deepEqual(newest().sent, ['w1-1'])
  for (const { heard } of [first, second]) assert.deepEqual(heard.messages, [1, 2])
})

test('on a new log, all windows start over, and the stream is ready for them', async () => {
  const { stream, first, second, window, newest, streams, questions } = openShared(2)
  stream.message(1)
  window().join({ window: 'w3', channels: 'other' })
  newest().welcome({ cursor: 'new:4', recovered: false })
  for (const { heard } of [first, second])
    assert.deepEqual(
      heard.closings.map(({ code, retryAfterMs }) => [code, retryAfterMs]),
      [['overflow', 0]],
    )
  first.join({ cursor: 'life:1' })
  assert.deepEqual([streams.length, questions.length], [2, 2])
})

test('a new epoch continues the log: windows learn of it, and the stream resumes in it', async () => {
  const { stream, first, newest, asked } = openShared(1)
  stream.message(1)
  stream.end({ code: 'draining', retryAfterMs: 400 })
  first.join({ cursor: 'life:1' })
  newest().welcome({ cursor: 'life2:2', recovered: true })
  newest().message(2)
  assert.equal(asked().cursor, 'life:1')
  await asked().answer({ cursor: 'life2:2', frames: [welcomeAt('life2:2', true), ...frames([2])] })
  newest().message(3)
  assert.deepEqual(first.heard.frames.slice(-3), ['welcome w1 life2:2 recovered', '2', '3'])
  newest().end({ code: 'draining', retryAfterMs: 400 })
  first.join({ cursor: 'life2:3' })
  assert.equal(newest().asked.cursor, 'life2:3')
})

test('a poll that loses its place midway makes its windows start over', () => {
  const { stream, first, streams } = openShared(1, { mode: 'polling/1.1' })
  stream.welcome({ cursor: 'new:4', recovered: false })
  assert.equal(first.heard.closings.length, 1)
  assert.equal(stream.isClosed(), true)
  first.join({ cursor: 'life:0' })
  assert.equal(streams.length, 2)
})

test('silence ends the stream for all windows', () => {
  const { first, time, stream } = openShared(1)
  time.advance(40_000)
  assert.deepEqual(
    first.heard.closings.map(({ code }) => code),
    ['silent'],
  )
  assert.equal(stream.isClosed(), true)
})

test('a window that joins a stream that was silent for a heartbeat waits for a new one', () => {
  const { stream, time, window, newest, streams } = openShared(1)
  time.advance(16_000)
  const woken = window()
  woken.join({ window: 'w2' })
  assert.deepEqual([streams.length, woken.heard.frames], [2, []])
  newest().welcome()
  assert.deepEqual(woken.heard.frames, ['welcome w2 life:0 recovered'])
  assert.equal(stream.isClosed(), true)
})

test('the last window to leave closes the stream', () => {
  const { stream, first, second, time } = openShared(2)
  first.leave()
  assert.equal(stream.isClosed(), false)
  second.vanish()
  assert.equal(stream.isClosed(), true)
  assert.equal(time.pending(), 0)
})

test('each mode has its own stream', () => {
  const opened = openCoordinator()
  const one = opened.window()
  const other = opened.window()
  one.join({ window: 'w1', mode: 'sse/1.1' })
  other.join({ window: 'w2', mode: 'websocket/1.1' })
  const [sse, socket] = opened.streams as [FakeStream, FakeStream]
  assert.deepEqual(
    [sse.mode.name, socket.mode.name, sse.asked.window === socket.asked.window],
    ['sse/1.1', 'websocket/1.1', false],
  )
  for (const stream of opened.streams) stream.welcome()
  sse.end()
  socket.message(1)
  assert.deepEqual([one.heard.closings.length, other.heard.closings.length], [1, 0])
  assert.deepEqual(other.heard.messages, [1])
})

test('a window that changes mode is a member there only', () => {
  const { stream, first, second, newest } = openShared(2)
  first.leave()
  first.join({ mode: 'websocket/2', cursor: 'life:0' })
  newest().welcome()
  stream.message(1)
  newest().message(1)
  assert.deepEqual([first.heard.messages, second.heard.messages], [[1], [1]])
})

test('reports the number of windows per page, once for windows that join together', () => {
  const { stream, window, time, second } = openShared(2)
  assert.deepEqual(stream.said, [{ main: 2 }])
  const others = [window(), window()]
  for (const other of others) other.join({ channels: 'main,wind' })
  time.advance(20)
  second.vanish()
  time.advance(20)
  assert.deepEqual(stream.said, [{ main: 2 }, { main: 4 }, { main: 3 }])
})

test('repeats the window count with each heartbeat', () => {
  const { stream, time } = openShared(1)
  time.advance(20)
  stream.said.length = 0
  for (let beats = 0; beats < 2; beats += 1) stream.frame({ type: 'heartbeat', newest: 0, at: 1 })
  assert.deepEqual(stream.said, [{ main: 1 }, { main: 1 }])
})

test('each member gets the presence of its own page', () => {
  const opened = openCoordinator()
  const here = opened.window()
  const there = opened.window()
  here.join({ window: 'w1' })
  opened.newest().welcome()
  there.join({ window: 'w2', channels: 'other,wind' })
  opened.newest().welcome()
  opened
    .newest()
    .frame({ type: 'presence', windows: 3, channels: { main: 3, other: 5 }, browserHttp1Streams: 1 })
  assert.deepEqual([here.heard.windows, there.heard.windows], [[3], [5]])
  const late = opened.window()
  late.join({ window: 'w3' })
  assert.deepEqual(late.heard.windows, [3])
})

test('a page may have the name of an Object.prototype member', () => {
  for (const page of ['__proto__', 'constructor']) {
    const opened = openCoordinator()
    const window = opened.window()
    window.join({ window: 'w1', channels: `${page},wind` })
    const stream = opened.newest()
    stream.welcome()
    opened.time.advance(20)
    assert.deepEqual(Object.entries(stream.said.at(-1) ?? {}), [[page, 1]])
    stream.frame({ type: 'presence', windows: 3, channels: { main: 3 }, browserHttp1Streams: 1 })
    assert.deepEqual(window.heard.windows, [])
  }
})

test('drops presence without window counts, and reports the counts again', () => {
  const { stream, time, first } = openShared(1)
  time.advance(20)
  stream.said.length = 0
  stream.frame({ type: 'presence', windows: 1, browserHttp1Streams: 1 })
  time.advance(20)
  assert.deepEqual([first.heard.windows, stream.said], [[], [{ main: 1 }]])
})

test("the stream reports each window's awareness under the window’s own name, and its departure", async () => {
  const { stream, first, second, windows, newest } = openShared(2)
  first.show('AA')
  second.show('BB')
  const reports = (from: FakeStream) =>
    from.reports.map(
      ({ window, channel, state }) =>
        `${channel} ${window} ${(state as ShownState | null)?.anchor ?? 'gone'}`,
    )
  assert.deepEqual(reports(stream), ['main w1 AA', 'main w2 BB'])
  second.leave()
  assert.deepEqual(reports(stream).at(-1), 'main w2 gone')
  stream.end()
  assert.equal(windows.length, 2)
  first.join({ window: 'w1' })
  first.show('AC')
  newest().welcome()
  assert.deepEqual(reports(newest()), ['main w1 AC'])
})

test('each window gets the awareness of its own page, also when it joins later', () => {
  const opened = openCoordinator()
  const here = opened.window()
  const there = opened.window()
  here.join({ window: 'w1' })
  opened.newest().welcome()
  there.join({ window: 'w2', channels: 'other,wind' })
  opened.newest().welcome()
  const told = (channel: string, anchors: Readonly<Record<string, string | null>>, whole?: true) => {
    const windows = Object.entries(anchors).map(([window, anchor]) => ({
      window,
      state: anchor === null ? null : shownAt(anchor),
    }))
    opened.newest().frame({ type: 'awareness', channel, windows, ...(whole && { whole }) })
  }
  here.heard.awareness.length = 0
  told('main', { w1: 'AA', w8: 'CC', w9: 'DD' }, true)
  told('main', { w8: null, w9: 'DE' })
  told('other', { w2: 'BB' })
  assert.deepEqual(here.heard.awareness, ['all w1 AA w8 CC w9 DD', 'w8 gone w9 DE'])
  assert.deepEqual(there.heard.awareness, ['w2 BB'])
  const late = opened.window()
  late.join({ window: 'w3' })
  assert.deepEqual(late.heard.awareness, ['all w1 AA w9 DE'])
})

test('a window that reopens is not reported gone; a window that stays away is reported once', () => {
  const { stream, time, first, second } = openShared(2)
  second.show('BB')
  second.leave(false)
  time.advance(3000)
  second.join({ window: 'w2' })
  second.show('BB')
  time.advance(10_000)
  const states = () => stream.reports.map(({ window, state }) => `${window} ${state && 'shown'}`)
  assert.deepEqual(states(), ['w2 shown', 'w2 shown'])
  second.leave(false)
  time.advance(3900)
  assert.equal(states().length, 2)
  time.advance(10_000)
  assert.deepEqual(states().slice(2), ['w2 null'])
  first.leave(false)
  time.advance(10_000)
  assert.equal(states().length, 3)
})

test("a reopened stream reports its windows' awareness again, and nobody sees the others leave meanwhile", () => {
  const { stream, time, first, newest, window } = openShared(1)
  first.show('AA')
  stream.frame({ type: 'awareness', channel: 'main', windows: [{ window: 'w9', state: shownAt('CC') }] })
  window().join({ window: 'w2', channels: 'main,notes' })
  first.heard.awareness.length = 0
  newest().welcome()
  assert.deepEqual(newest().reports, [{ window: 'w1', channel: 'main', state: shownAt('AA') }])
  time.advance(3900)
  assert.deepEqual(first.heard.awareness, [])
  time.advance(200)
  assert.deepEqual(first.heard.awareness, ['all'])
  const late = window()
  late.join({ window: 'w3' })
  assert.deepEqual(late.heard.awareness, [])
})

test('after a reopening, a window that the server shows again never was away', () => {
  const { stream, time, first, newest, window } = openShared(1)
  const windows = [{ window: 'w9', state: shownAt('CC') }]
  stream.frame({ type: 'awareness', channel: 'main', windows })
  window().join({ window: 'w2', channels: 'main,notes' })
  first.heard.awareness.length = 0
  newest().welcome()
  newest().frame({ type: 'awareness', channel: 'main', windows, whole: true })
  time.advance(10_000)
  assert.deepEqual(first.heard.awareness, ['all w9 CC'])
})

test('a heartbeat never claims more than its member was told', () => {
  const opened = openShared(1)
  const other = opened.window()
  other.join({ window: 'w2', channels: 'wind' })
  opened.stream.message(1, 'wind')
  opened.stream.message(2)
  opened.stream.frame({ type: 'heartbeat', newest: 2, at: 1 })
  assert.equal(opened.first.heard.frames.at(-1), 'heartbeat 2')
  assert.equal(other.heard.frames.at(-1), 'heartbeat 1')
  assert.equal(opened.streams.length, 1)
})

test('a heartbeat does not claim messages that a catch-up request skipped on other channels', async () => {
  const opened = openShared(1, { cursor: 'life:7' })
  const late = opened.window()
  late.join({ window: 'w2', cursor: 'life:3' })
  await opened.asked().answer({ cursor: 'life:7', frames: [welcomeAt('life:7', true), ...frames([4])] })
  opened.stream.frame({ type: 'heartbeat', newest: 7, at: 1 })
  assert.deepEqual(late.heard.frames.slice(1), ['4', 'heartbeat 0'])
})

test('a heartbeat that is ahead means a lost message, and reopens the stream from its cursor', () => {
  const { stream, first, newest, streams } = openShared(1)
  stream.message(1)
  stream.frame({ type: 'heartbeat', newest: 3, at: 1 })
  assert.deepEqual([streams.length, newest().cursor], [2, 'life:1'])
  newest().welcome()
  for (const seq of [2, 3]) newest().message(seq)
  assert.deepEqual([first.heard.messages, first.heard.closings], [[1, 2, 3], []])
})
