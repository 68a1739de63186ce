import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../protocol/refusal.ts'
import { typesByName } from '../channels/channel-type.ts'
import { object, text } from '../channels/shapes.ts'
import { admitDraft, admitJoining, admitStates, admitWindow, idOf, jsonState } from './admission.ts'
import { hubTypeOf } from './hub-testing.ts'

const admit = (given: unknown) => admitDraft(given, hubTypeOf)

const good = {
  id: 'w1-1',
  channel: 'main',
  kind: 'edit',
  from: 'w1',
  at: 1000.25,
  body: { html: '<p>a</p>' },
}

function refusalFrom(act: () => unknown): Refusal {
  try {
    act()
  } catch (error) {
    if (error instanceof Refusal) return error
  }
  return assert.fail('it was not refused')
}

test('accepts a valid draft unchanged', () => {
  assert.deepEqual(admit(good), good)
  const from = 'c'.repeat(48)
  const longest = { ...good, id: `${from}-${'9'.repeat(15)}`, channel: `b${'-_.'.repeat(21)}`, from }
  assert.deepEqual(admit(longest), longest)
})

const misfits: [given: unknown, named: string][] = [
  [null, 'the message'],
  ['text', 'the message'],
  [[good], 'the message'],
  [{ ...good, extra: 1 }, 'the message'],
  [{ ...good, seq: 1 }, 'the message'],
  [{ ...good, id: '' }, 'id'],
  [{ ...good, id: 'a'.repeat(65) }, 'id'],
  [{ ...good, id: 'a b' }, 'id'],
  [{ ...good, id: 'a\n' }, 'id'],
  [{ ...good, id: 'w1' }, 'id'],
  [{ ...good, id: 'w1-' }, 'id'],
  [{ ...good, id: 'w2-1' }, 'id'],
  [{ ...good, id: 'w1-b.w3-1' }, 'id'],
  [{ ...good, id: 'log-1' }, 'id'],
  [{ ...good, channel: 'a/b' }, 'channel'],
  [{ ...good, channel: undefined }, 'channel'],
  [{ ...good, from: 'a'.repeat(49) }, 'from'],
  [{ ...good, kind: 7 }, 'kind'],
  [{ ...good, kind: 'title' }, 'kind'],
  [{ ...good, kind: 'sample' }, 'kind'],
  [{ ...good, kind: '__proto__' }, 'kind'],
  [{ ...good, kind: 'constructor' }, 'kind'],
  [{ ...good, at: '1000' }, 'at'],
  [{ ...good, at: Number.NaN }, 'at'],
  [{ ...good, at: Number.POSITIVE_INFINITY }, 'at'],
  [{ ...good, body: 'x' }, 'body'],
  [{ ...good, body: { html: 7 } }, 'body.html'],
  [{ ...good, body: { html: 'x', script: 'y' } }, 'body'],
]

for (const [given, named] of misfits) {
  test(`rejects an invalid draft and names ${named}: ${JSON.stringify(given).slice(0, 120)}`, () => {
    const { status, code, message } = refusalFrom(() => admit(given))
    assert.deepEqual([status, code], [400, 'bad-shape'])
    assert.ok(message.startsWith(`Invalid message: ${named} must`), message)
  })
}

test('the refusal of a kind names those that the channel accepts, and its type', () => {
  const { message } = refusalFrom(() => admit({ ...good, kind: 'title' }))
  assert.match(message, /kind must be "edit" or "update": channel "main" is of the type document\./)
})

test('a client may not write where no kind has a body for clients', () => {
  for (const channel of ['wind', 'figures.main', 'figures.']) {
    const { status, code, id } = refusalFrom(() => admit({ ...good, channel }))
    assert.deepEqual([status, code, id], [403, 'read-only-channel', 'w1-1'])
  }
})

test('a client may not use a name reserved for the server', () => {
  for (const from of ['log', 'server', 'gauge']) {
    const { status, code } = refusalFrom(() =>
      admitDraft({ ...good, from, id: `${from}-1` }, hubTypeOf, ['gauge']),
    )
    assert.deepEqual([status, code], [403, 'reserved-name'])
  }
  for (const from of ['server2', 'gauge']) assert.ok(admit({ ...good, from, id: `${from}-1` }))
})

test('a refusal carries the message’s id if that is valid', () => {
  assert.equal(refusalFrom(() => admit({ ...good, at: 'x' })).id, 'w1-1')
  for (const given of [{ ...good, id: 'a b' }, null, 7, {}]) assert.equal(idOf(given), null)
})

