import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../protocol/refusal.ts'
import { createSeededRandom } from '../protocol/time.ts'
import { countTo } from '../server/hub/hub-testing.ts'
import {
  type AnyRequest,
  fingerprintFor,
  openGrant,
  refuseReading,
  refuseWriting,
} from '../server/security/grants.ts'
import { grantWith } from '../server/security/testing.ts'
import { Access, makeInvitation, maxChannels, type Permission } from './access.ts'
import { authorizerOf, hourMs, key, noon } from './access-testing.ts'
import { admitChannel, pageRights } from './page-channels.ts'
import { channelsOfPage, pageTypeOf } from './page-testing.ts'

const grantOf = (permission: Permission) => grantWith(pageRights(permission, true))
const writer = grantOf({ channels: ['main', 'notes'], may: 'write' })
const reader = grantOf({ channels: ['main'], may: 'read' })
const guide = grantOf({ channels: 'all', may: 'read' })
const grants = [openGrant, guide, writer, reader]

test('every grant allows reading the wind, and none writing it', () => {
  for (const grant of grants) assert.equal(refuseReading(grant, ['main', 'wind']), null)
  assert.equal(refuseWriting(writer, 'wind')?.code, 'read-only-invitation')
})

test('windows of version 0.2 may follow overviews, and nobody may write there', () => {
  for (const grant of grants) assert.equal(refuseReading(grant, ['main', 'wind', 'overview.main']), null)
  for (const grant of [guide, writer, reader])
    assert.equal(refuseWriting(grant, 'overview.main')?.code, 'read-only-invitation')
})

test('what a window shows can be read by one of version 0.2, which fails over a state without a name', () => {
  const { shows, state: check } = pageTypeOf('main')
  const shown = { client: 7, clock: 1, state: { user: { name: 'Ada' }, cursor: null } }
  assert.deepEqual(shows?.(shown), { ...shown, name: 'Ada' })
  for (const user of [undefined, null, {}, { name: 3 }, 'Ada'])
    assert.deepEqual(shows?.({ ...shown, state: { user } }), { ...shown, state: { user }, name: '' })
  for (const other of [{}, { state: null }, { name: 3 }])
    assert.deepEqual(shows?.(other), { ...other, name: '' })
  const own = { client: 7, name: 'Ada', anchor: null, head: null }
  assert.deepEqual(shows?.(own), own)
  for (const unfit of [3, 'here', true, ['here']]) assert.notEqual(check?.(unfit), null, String(unfit))
  for (const fit of [null, {}, own, shown]) assert.equal(check?.(fit), null)
})

test('an invitation to as many documents as it may name gets a ticket, however long their names are', async () => {
  const channels = Array.from({ length: maxChannels }, (_, index) => `${1000 + index}${'気'.repeat(20)}`)
  const access = new Access({
    isOpen: false,
    key,
    rightsOf: pageRights,
    sessionMs: hourMs,
    now: () => noon,
    clock: () => noon,
  })
  const authorizer = authorizerOf(access, () => noon)
  const query = new URLSearchParams({ key: 'k'.repeat(22) })
  for (const may of ['read', 'write'] as const) {
    const token = await makeInvitation({ channels, may, expiresAt: noon + hourMs }, key)
    const { ticket } = await authorizer.ticketFor({ headers: {} } as AnyRequest, token, fingerprintFor(query))
    const { read, write } = await authorizer.grantFor({
      url: `/?${query}&ticket=${ticket}`,
      headers: {},
    } as AnyRequest)
    const rights = pageRights({ channels, may }, false)
    assert.deepEqual([new Set(read), new Set(write)], [new Set(rights.read), new Set(rights.write)])
  }
})

test('every grant allows reading and writing probes', () => {
  for (const grant of grants) {
    assert.equal(refuseReading(grant, ['probes']), null)
    assert.equal(refuseWriting(grant, 'probes', 'w1-4'), null)
  }
})

const good = {
  id: 'w1-1',
  channel: 'main',
  kind: 'edit',
  from: 'w1',
  at: 1000.25,
  body: { html: '<p>a</p>' },
}

const admit = channelsOfPage.draft

function refusalFrom(act: () => unknown): Refusal {
  try {
    act()
  } catch (error) {
    if (error instanceof Refusal) return error
  }
  return assert.fail('it was not refused')
}

test('accepts valid titles, versions and probes unchanged', () => {
  for (const title of ['', 'Minutes of 3 May', '議事録 👩‍🚀', 'x'.repeat(80)]) {
    const named = { ...good, kind: 'title', body: { title } }
    assert.deepEqual(admit(named), named)
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
  assert.deepEqual(admit(versions), versions)
  const probe = { ...good, channel: 'probes', kind: 'probe', body: { text: 'x' } }
  assert.deepEqual(admit(probe), probe)
})

const misfits: [given: unknown, named: string][] = [
  [{ ...good, kind: 'reading' }, 'kind'],
  [{ ...good, kind: 'sensor' }, 'kind'],
  [{ ...good, kind: 'overview' }, 'kind'],
  [{ ...good, channel: 'probes' }, 'kind'],
  [{ ...good, kind: 'probe', body: { text: 'x' } }, 'kind'],
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
    const { status, code, message } = refusalFrom(() => admit(given))
    assert.deepEqual([status, code], [400, 'bad-shape'])
    assert.ok(message.startsWith(`Invalid message: ${named} must`), message)
  })
}

test('a client may not write to the sensor’s channel or where version 0.2 had overviews', () => {
  for (const channel of ['wind', 'overview.main', 'overview.']) {
    const { status, code, id } = refusalFrom(() => admit({ ...good, channel }))
    assert.deepEqual([status, code, id], [403, 'read-only-channel', 'w1-1'])
  }
})

test('a client may not use the name of the sensor, or of version 0.2’s overviews', () => {
  for (const from of ['sensor', 'overview']) {
    const { status, code } = refusalFrom(() => admit({ ...good, from, id: `${from}-1` }))
    assert.deepEqual([status, code], [403, 'reserved-name'])
  }
  assert.ok(admit({ ...good, from: 'sensor2', id: 'sensor2-1' }))
})

test('a channel’s name is accepted unchanged or rejected', () => {
  for (const name of ['a.b-C_1', '気象', 'हवा', 'x'.repeat(64)]) assert.equal(admitChannel(name), name)
  assert.equal(admitChannel('u\u0308ber'), '\u00fcber')
  for (const name of ['', 'a b', 'a/b', 'a,b', 'x'.repeat(65), '気'.repeat(22), '\ud800', '\u200bmain']) {
    const { status, code } = refusalFrom(() => admitChannel(name))
    assert.deepEqual([status, code], [400, 'bad-channel'])
  }
  for (const name of ['probes', 'overview.main', 'overview.']) {
    const { status, code, message } = refusalFrom(() => admitChannel(name))
    assert.deepEqual([status, code], [400, 'bad-channel'])
    assert.match(message, new RegExp(`^"${name}" cannot name a page: .*another name\\.$`))
  }
  assert.equal(admitChannel('overview'), 'overview')
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
      admit(given)
      admitted += 1
    } catch (error) {
      assert.ok(error instanceof Refusal)
      isAdmitted = false
    }
    assert.equal(isAdmitted, fits(given), JSON.stringify(given))
  }
  assert.ok(admitted > 2000, `${admitted} admitted`)
})
