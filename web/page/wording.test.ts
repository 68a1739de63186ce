// Every sentence of header, menus and notices, in every state.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OutboxState } from '../../client/drafts.ts'
import { modeNamed } from '../../protocol/modes.ts'
import { firstView, type ShownLink } from '../store.ts'
import { formatInstead } from './late-wording.ts'
import {
  fallReason,
  formatFall,
  formatLeft,
  formatLength,
  formatMode,
  formatOutage,
  formatOutbox,
  formatRefusedUpdate,
  formatState,
  formatUsed,
  http1Warning,
  linkAnnouncement,
  type PageState,
} from './wording.ts'

const { link, outbox: empty } = firstView('sse/2')
const open: ShownLink = { ...link, state: 'open', spokenHttp: '2' }
const waiting: ShownLink = {
  ...open,
  state: 'waiting',
  spokenHttp: null,
  reason: 'No answer.',
  retryAt: 5000,
}
const holding = (unstored: number, change: Partial<OutboxState> = {}) => ({
  ...empty,
  unstored,
  persisted: unstored,
  ...change,
})

test("uses the table's label, or the name if the table has none", () => {
  assert.equal(formatMode('websocket/1.1'), 'WebSocket')
  assert.equal(formatMode('pigeon/1'), 'pigeon/1')
})

test('names the HTTP version in use, and the requested one', () => {
  assert.equal(formatUsed(open), 'SSE + XHR, HTTP/2')
  assert.equal(formatInstead(open), null)
  assert.equal(formatUsed({ ...open, spokenHttp: '1.1' }), 'SSE + XHR, HTTP/1.1')
  assert.equal(formatInstead({ ...open, spokenHttp: '1.1' }), 'instead of SSE + XHR, HTTP/2')
  const socket = { ...open, mode: 'websocket/1.1', preferred: 'websocket/1.1' }
  assert.equal(formatUsed({ ...socket, spokenHttp: '2' }), 'WebSocket, HTTP/2')
})

test('behind a proxy, names what the browser uses, and claims no HTTP version that it cannot know', () => {
  const http3 = { ...open, mode: 'sse/3', spokenHttp: '3' }
  assert.equal(formatUsed(http3), 'SSE + XHR, HTTP/3')
  assert.equal(formatInstead(http3), null)
  assert.equal(linkAnnouncement(http3), 'Connected over SSE + XHR, HTTP/3.')
  const http1 = { ...http3, preferred: 'sse/1.1' }
  assert.equal(formatInstead(http1), 'instead of SSE + XHR, HTTP/1.1')
  assert.match(
    formatFall({ ...http3, preferred: 'websocket/2', fallbackReason: 'blocked' }) ?? '',
    /; using SSE \+ XHR, HTTP\/3 instead\.$/,
  )
  assert.equal(http1Warning(modeNamed('sse/1.1'), 6, 'none', '3'), null)
  const unknown = { ...open, mode: 'websocket/2', preferred: 'websocket/2', spokenHttp: null }
  assert.equal(formatUsed(unknown), 'WebSocket')
  assert.equal(formatInstead(unknown), null)
})

test('names the mode in use, the requested one, and why they differ', () => {
  const fallen: ShownLink = { ...open, preferred: 'websocket/1.1', fallbackReason: 'blocked' }
  assert.equal(formatUsed(fallen), 'SSE + XHR, HTTP/2')
  assert.equal(formatInstead(fallen), 'instead of WebSocket')
  assert.equal(fallReason(fallen), 'WebSocket does not get through here')
  assert.equal(formatFall(fallen), 'WebSocket does not get through here; using SSE + XHR, HTTP/2 instead.')
  assert.match(
    formatFall({ ...fallen, fallbackReason: 'unsupported' }) ?? '',
    /^This browser does not support WebSocket; /,
  )
  assert.match(formatFall({ ...fallen, fallbackReason: 'flapping' }) ?? '', /^WebSocket keeps failing here; /)
  assert.equal(formatFall({ ...fallen, state: 'waiting' }), null)
  assert.equal(formatFall(open), null)
  for (const state of ['opening', 'waiting'] as const) {
    assert.equal(formatInstead({ ...fallen, state }), null)
    assert.equal(formatUsed({ ...fallen, state }), 'SSE + XHR, HTTP/2')
    assert.equal(formatUsed({ ...fallen, state, fallbackReason: null }), 'WebSocket')
  }
})

test('announces a lost connection with its reason and no countdown', () => {
  assert.equal(linkAnnouncement(waiting), 'The connection is lost. No answer.')
  assert.equal(linkAnnouncement({ ...waiting, reason: null }), 'The connection is lost.')
  assert.equal(linkAnnouncement({ ...open, state: 'opening' }, 'Down.'), 'The connection is lost. Down.')
  assert.match(linkAnnouncement(open), /^Connected over SSE/)
})

const overHttp1 = modeNamed('sse/1.1')

test('does not warn about HTTP/1.1 while the next window has room', () => {
  assert.equal(http1Warning(overHttp1, 0, 'none'), null)
  assert.equal(http1Warning(overHttp1, 4, 'none'), null)
})

test('warns in full at the limit', () => {
  assert.equal(
    http1Warning(overHttp1, 5, 'none')?.sentence,
    '5 windows of this browser are open over HTTP/1.1, and a browser opens at most 6 connections to a server. ' +
      'The last one is kept for sending edits, so the next window uses HTTP/2.',
  )
})

test('past the limit, says that no connection is left', () => {
  assert.match(
    http1Warning(overHttp1, 6, 'none')?.sentence ?? '',
    /^6 windows .* None is left for sending edits\.$/,
  )
  assert.match(http1Warning(overHttp1, 12, 'none')?.sentence ?? '', /^12 windows /)
})

