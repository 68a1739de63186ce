import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../wire/refusal.ts'
import { createSeededRandom } from '../wire/time.ts'
import { admitChannel, admitDraft, admitJoining, admitJsonAwareness, admitWindow, idOf } from './admission.ts'
import { countTo } from './hub-testing.ts'

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
  assert.deepEqual(admitDraft(good), good)
  const from = 'c'.repeat(48)
  const longest = { ...good, id: `${from}-${'9'.repeat(15)}`, channel: `b${'-_.'.repeat(21)}`, from }
  assert.deepEqual(admitDraft(longest), longest)
  for (const title of ['', 'Minutes of 3 May', '議事録 👩‍🚀', 'x'.repeat(80)]) {
    const named = { ...good, kind: 'title', body: { title } }
    assert.deepEqual(admitDraft(named), named)
  }
  const versions = {
    ...good,
    kind: 'versions',
    body: {
      versions: [
        { at: 1763715600123.5, name: 'Before review' },
        { at: 0, name: '' },
      ],
    },
  }
  assert.deepEqual(admitDraft(versions), versions)
  const probe = { ...good, channel: 'probes', kind: 'probe', body: { text: 'x' } }
  assert.deepEqual(admitDraft(probe), probe)
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
  [{ ...good, id: 'sensor-1' }, 'id'],
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
  [{ ...good, channel: 'probes' }, 'channel'],
  [{ ...good, kind: 'probe', body: { text: 'x' } }, 'channel'],
  [{ ...good, kind: 'probe', channel: 'probes' }, 'body.text'],
  [{ ...good, kind: 'title' }, 'body.title'],
  [{ ...good, kind: 'title', body: { title: 'x'.repeat(81) } }, 'body.title'],
  [{ ...good, kind: 'title', body: { title: ' x' } }, 'body.title'],
  [{ ...good, kind: 'title', body: { title: 'a\nb' } }, 'body.title'],
  [{ ...good, kind: 'title', body: { title: 'a\u202eb' } }, 'body.title'],
  [{ ...good, kind: 'versions', body: { versions: [] } }, 'body.versions'],
  [{ ...good, kind: 'versions', body: { versions: [{ at: 0, name: 'a\nb' }] } }, 'body.versions.0.name'],
  [{ ...good, kind: 'versions', body: { versions: [{ at: '0', name: '' }] } }, 'body.versions.0.at'],
  [{ ...good, kind: 'versions', body: { versions: [{ at: 0, name: '', by: 'w' }] } }, 'body.versions.0'],
]

for (const [given, named] of misfits) {
  test(`rejects an invalid draft and names ${named}: ${JSON.stringify(given).slice(0, 120)}`, () => {
    const { status, code, message } = refusalFrom(() => admitDraft(given))
    assert.deepEqual([status, code], [400, 'bad-shape'])
    assert.ok(message.startsWith(`Invalid message: ${named} must`), message)
  })
}

test('a client may not write to the sensor’s channel or to an overview’s', () => {
  for (const channel of ['wind', 'overview.main', 'overview.']) {
    const { status, code, id } = refusalFrom(() => admitDraft({ ...good, channel }))
    assert.deepEqual([status, code, id], [403, 'read-only-channel', 'w1-1'])
  }
})

test('a client may not use a name reserved for the server', () => {
  for (const from of ['sensor', 'overview']) {
    const { status, code } = refusalFrom(() => admitDraft({ ...good, from, id: `${from}-1` }))
    assert.deepEqual([status, code], [403, 'reserved-name'])
  }
  assert.ok(admitDraft({ ...good, from: 'sensor2', id: 'sensor2-1' }))
})

