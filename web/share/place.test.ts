// The windows of one browser at one stream: all are told all, in order, once, whoever comes and goes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BusyError, RefusedError } from '../transports/transport.ts'
import { messageOf, openPlace, type RealStream, settled, type TestWindow } from './testing.ts'

/** Windows that follow one stream, which stands at `life:0`. */
function openShared(count: number, asking: Parameters<TestWindow['join']>[0] = {}) {
  const opened = openPlace()
  const windows = Array.from({ length: count }, opened.window)
  for (const [index, window] of windows.entries()) window.join({ ...asking, window: `w${index + 1}` })
  const stream = opened.newest()
  stream.welcome()
  const [first, second, third] = windows as [TestWindow, TestWindow, TestWindow]
  return { ...opened, windows, first, second, third, stream }
}

const frames = (seqs: readonly number[], channel = 'main') =>
  seqs.map((seq) => ({ type: 'message', message: messageOf(seq, channel) }) as const)

const welcomeAt = (cursor: string, recovered: boolean) =>
  ({ type: 'welcome', window: 's1', cursor, recovered, http: '2', heartbeatMs: 15_000 }) as const

test('windows that come together share one opening, under a name of its own', () => {
  const { streams, stream, windows } = openShared(3)
  assert.equal(streams.length, 1)
  assert.deepEqual([stream.window, stream.channels, stream.cursor], ['s1', 'main,wind', 'life:0'])
  for (const [index, { heard }] of windows.entries())
    assert.deepEqual(heard.frames, [`welcome w${index + 1} life:0 recovered`])
})

test('each message goes to the members whose channels have it, in order', () => {
  const { stream, first, second } = openShared(2)
  for (const seq of [1, 2, 3]) stream.message(seq)
  stream.message(4, 'elsewhere')
  assert.deepEqual(first.heard.messages, [1, 2, 3])
  assert.deepEqual(second.heard.messages, [1, 2, 3])
})

