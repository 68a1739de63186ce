// Reports of messages that are too large, and of readers that are too slow.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { converged } from '../yjs-testing.ts'
import { type Chat, startCrosswind, startSocketIo } from './chats.ts'
import { compare, originOf, proxyBefore } from './comparison.ts'
import {
  type Documents,
  edit,
  startCrosswind as startDocuments,
  startHocuspocus,
  startYWebsocket,
  textOf,
} from './shared-documents.ts'

/** Above the default limits of both, in bytes. */
const tooLarge = 1_200_000

/** The answer to a text that is too large, and what a witness hears of the next one. */
async function saidTooMuch(_t: TestContext, chat: Chat) {
  const member = chat.join()
  const witness = chat.join()
  await Promise.all([member.is(true), witness.is(true)])
  const answer = await Promise.race([
    member.say('x'.repeat(tooLarge)).then(
      () => 'stored',
      ({ code, message }) => code ?? message,
    ),
    member.is(false).then(() => 'connection lost'),
  ])
  await member.is(true)
  await member.say('small')
  await witness.settled()
  return [answer, witness.heard]
}

// https://github.com/socketio/engine.io/issues/706
test('a message that is too large is refused with the reason, and costs nobody the connection', (t) =>
  compare(t, {
    ours: startCrosswind,
    peers: [startSocketIo],
    steps: saidTooMuch,
    wanted: ['too-large', ['small']],
  }))

/** The answer to a change that is too large, and what the others have once it is undone. */
async function wroteTooMuch(t: TestContext, documents: Documents) {
  const editor = edit(t, documents)
  const witness = edit(t, documents)
  await Promise.all([editor.isSynced(true), witness.isSynced(true)])
  textOf(editor).insert(0, 'x'.repeat(tooLarge))
  const answer = await Promise.race([
    editor.refused(),
    editor.loses(2).then(() => 'connection lost again and again'),
  ])
  textOf(editor).delete(0, tooLarge)
  textOf(editor).insert(0, 'less')
  await converged(editor.doc, witness.doc)
  return [answer, String(textOf(witness))]
}

const maxBytes = 1_000_000

// https://github.com/ueberdosis/hocuspocus/pull/586
test('a change that is too large is refused with the reason, and the editor stays connected', (t) =>
  compare(t, {
    ours: startDocuments,
    peers: [(t) => startHocuspocus(t, { maxBytes }), (t) => startYWebsocket(t, { maxBytes })],
    steps: wroteTooMuch,
    wanted: ['too-large', 'less'],
  }))

const slowTexts = Array.from({ length: 200 }, (_nothing, number) => `${number} `.padEnd(100_000, 'x'))
/** The default of `limits.queueBytesPerWindow`, and the message that exceeds it. */
const maxWaitingBytes = 4_194_304 + 101_000

/** Whether what waits for a reader that stands still is bounded, and whether the reader has all of it in the end. */
async function readSlowly(t: TestContext, chat: Chat) {
  const proxy = await proxyBefore(t, Number(new URL(chat.origin).port))
  const slow = chat.join(originOf(proxy.port))
  const witness = chat.join()
  await Promise.all([slow.is(true), witness.is(true)])
  proxy.hold('answers')
  let mostWaiting = 0
  for (const text of slowTexts) {
    await chat.publish(text)
    await witness.hears(text)
    mostWaiting = Math.max(mostWaiting, chat.waitingBytes())
  }
  proxy.release()
  await slow.settled()
  t.diagnostic(`${chat.label}: ${mostWaiting} bytes waited`)
  assert.deepEqual(witness.heard, slowTexts)
  return {
    isBounded: mostWaiting <= maxWaitingBytes,
    missed: slowTexts.filter((text) => !slow.heard.includes(text)).length,
  }
}

// https://github.com/socketio/socket.io/issues/4435
test('a reader that stands still costs the server a bounded queue, and misses nothing', (t) =>
  compare(t, {
    ours: startCrosswind,
    peers: [startSocketIo],
    steps: readSlowly,
    wanted: { isBounded: true, missed: 0 },
  }))
