// The windows of one browser at one stream: all are told all, in order, once, whoever comes and goes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf, openPlace, openShared, settled } from './testing.ts'

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

test('the welcome says where the log ends, also while the stream itself is catching up', () => {
  const { window, newest } = openPlace()
  const [first, late] = [window(), window()]
  first.join({ cursor: 'life:2' })
  newest().welcome({ cursor: 'life:5' })
  newest().message(3)
  late.join({ window: 'w2', cursor: 'life:2' })
  newest().message(4)
  assert.deepEqual(first.heard.frames, ['welcome w1 life:5 recovered', '3', '4'])
  assert.deepEqual(late.heard.frames, ['welcome w2 life:5 recovered', '3', '4'])
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
