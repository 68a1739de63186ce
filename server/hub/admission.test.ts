import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../refusal.ts'
import { admitChannel, admitDraft, admitJoining, idOf } from './admission.ts'

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

test('lets in what fits, as it is', () => {
  assert.deepEqual(admitDraft(good), good)
  const longest = { ...good, id: 'a'.repeat(64), channel: `b${'-_.'.repeat(21)}`, from: 'c'.repeat(48) }
  assert.deepEqual(admitDraft(longest), longest)
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
  [{ ...good, channel: 'a/b' }, 'channel'],
  [{ ...good, channel: undefined }, 'channel'],
  [{ ...good, from: 'a'.repeat(49) }, 'from'],
  [{ ...good, kind: 'reading' }, 'kind'],
  [{ ...good, kind: 'sensor' }, 'kind'],
  [{ ...good, kind: 'overview' }, 'kind'],
  [{ ...good, at: '1000' }, 'at'],
  [{ ...good, at: Number.NaN }, 'at'],
  [{ ...good, at: Number.POSITIVE_INFINITY }, 'at'],
  [{ ...good, body: 'x' }, 'body'],
  [{ ...good, body: { html: 7 } }, 'body.html'],
  [{ ...good, body: { html: 'x', script: 'y' } }, 'body'],
]

for (const [given, named] of misfits) {
  test(`keeps out what does not fit and names ${named}: ${JSON.stringify(given).slice(0, 120)}`, () => {
    const { status, code, message } = refusalFrom(() => admitDraft(given))
    assert.deepEqual([status, code], [400, 'bad-shape'])
    assert.ok(message.startsWith(`The message does not fit: ${named}: `), message)
  })
}

test('a window may not write to the sensor’s channel, nor to an overview’s', () => {
  for (const channel of ['wind', 'overview.main', 'overview.']) {
    const { status, code, id } = refusalFrom(() => admitDraft({ ...good, channel }))
    assert.deepEqual([status, code, id], [403, 'read-only-channel', 'w1-1'])
  }
})

test('no window may take a name of the server’s own, in its own or in a message’s', () => {
  const taken = [
    { from: 'sensor' },
    { id: 'sensor-1' },
    { id: 'sensor-' },
    { from: 'overview' },
    { id: 'overview-1' },
  ]
  for (const change of taken) {
    const { status, code } = refusalFrom(() => admitDraft({ ...good, ...change }))
    assert.deepEqual([status, code], [403, 'reserved-name'])
  }
  for (const change of [{ from: 'sensor2' }, { id: 'sensor' }, { id: 'mysensor-1' }]) {
    assert.ok(admitDraft({ ...good, ...change }))
  }
})

test('a refusal names the message where it has a proper id', () => {
  assert.equal(refusalFrom(() => admitDraft({ ...good, at: 'x' })).id, 'w1-1')
  for (const given of [{ ...good, id: 'a b' }, null, 7, {}]) assert.equal(idOf(given), null)
})

function join(query: string) {
  return admitJoining(new URLSearchParams(query), 8)
}

test('reads who joins and what for', () => {
  assert.deepEqual(join('window=w1&channels=main,wind,main&browser=b1&opening=7&cursor=x:1'), {
    window: 'w1',
    browser: 'b1',
    opening: 7,
    channels: new Set(['main', 'wind']),
  })
  const { browser, opening } = join('window=w1&channels=main')
  assert.deepEqual([browser, opening], [null, 0])
})

const badQueries: [query: string, named: string][] = [
  ['channels=main', 'window'],
  ['window=&channels=main', 'window'],
  [`window=${'w'.repeat(49)}&channels=main`, 'window'],
  ['window=w1&channels=main&browser=', 'browser'],
  ['window=w1&channels=main&browser=a%20b', 'browser'],
  ['window=w1', 'channels'],
  ['window=w1&channels=,', 'channels'],
  ['window=w1&channels=a,b%2Fc', 'channels'],
  ['window=w1&channels=main&opening=-1', 'opening'],
  ['window=w1&channels=main&opening=1.5', 'opening'],
  ['window=w1&channels=main&opening=9007199254740993', 'opening'],
  ['window=w1&channels=main&opening=x', 'opening'],
  ['window=w1&channels=1,2,3,4,5,6,7,8,9', 'channels'],
]

for (const [query, named] of badQueries) {
  test(`turns away ${query.slice(0, 60)} and names ${named}`, () => {
    const { status, code, message } = refusalFrom(() => join(query))
    assert.deepEqual([status, code], [400, 'bad-query'])
    assert.ok(message.startsWith(`The stream's query does not fit: ${named}: `), message)
  })
}

test('a channel’s name is let in as it is, or refused', () => {
  assert.equal(admitChannel('a.b-C_1'), 'a.b-C_1')
  for (const name of ['', 'a b', 'a/b', 'x'.repeat(65)]) {
    const { status, code } = refusalFrom(() => admitChannel(name))
    assert.deepEqual([status, code], [400, 'bad-query'])
  }
})