test('if windows share a connection, warns only when the browser has none left', () => {
  assert.equal(http1Warning(overHttp1, 5, 'auto'), null)
  assert.equal(http1Warning(overHttp1, 5, 'browser'), null)
  assert.equal(
    http1Warning(overHttp1, 6, 'auto')?.sentence,
    '6 connections of this browser are held open over HTTP/1.1, and a browser opens at most 6 connections to a server. ' +
      'None is left for sending edits.',
  )
})

test('offers the mode of the same transport that has no limit', () => {
  assert.equal(http1Warning(overHttp1, 5, 'none')?.wayOut?.name, 'sse/2')
})

test('modes without a limit, and unknown ones, never warn', () => {
  assert.equal(http1Warning(modeNamed('sse/2'), 9, 'none'), null)
  assert.equal(http1Warning(modeNamed('websocket/1.1'), 9, 'none'), null)
  assert.equal(http1Warning(undefined, 9, 'none'), null)
})

const calm: PageState = {
  link: open,
  outage: null,
  outbox: empty,
  isUnshared: false,
  isDeleted: false,
  mayWrite: true,
}
const away: PageState = { ...calm, link: waiting, outage: 'The server does not answer.' }
const wordOf = (change: Partial<PageState>, page = calm) => formatState({ ...page, ...change }).word

test('says “Saved” only if the server has stored everything', () => {
  assert.equal(wordOf({}), 'Saved')
  assert.equal(wordOf({ outbox: holding(3) }), 'Saving…')
  assert.equal(wordOf({ isUnshared: true }), 'Not saved')
  assert.equal(wordOf({ isUnshared: true, outbox: holding(1) }), 'Not saved')
  assert.equal(wordOf({}, away), 'Offline')
  assert.equal(wordOf({ isDeleted: true }), 'Deleted')
})

test('without a connection, says whether all that waits for it is kept on this device', () => {
  assert.equal(wordOf({ outbox: holding(17) }, away), 'Offline: kept on this device')
  assert.equal(wordOf({ outbox: holding(17, { persisted: 16 }) }, away), 'Offline: being kept')
  assert.equal(wordOf({ outbox: holding(2), isDeleted: true }, away), 'Deleted: kept on this device')
  assert.equal(wordOf({ outbox: holding(3, { canPersist: false }) }, away), 'In this window only')
  assert.equal(wordOf({ outbox: holding(3, { canPersist: false }) }), 'Saving…')
  assert.equal(wordOf({ outbox: holding(9, { isFull: true }) }), 'In this window only')
})

test('says that it connects, and that a reader may not write', () => {
  const opening = { ...open, state: 'opening' as const }
  assert.equal(wordOf({ link: opening }), 'Connecting…')
  assert.equal(wordOf({ link: opening }, away), 'Offline')
  assert.equal(wordOf({ mayWrite: false }), 'Read only')
})

test('says that it is behind the server, by how much, from three seconds on', () => {
  assert.equal(wordOf({ link: { ...open, behindMs: 2999 } }), 'Saved')
  const { word, shape, sentence } = formatState({ ...calm, link: { ...open, behindMs: 3400 } })
  assert.deepEqual([word, shape], ['Behind', 'waiting'])
  assert.equal(sentence, 'This window shows what the server had 3 seconds ago.')
})

test('tells why it is offline', () => {
  assert.equal(formatState(away).sentence, 'The server does not answer.')
})

test('says that the server is away, what is shown meanwhile, and whether the window may be reloaded', () => {
  const at = new Date(2026, 10, 22, 10, 32).getTime()
  const outage = 'The server does not answer.'
  const words = (change: object, now = at + 60_000) =>
    formatOutage({ outage, keptAt: null, canReopen: true, mayWrite: true, ...change }, now)
  assert.equal(
    words({ keptAt: at }),
    'The server does not answer. This is the document as this browser had it at 10:32. You can keep writing: your edits will be sent once the connection is back.',
  )
  assert.match(words({ keptAt: at }, at + 86_400_000), / had it at 10:32 on 22 November\. /)
  assert.equal(words({ mayWrite: false }), outage)
  assert.match(words({ canReopen: false }), / Until then, do not reload this window: /)
  assert.doesNotMatch(words({ canReopen: null }), /reload/)
})

test('says what an earlier version of the page left, and what restoring it does', () => {
  const at = new Date(2026, 10, 22, 10, 32).getTime()
  assert.equal(
    formatLeft(at, at + 60_000),
    'An edit of 10:32 from an earlier version of this page was not stored. Restoring it replaces the text of this document, which Undo brings back.',
  )
  assert.match(formatLeft(at, at + 86_400_000), /^An edit of 10:32 on 22 November from /)
})

test('no outbox notice while all is well', () => {
  assert.equal(formatOutbox(holding(3)), null)
  assert.equal(formatOutbox(holding(0, { canPersist: false })), null)
})

test('says which edits would be lost', () => {
  assert.match(
    formatOutbox(holding(3, { canPersist: false })) ?? '',
    /cannot keep .*, so keep the window open/,
  )
  assert.match(formatOutbox(holding(3, { isFull: true })) ?? '', /in this window only/)
})

test('a refused update has its reason and a way out', () => {
  assert.equal(
    formatRefusedUpdate('The document is full.'),
    'The document is full. What you type from now on is in this window only: copy what you need, then reload the page.',
  )
})

test('formats the length of a text', () => {
  assert.equal(formatLength({ words: 0, characters: 0 }), '0 words, 0 characters')
  assert.equal(formatLength({ words: 1, characters: 1 }), '1 word, 1 character')
  assert.equal(formatLength({ words: 1234, characters: 7890 }), '1,234 words, 7,890 characters')
})
