import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalOf } from '../hub/testing.ts'
import { type Grant, openGrant } from '../security/grant.ts'
import { type Asking, enter } from './enter.ts'

function ask(query: string, change: Partial<Asking> = {}) {
  return enter({
    query: new URLSearchParams(query),
    grant: openGrant,
    transport: 'sse',
    http: '2',
    channelsPerWindow: 2,
    ...change,
  })
}

test('tells who wants in, in which mode, and where it was', () => {
  const grant: Grant = { ...openGrant, expiresAt: 5000 }
  const { visitor, cursor } = ask('window=w1&channels=main,wind&browser=b1&opening=3&cursor=life1:7', {
    grant,
  })
  const { id, browser, channels, opening, expiresAt, mode } = visitor
  assert.deepEqual([id, browser, opening, expiresAt, mode.name], ['w1', 'b1', 3, 5000, 'sse/2'])
  assert.deepEqual([channels, cursor], [new Set(['main', 'wind']), { epoch: 'life1', seq: 7 }])
})

test('a browser that came back by itself says better where it was than its address does', () => {
  const query = 'window=w1&channels=main&cursor=life1:7'
  assert.equal(ask(query, { cursorText: 'life1:9' }).cursor?.seq, 9)
  assert.equal(ask(query, { cursorText: '' }).cursor?.seq, 7)
  assert.equal(ask('window=w1&channels=main&cursor=nonsense').cursor, null)
  assert.equal(ask('window=w1&channels=main').cursor, null)
})

test('the mode is named by what is spoken, also where the table has none of that name', () => {
  const { mode } = ask('window=w1&channels=main', { transport: 'streaming', http: '1.1' }).visitor
  assert.deepEqual([mode.name, mode.transport, mode.http], ['streaming/1.1', 'streaming', '1.1'])
})

test('who may not read one of the channels stays outside, though the wind blows for everyone', async () => {
  const grant: Grant = { channels: new Set(['main']), may: 'read', expiresAt: null }
  assert.ok(ask('window=w1&channels=main,wind', { grant }))
  const { status, code, message } = await refusalOf(() => ask('window=w1&channels=main,other', { grant }))
  assert.deepEqual([status, code], [403, 'not-invited-there'])
  assert.match(message, /"other"/)
})

test('a query that does not fit stays outside, too many channels among them', async () => {
  for (const query of ['', 'window=w1', 'window=w1&channels=a,b,c']) {
    const { status, code } = await refusalOf(() => ask(query))
    assert.deepEqual([status, code], [400, 'bad-query'])
  }
})