function join(query: string) {
  return admitJoining(new URLSearchParams(query), 8)
}

test('parses the window and the channels of a stream’s query', () => {
  assert.deepEqual(join('window=w1&channels=main,wind,main&opening=7&cursor=x:1'), {
    window: 'w1',
    opening: 7,
    channels: new Set(['main', 'wind']),
  })
  assert.equal(join('window=w1&channels=main').opening, 0)
  assert.deepEqual(join('window=w1&channels=main,стр').channels, new Set(['main', 'стр']))
})

const openings: [text: string, opening: number][] = [
  ['', 0],
  ['007', 7],
  ['1e3', 1000],
  ['999999999999999', 999_999_999_999_999],
  ['9007199254740991', Number.MAX_SAFE_INTEGER],
]

test('parses an opening the same way whether or not the channel’s name is plain', () => {
  for (const [text, opening] of openings)
    for (const channel of ['main', 'стр'])
      assert.equal(join(`window=w1&channels=${channel}&opening=${text}`).opening, opening, text)
})

const badQueries: [query: string, named: string][] = [
  ['channels=main', 'window'],
  ['window=&channels=main', 'window'],
  [`window=${'w'.repeat(49)}&channels=main`, 'window'],
  ['window=w%0A&channels=main', 'window'],
  [`window=w1&channels=main,${'c'.repeat(65)}`, 'channels'],
  ['window=w1', 'channels'],
  ['window=w1&channels=,', 'channels'],
  ['window=w1&channels=a,b%2Fc', 'channels'],
  ['window=w1&channels=main&opening=-1', 'opening'],
  ['window=w1&channels=main&opening=1.5', 'opening'],
  ['window=w1&channels=main&opening=9007199254740993', 'opening'],
  ['window=w1&channels=main&opening=x', 'opening'],
  ['window=w1&channels=1,2,3,4,5,6,7,8,9', 'channels'],
]

test('parses the window of a leave request or a heartbeat', () => {
  const of = (query: string) => admitWindow(new URLSearchParams(query))
  assert.deepEqual(of('window=w1&opening=7&more=1'), { window: 'w1', opening: 7 })
  assert.deepEqual(of('window=w1'), { window: 'w1', opening: 0 })
  for (const query of ['', `window=${'w'.repeat(14_000)}&opening=9`, 'window=w1&opening=x', 'window=w%001']) {
    const { status, code, message } = refusalFrom(() => of(query))
    assert.deepEqual([status, code], [400, 'bad-query'])
    assert.ok(message.length < 200, message)
  }
})

for (const [query, named] of badQueries) {
  test(`rejects the query ${query.slice(0, 60)} and names ${named}`, () => {
    const { status, code, message } = refusalFrom(() => join(query))
    assert.deepEqual([status, code], [400, 'bad-query'])
    assert.ok(message.startsWith(`Invalid stream query: ${named}`), message)
  })
}

test('a window state is nested at most 100 levels deep', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
  const admitState = admitStates(jsonState(4096))
  admitState({ state: nested(100) })
  const { code, message } = refusalFrom(() => admitState({ state: nested(101) }))
  assert.equal(code, 'bad-shape')
  assert.match(message, /state must be nested at most 100 levels deep/)
})

test('a volatile draft is refused where a type checks what it stores, and so is another value than true', () => {
  const types = typesByName([
    ['gated', { name: 'gated', kinds: { edit: { body: object({ html: text }) } }, gate: { pass: () => 1 } }],
    ['refusing', { name: 'refusing', kinds: { edit: { body: object({ html: text }) } }, refuse: () => null }],
    ['doc', { name: 'doc', kinds: { edit: { body: object({ html: text }) } }, yjs: {} }],
    ['*', { name: 'plain', kinds: { edit: { body: object({ html: text }) } } }],
  ])
  const admitted = (channel: string, volatile: unknown) => admitDraft({ ...good, channel, volatile }, types)
  assert.equal(admitted('main', true).volatile, true)
  for (const channel of ['gated', 'refusing', 'doc'])
    assert.throws(() => admitted(channel, true), {
      code: 'bad-shape',
      message: new RegExp(`volatile must be absent: channel "${channel}"`),
    })
  assert.throws(() => admitted('main', false), { code: 'bad-shape', message: /volatile must be true/ })
})
