// The link's words in every state.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstView, type LinkView } from '../store/store.ts'
import { fallWords, linkAnnouncement, linkWords, modeWords, spokenWords } from './link-words.ts'

const open: LinkView = { ...firstView('sse/2').link, state: 'open', spokenHttp: '2' }
const waiting: LinkView = { ...open, state: 'waiting', spokenHttp: null, reason: 'No answer.', retryAt: 5000 }

test('names each state', () => {
  assert.equal(linkWords(open, 0), 'Connected')
  assert.equal(linkWords({ ...open, state: 'opening' }, 0), 'Connecting')
  assert.equal(linkWords({ ...waiting, retryAt: null }, 0), 'Disconnected')
})

test('counts down in whole seconds and never shows zero or less', () => {
  assert.equal(linkWords(waiting, 2000), 'Reconnecting in 3 s')
  assert.equal(linkWords(waiting, 2001), 'Reconnecting in 3 s')
  assert.equal(linkWords(waiting, 4999), 'Reconnecting in 1 s')
  assert.equal(linkWords(waiting, 5000), 'Reconnecting')
  assert.equal(linkWords(waiting, 9000), 'Reconnecting')
})

test('takes the label from the table, and the name when the table has none', () => {
  assert.equal(modeWords('websocket/1.1'), 'WebSocket')
  assert.equal(modeWords('pigeon/1'), 'pigeon/1')
})

test('says so when another HTTP version is spoken than asked for', () => {
  assert.equal(spokenWords(open), null)
  assert.equal(spokenWords({ ...open, spokenHttp: null }), null)
  assert.equal(spokenWords({ ...open, spokenHttp: '1.1' }), 'in fact over HTTP/1.1')
})

test('says so when another mode is in use than asked for, and why', () => {
  const fallen: LinkView = { ...open, wished: 'websocket/1.1', fall: 'blocked' }
  assert.equal(spokenWords(fallen), 'in fact SSE + XHR, HTTP/2')
  assert.equal(
    fallWords(fallen),
    'WebSocket does not get through here; connected by SSE + XHR, HTTP/2 meanwhile.',
  )
  assert.match(fallWords({ ...fallen, fall: 'unsupported' }) ?? '', /^This browser cannot do WebSocket; /)
  assert.match(fallWords({ ...fallen, fall: 'flapping' }) ?? '', /^WebSocket ends again and again here; /)
  assert.equal(fallWords({ ...fallen, state: 'waiting' }), null)
  assert.equal(fallWords(open), null)
})

test('announces a lost connection with its reason and no countdown', () => {
  assert.equal(linkAnnouncement(waiting), 'The connection is lost. No answer.')
  assert.equal(linkAnnouncement({ ...waiting, reason: null }), 'The connection is lost.')
  assert.match(linkAnnouncement(open), /^Connected by SSE/)
})
