// Requests to join, and requests beside a stream.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TransportName } from '../../protocol/modes.ts'
import { Delivery } from '../hub/delivery.ts'
import { editOf, refusalOf } from '../hub/hub-testing.ts'
import { KeptJson } from '../log/kept-json.ts'
import { fingerprintFor, openGrant } from '../security/grants.ts'
import { grantWith } from '../security/testing.ts'
import { sseFraming } from './sse.ts'
import { admit, admitOwner, httpVersionOf, jsonFraming, type Opening } from './transport.ts'
import { socketFraming } from './websocket.ts'

interface Change extends Partial<Opening> {
  readonly transport?: TransportName
  readonly cursorText?: string
}

function ask(query: string, { transport = 'sse', cursorText, ...change }: Change = {}) {
  const opening: Opening = {
    query: new URLSearchParams(query),
    grant: openGrant,
    http: '2',
    connection: {},
    ...change,
  }
  return admit(opening, transport, { channelsPerWindow: 2 }, cursorText)
}

test('reads the client, its mode and its cursor from a request', () => {
  const grant = grantWith({ expiresAt: 5000 })
  const { identity, cursor, fingerprint } = ask('window=w1&channels=main,wind&opening=3&cursor=life1:7', {
    grant,
  })
  const { id, owner, channels, opening, expiresAt, mode } = identity
  assert.deepEqual([id, owner, fingerprint, opening], ['w1', null, null, 3])
  assert.deepEqual([expiresAt, mode.name], [5000, 'sse/2'])
  assert.deepEqual([channels, cursor], [new Set(['main', 'wind']), { epoch: 'life1', seq: 7 }])
})

test('Last-Event-ID overrides the cursor in the query', () => {
  const query = 'window=w1&channels=main&cursor=life1:7'
  assert.equal(ask(query, { cursorText: 'life1:9' }).cursor?.seq, 9)
  assert.equal(ask(query, { cursorText: '' }).cursor?.seq, 7)
  assert.equal(ask('window=w1&channels=main&cursor=nonsense').cursor, null)
  assert.equal(ask('window=w1&channels=main').cursor, null)
})

test('the mode is named after transport and HTTP version, even if the table lacks it', () => {
  const { mode } = ask('window=w1&channels=main', { transport: 'streaming', http: '1.1' }).identity
  assert.deepEqual([mode.name, mode.transport, mode.http], ['streaming/1.1', 'streaming', '1.1'])
})

test('refuses channels outside the invitation', async () => {
  const grant = grantWith({ read: ['main'], write: [] })
  assert.ok(ask('window=w1&channels=main', { grant }))
  const { status, code, message } = await refusalOf(() => ask('window=w1&channels=main,other', { grant }))
  assert.deepEqual([status, code], [403, 'not-invited-there'])
  assert.match(message, /"other"/)
})

test('refuses a malformed query, and too many channels', async () => {
  for (const query of ['', 'window=w1', 'window=w1&channels=a,b,c']) {
    const { status, code } = await refusalOf(() => ask(query))
    assert.deepEqual([status, code], [400, 'bad-query'])
  }
})

const key = 'a-key_of-22-characters'
const mine = fingerprintFor(new URLSearchParams({ key }))
const another = fingerprintFor(new URLSearchParams({ key: 'b'.repeat(64) }))

test('a proven name, with any suffix, needs its key; a free name may have any key or none', async () => {
  for (const window of [mine, `${mine}.w1`]) {
    const { identity, fingerprint } = ask(`window=${window}&channels=main&key=${key}`)
    assert.deepEqual([identity.id, identity.owner, fingerprint], [window, mine, mine])
  }
  const { identity, fingerprint } = ask(`window=w1&channels=main&key=${key}`)
  assert.deepEqual([identity.id, identity.owner, fingerprint], ['w1', null, mine])
  for (const query of [`window=${another}.w1&key=${key}`, `window=${another}`, `window=${mine}.w1`]) {
    const { status, code } = await refusalOf(() => ask(`${query}&channels=main`))
    assert.deepEqual([status, code], [403, 'not-your-name'])
  }
})

test('an invalid key is refused, and not repeated in the error', async () => {
  for (const bad of ['', 'short', 'k'.repeat(21), 'k'.repeat(65), 'k'.repeat(14_000), `${'k'.repeat(22)}!`]) {
    const { status, code, message } = await refusalOf(() => ask(`window=w1&channels=main&key=${bad}`))
    assert.deepEqual([status, code], [400, 'bad-query'])
    assert.doesNotMatch(message, /kkk/)
  }
})

test('a request beside the stream needs the name’s key', async () => {
  const speak = (query: string) => admitOwner(new URLSearchParams(query))
  assert.deepEqual(speak(`window=${mine}.w1&key=${key}&opening=3`), {
    window: `${mine}.w1`,
    opening: 3,
    fingerprint: mine,
  })
  for (const query of [`window=${another}.w1&key=${key}`, `window=${mine}.w1`, `window=w1&key=${key}`]) {
    const { status, code } = await refusalOf(() => speak(query))
    assert.deepEqual([status, code], [403, 'not-your-name'])
  }
  assert.equal((await refusalOf(() => speak(`key=${key}`))).code, 'bad-query')
})

test('a frame is one JSON text that parses back to it', () => {
  for (const html of ['', '"\\', '\n\r\u2028\u2029\0', '💨', '\ud83d', '\uFEFFx', '</script>']) {
    const delivery = editOf(3, html)
    assert.deepEqual(JSON.parse(String(delivery.bytes(jsonFraming))), delivery.frame)
  }
})

test('a body that is kept as bytes is sent in every framing without being parsed', (t) => {
  const body = new KeptJson('{"data":[{}]}', null)
  const envelope = { id: 'w1-1', channel: 'main', kind: 'json', from: 'w1', at: 1 } as const
  const message = { ...envelope, body, seq: 7, acceptedAt: 1 }
  const parse = t.mock.method(JSON, 'parse')
  const delivery = new Delivery({ type: 'message', message }, 'life1:7')
  for (const framing of [sseFraming, socketFraming, jsonFraming])
    assert.match(String(delivery.bytes(framing)), /"body":\{"data":\[\{\}\]\},"seq":7/)
  assert.equal(parse.mock.callCount(), 0)
})

test('the HTTP version is the client’s own, where a proxy names it', () => {
  const seen = (httpVersionMajor: number, via?: string) =>
    httpVersionOf({ httpVersionMajor, headers: via === undefined ? {} : { via } })
  assert.deepEqual([seen(1), seen(2)], ['1.1', '2'])
  assert.deepEqual([seen(1, 'HTTP/3.0 caddy'), seen(1, '2.0 front'), seen(2, '1.1 edge')], ['3', '2', '1.1'])
  assert.deepEqual(
    [seen(1, '3 edge, 1.1 inner'), seen(1, '1.0 old'), seen(1, 'nonsense')],
    ['3', '1.1', '1.1'],
  )
})