test('a refusal carries the message’s id if that is valid', () => {
  assert.equal(refusalFrom(() => admitDraft({ ...good, at: 'x' })).id, 'w1-1')
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
  assert.deepEqual(join('window=w1&channels=probes').channels, new Set(['probes']))
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
  ['window=w1&channels=main,probes', 'channels'],
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

test('a channel’s name is accepted unchanged or rejected', () => {
  for (const name of ['a.b-C_1', '気象', 'हवा', 'x'.repeat(64)]) assert.equal(admitChannel(name), name)
  assert.equal(admitChannel('u\u0308ber'), '\u00fcber')
  for (const name of ['', 'a b', 'a/b', 'a,b', 'x'.repeat(65), '気'.repeat(22), '\ud800', '\u200bmain']) {
    const { status, code } = refusalFrom(() => admitChannel(name))
    assert.deepEqual([status, code], [400, 'bad-channel'])
  }
  const probes = refusalFrom(() => admitChannel('probes'))
  assert.deepEqual([probes.status, probes.code], [400, 'bad-channel'])
  assert.match(probes.message, /^"probes" cannot name a page: .*another name\.$/)
})

/** PROTOCOL.md, "Messages", except titles and names in non-Latin scripts. */
function fits({ id, channel, kind, from, at, body, ...rest }: Record<string, unknown>): boolean {
  const isName = (value: unknown, most: number) =>
    typeof value === 'string' && value.length <= most && /^[A-Za-z0-9_.-]+$/.test(value)
  const counter = typeof id === 'string' && typeof from === 'string' ? id.slice(from.length) : ''
  const isId = isName(id, 64) && String(id).startsWith(String(from)) && /^-[A-Za-z0-9_.]+$/.test(counter)
  const isRightChannel = isName(channel, 64) && (channel === 'probes') === (kind === 'probe')
  const [[field, content] = [], ...more] = Object.entries(body ?? {})
  const isText = kind === 'edit' ? field === 'html' : kind === 'probe' && field === 'text'
  const isUpdate =
    kind === 'update' &&
    field === 'update' &&
    Buffer.from(String(content), 'base64').toString('base64') === content
  const isBody = more.length === 0 && typeof content === 'string' && (isText || isUpdate)
  return (
    isId &&
    isName(from, 48) &&
    isRightChannel &&
    Number.isFinite(at) &&
    isBody &&
    Object.keys(rest).length === 0
  )
}

test('accepts exactly the valid ones among 20,000 drafts with random wrong fields', () => {
  const kinds = [good, { ...good, kind: 'update', body: { update: 'AAA=' } }]
  kinds.push({ ...good, kind: 'probe', channel: 'probes', body: { text: '' } } as never)
  const texts = [
    '',
    'w1',
    'w1-1',
    'w1-',
    'w1-1-1',
    'w-1',
    'probes',
    'a b',
    'x'.repeat(65),
    'edit',
    'update',
    'AAA',
  ]
  const others = [0, -1, Number.NaN, Number.POSITIVE_INFINITY, null, undefined, [], {}, true]
  const bodies = [{ html: 'x' }, { html: 'x', more: 1 }, { update: 'AAA' }, { update: 'AA==' }, { text: 1 }]
  const random = createSeededRandom(7)
  const pick = <Value>(all: readonly Value[]) => all[Math.floor(random() * all.length)]
  let admitted = 0
  for (const _one of countTo(20_000)) {
    const given: Record<string, unknown> = { ...pick(kinds), ...(random() < 0.1 && { more: 1 }) }
    for (const field of Object.keys(good))
      if (random() < 0.15) given[field] = pick(pick<readonly unknown[]>([texts, others, bodies]) ?? [])
    let isAdmitted = true
    try {
      admitDraft(given)
      admitted += 1
    } catch (error) {
      assert.ok(error instanceof Refusal)
      isAdmitted = false
    }
    assert.equal(isAdmitted, fits(given), JSON.stringify(given))
  }
  assert.ok(admitted > 2000, `${admitted} admitted`)
})

test('a window state is nested at most 100 levels deep', () => {
  const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
  const admit = admitJsonAwareness(4096)
  admit({ state: nested(100) })
  const { code, message } = refusalFrom(() => admit({ state: nested(101) }))
  assert.equal(code, 'bad-shape')
  assert.match(message, /state must be nested at most 100 levels deep/)
})