test('who joins later gets what the tail has after its cursor, then what comes', () => {
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

test('a cursor from before the tail is one question to the server, under the stream’s name', async () => {
  const opened = openPlace()
  const first = opened.window()
  first.join({ cursor: 'life:7' })
  const stream = opened.newest()
  stream.welcome()
  const late = opened.window()
  late.join({ window: 'w2', cursor: 'life:3' })
  const { cursor, channels, window, isFirst, answer } = opened.asked()
  assert.deepEqual([cursor, channels, window, isFirst], ['life:3', 'main,wind', 's1', true])
  // Comes while the question is under way, and again with its answer.
  stream.message(8)
  await answer({ cursor: 'life:8', frames: [welcomeAt('life:8', true), ...frames([4, 5, 8])] })
  stream.message(9)
  assert.deepEqual(late.heard.frames, ['welcome w2 life:8 recovered', '4', '5', '8', '9'])
  assert.deepEqual(first.heard.messages, [8, 9])
})

test('what came while the question was under way follows from the tail', async () => {
  const opened = openShared(1, { cursor: 'life:7' })
  const late = opened.window()
  late.join({ window: 'w2', cursor: null })
  opened.stream.message(8)
  opened.stream.message(9)
  await opened.asked().answer({ cursor: 'life:8', frames: [welcomeAt('life:8', false), ...frames([5, 8])] })
  assert.deepEqual(late.heard.frames, ['welcome w2 life:8 anew', '5', '8', '9'])
})

test('an answer that was cut is asked on from where it ended', async () => {
  const opened = openShared(1, { cursor: 'life:7' })
  const late = opened.window()
  late.join({ window: 'w2', cursor: 'life:1' })
  await opened.asked().answer({ cursor: 'life:3', frames: [welcomeAt('life:7', true), ...frames([2, 3])] })
  assert.deepEqual([opened.asked().cursor, opened.asked().isFirst], ['life:3', false])
  await opened.asked().answer({ cursor: 'life:7', frames: frames([5, 7]) })
  opened.stream.message(8)
  assert.deepEqual(late.heard.messages, [2, 3, 5, 7, 8])
})

test('a question that brings nothing on closes its window, and asks no more', async () => {
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

test('a question that fails closes its window alone', async () => {
  const opened = openShared(1, { cursor: 'life:7' })
  const late = opened.window()
  late.join({ window: 'w2', cursor: 'life:1' })
  await opened.asked().fail(new Error('no network'))
  assert.equal(late.heard.closings.length, 1)
  assert.equal(opened.first.heard.closings.length, 0)
})

test('a window that goes takes its question back', () => {
  const opened = openShared(1, { cursor: 'life:7' })
  const late = opened.window()
  late.join({ window: 'w2', cursor: 'life:1' })
  late.vanish()
  assert.equal(opened.asked().signal.aborted, true)
})

test('a stream that begins with a snapshot: each member asks for what it lacks', async () => {
  const opened = openPlace()
  const first = opened.window()
  first.join({ cursor: 'old:5' })
  const stream = opened.newest()
  stream.welcome({ cursor: 'life:9', recovered: false })
  for (const seq of [8, 9]) stream.message(seq)
  await opened.asked().answer({ cursor: 'life:9', frames: [welcomeAt('life:9', false), ...frames([8, 9])] })
  stream.message(10)
  assert.deepEqual(first.heard.frames, ['welcome w1 life:9 anew', '8', '9', '10'])
})

test('a channel that the stream lacks opens it anew, from its cursor, while the old one goes on', async () => {
  const { streams, stream, first, window, newest, questions, asked } = openShared(1)
  stream.message(1)
  const late = window()
  late.join({ window: 'w2', channels: 'other,wind', cursor: 'life:0' })
  const next = newest()
  assert.deepEqual([streams.length, next.window, next.opening], [2, 's1', 2])
  assert.deepEqual([next.channels, next.cursor], ['main,wind,other', 'life:1'])
  stream.message(2)
  assert.deepEqual([stream.isClosed(), first.heard.messages], [false, [1, 2]])
  next.welcome({ cursor: 'life:4' })
  assert.equal(stream.isClosed(), true)
  // The new stream goes on from where it was opened: what the old one brought meanwhile comes twice.
  next.message(2)
  next.message(3, 'other')
  next.message(4)
  assert.equal(questions.length, 1)
  await asked().answer({ cursor: 'life:4', frames: [welcomeAt('life:4', true), ...frames([1, 3], 'other')] })
  next.message(5, 'other')
  assert.deepEqual(first.heard.messages, [1, 2, 4])
  assert.deepEqual(late.heard.messages, [1, 3, 5])
})

test('who is here does not notice that the server refuses a larger stream; the newcomer gets one of its own', () => {
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
  assert.deepEqual([streams.length, newest().window, newest().channels], [3, 's2', 'other'])
})

test('the server ends the old stream for the new one: drafts wait and go over the new one', async () => {
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

test('drafts go up in order, and each answer to whom it belongs', async () => {
  const { stream, first, second } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  second.send('w2-1')
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1'])
  await stream.store('w1-1', 1)
  await stream.fail('w2-1', new RefusedError('too-large', 'Too large.'))
  await stream.store('w1-2', 2)
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1', 'w1-2'])
  assert.deepEqual(first.heard.answers, ['w1-1 as 1', 'w1-2 as 2'])
  assert.deepEqual(second.heard.answers, ['w2-1 refused in turn 0: Too large.'])
})

test('over a transport that sends many at once they do not wait for each other', async () => {
  const { stream, first } = openShared(1, { mode: 'websocket/1.1' })
  for (const id of ['w1-1', 'w1-2', 'w1-3']) first.send(id)
  assert.deepEqual(stream.sent, ['w1-1', 'w1-2', 'w1-3'])
})

test('busy: what was said behind waits too, and nothing overtakes what is to be said again', async () => {
  const { stream, first, second } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  await stream.fail('w1-1', new BusyError('Wait.', 500))
  // On its way before the window knew.
  first.send('w1-3')
  const behind = ['w1-1', 'w1-2', 'w1-3'].map((id) => `${id} busy in turn 0: Wait.`)
  assert.deepEqual(first.heard.answers, behind)
  assert.deepEqual(stream.sent, ['w1-1'])
  second.send('w2-1')
  first.send('w1-1', 1)
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1', 'w1-1'])
})

test('a draft that failed nobody knows how: its window is told, the others keep their stream', async () => {
  const { stream, first, second } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  await stream.fail('w1-1', new Error('500'))
  assert.deepEqual(first.heard.answers, ['w1-1 unknown in turn 0: 500', 'w1-2 unknown in turn 0: 500'])
  first.leave()
  stream.message(1)
  assert.deepEqual([second.heard.messages, second.heard.closings], [[1], []])
})

test('of a window that left nothing more goes up', async () => {
  const { stream, first, second } = openShared(2)
  for (const id of ['w1-1', 'w1-2']) first.send(id)
  first.leave()
  await stream.store('w1-1', 1)
  second.send('w2-1')
  assert.deepEqual(stream.sent, ['w1-1', 'w2-1'])
})

test('the server is told how many windows there are on each page, once for those that come together', () => {
  const { stream, window, time, second } = openShared(2)
  assert.deepEqual(stream.said, [{ main: 2 }])
  const others = [window(), window()]
  for (const other of others) other.join({ channels: 'main,wind' })
  time.advance(20)
  second.vanish()
  time.advance(20)
  assert.deepEqual(stream.said, [{ main: 2 }, { main: 4 }, { main: 3 }])
})

test('what was said of the windows is said again with the next heartbeat, and then no more', () => {
  const { stream, time } = openShared(1)
  time.advance(20)
  stream.said.length = 0
  for (let beats = 0; beats < 2; beats += 1) stream.frame({ type: 'heartbeat', newest: 0 })
  assert.deepEqual(stream.said, [{ main: 1 }, undefined])
})

test('presence tells each member of its own page', () => {
  const opened = openPlace()
  const [here, there] = [opened.window(), opened.window()]
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

test('presence that knows nothing of the windows is not passed on: the server is told again', () => {
  const { stream, time, first } = openShared(1)
  time.advance(20)
  stream.said.length = 0
  stream.frame({ type: 'presence', windows: 1, browserHttp1Streams: 1 })
  time.advance(20)
  assert.deepEqual([first.heard.windows, stream.said], [[], [{ main: 1 }]])
})

test('a heartbeat never claims more than its member was told', () => {
  const opened = openShared(1)
  const other = opened.window()
  other.join({ window: 'w2', channels: 'wind' })
  opened.stream.message(1, 'wind')
  opened.stream.message(2)
  opened.stream.frame({ type: 'heartbeat', newest: 2 })
  assert.equal(opened.first.heard.frames.at(-1), 'heartbeat 2')
  assert.equal(other.heard.frames.at(-1), 'heartbeat 1')
  assert.equal(opened.streams.length, 1)
})

test('a heartbeat that is ahead: the stream has lost something, and is opened anew from its cursor', () => {
  const { stream, first, newest, streams } = openShared(1)
  stream.message(1)
  stream.frame({ type: 'heartbeat', newest: 3 })
  assert.deepEqual([streams.length, newest().cursor], [2, 'life:1'])
  newest().welcome()
  for (const seq of [2, 3]) newest().message(seq)
  assert.deepEqual([first.heard.messages, first.heard.closings], [[1, 2, 3], []])
})

test('the stream ends while drafts are under way: all are told why, come back, and share one again', async () => {
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
  assert.deepEqual([streams.length, newest().window, newest().opening], [2, 's1', 2])
  newest().welcome()
  newest().message(2)
  first.send('w1-1')
  assert.deepEqual(newest().sent, ['w1-1'])
  for (const { heard } of [first, second]) assert.deepEqual(heard.messages, [1, 2])
})

test('the log has another life: all begin anew, and the stream is ready for them', async () => {
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

test('a poll that has to begin anew in the middle sends its windows to begin anew', () => {
  const { stream, first, streams } = openShared(1, { mode: 'polling/1.1' })
  stream.welcome({ cursor: 'new:4', recovered: false })
  assert.equal(first.heard.closings.length, 1)
  assert.equal(stream.isClosed(), true)
  first.join({ cursor: 'life:0' })
  assert.equal(streams.length, 2)
})

test('silence: the stream ends for all', () => {
  const { first, time, stream } = openShared(1)
  time.advance(40_000)
  assert.deepEqual(
    first.heard.closings.map(({ code }) => code),
    ['silent'],
  )
  assert.equal(stream.isClosed(), true)
})

test('who joins a stream of which nothing was heard for a heartbeat waits for a new one', () => {
  const { stream, time, window, newest, streams } = openShared(1)
  time.advance(16_000)
  const woken = window()
  woken.join({ window: 'w2' })
  assert.deepEqual([streams.length, woken.heard.frames], [2, []])
  newest().welcome()
  assert.deepEqual(woken.heard.frames, ['welcome w2 life:0 recovered'])
  assert.equal(stream.isClosed(), true)
})

test('the last one to leave closes the stream', () => {
  const { stream, first, second, time } = openShared(2)
  first.leave()
  assert.equal(stream.isClosed(), false)
  second.vanish()
  assert.equal(stream.isClosed(), true)
  assert.equal(time.pending(), 0)
})

test('modes stand side by side, each with its stream', () => {
  const opened = openPlace()
  const [one, other] = [opened.window(), opened.window()]
  one.join({ window: 'w1', mode: 'sse/1.1' })
  other.join({ window: 'w2', mode: 'websocket/1.1' })
  const [sse, socket] = opened.streams as [RealStream, RealStream]
  assert.deepEqual([sse.mode, socket.mode, sse.window === socket.window], ['sse/1.1', 'websocket/1.1', false])
  for (const stream of opened.streams) stream.welcome()
  sse.end()
  socket.message(1)
  assert.deepEqual([one.heard.closings.length, other.heard.closings.length], [1, 0])
  assert.deepEqual(other.heard.messages, [1])
})

test('a window that goes to another mode is a member there, and no more here', () => {
  const { stream, first, second, newest } = openShared(2)
  first.leave()
  first.join({ mode: 'websocket/2', cursor: 'life:0' })
  newest().welcome()
  stream.message(1)
  newest().message(1)
  assert.deepEqual([first.heard.messages, second.heard.messages], [[1], [1]])
})

test('twenty windows, a thousand messages, comings and goings: each sees each once, in order', async () => {
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
