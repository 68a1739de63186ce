// Documents of a real server: their addresses, titles, list, and read-only invitations.

import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import * as Y from 'yjs'
import type { DocumentList, InvitationAnswer } from '../../app/shared/document-api.ts'
import { startTestServer, type TestServer, testConfig } from '../../app/testing.ts'
import type { HistoryPortion } from '../../protocol/document-history.ts'
import { httpVersions } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { draftOf, nameOf, newKey } from '../clients/client.ts'
import { connectHttp, type HttpClient, type HttpRequest, redeem, textOf } from '../clients/http-client.ts'

const post = (path: string, content: unknown): HttpRequest => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(content),
})

/** Two clocks of one machine. */
const clockErrorMs = 1000

/** `id` begins with the sender's name. */
function writing(
  method: 'PUT' | 'POST',
  channel: string,
  id: string,
  body: string | Buffer,
  type = 'text/plain; charset=utf-8',
  headers: Readonly<Record<string, string>> = {},
): HttpRequest {
  const query = new URLSearchParams({ id, from: id.slice(0, id.lastIndexOf('-')) })
  const path = `/api/documents/${encodeURIComponent(channel)}?${query}`
  return { method, path, headers: { 'content-type': type, ...headers }, body }
}

async function ask(http: HttpClient, asking: HttpRequest | string) {
  const { status, headers, body } = await http.ask(typeof asking === 'string' ? { path: asking } : asking)
  return { status, headers, text: await textOf(body) }
}

async function list(http: HttpClient): Promise<DocumentList> {
  const { status, text } = await ask(http, '/api/documents')
  assert.equal(status, 200)
  return JSON.parse(text)
}

describe('on an open server', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.close())

  function connect(t: TestContext): HttpClient {
    const http = connectHttp('2', server.origin['2'], server.ca)
    t.after(http.close)
    return http
  }

  for (const version of httpVersions) {
    test(`HTTP/${version}: a page has its channel in the address; the old form redirects there with its other parameters`, async (t) => {
      const http = connectHttp(version, server.origin[version], server.ca)
      t.after(http.close)
      const name = encodeURIComponent('Über-気象')
      const old = await ask(http, `/?transport=sse&channel=${name}&view=wind`)
      assert.deepEqual(
        [old.status, old.headers.location, old.headers['cache-control']],
        [302, `/d/${name}?transport=sse&view=wind`, 'no-store'],
      )
      const page = await ask(http, `/d/${name}?view=wind`)
      assert.equal(page.status, 200)
      assert.ok(page.text.includes('"channel":"Über-気象"'))
      assert.ok((await ask(http, '/')).text.includes('"channel":"main"'))
    })
  }

  test('an address that names no page is refused; a channel that a path cannot hold is served at the old form', async (t) => {
    const http = connect(t)
    for (const path of ['/d/two%20words', '/d/%', '/d/a%2Fb', '/?channel=a%2Fb']) {
      const { status, text } = await ask(http, path)
      assert.deepEqual([status, JSON.parse(text).code], [400, 'bad-channel'], path)
    }
    assert.equal((await ask(http, '/d/')).status, 404)
    assert.ok((await ask(http, '/?channel=..')).text.includes('"channel":".."'))
  })

  test('the main page is listed even while it is empty', async (t) => {
    const { documents } = await list(connect(t))
    assert.deepEqual(
      documents.map(({ channel, title, at }) => [channel, title, at]),
      [['main', '', null]],
    )
  })

  test('documents are listed by last change, with title and windows; the newest title counts', async (t) => {
    const startedAt = Date.now()
    const http = connect(t)
    assert.equal((await ask(http, post('/api/messages', draftOf('w', 1, '', 'first')))).status, 200)
    assert.ok((await list(http)).documents.some(({ channel, title }) => channel === 'first' && title === ''))
    for (const message of [
      draftOf('w', 1, 'Second thoughts', 'second'),
      draftOf('w', 2, 'Minutes', 'first'),
      draftOf('v', 1, 'Minutes of 3 May', 'first'),
    ])
      assert.equal((await ask(http, post('/api/messages', message))).status, 200)
    const stream = await http.ask({ path: '/api/stream?window=w1&channels=second,wind' })
    stream.body.resume()
    let found = await list(http)
    while (found.documents.every(({ windows }) => windows === 0)) found = await list(http)
    assert.deepEqual(
      found.documents.map(({ channel, title, windows }) => [channel, title, windows]),
      [
        ['main', '', 0],
        ['first', 'Minutes of 3 May', 0],
        ['second', 'Second thoughts', 1],
      ],
    )
    const times = found.documents.flatMap(({ at }) => at ?? [])
    assert.equal(times.length, 2)
    assert.ok(times.every((at) => at > startedAt - clockErrorMs && at < Date.now() + clockErrorMs))
    assert.deepEqual([found.omitted, found.mayCreate], [0, true])
    // Also embedded in the page, so that it shows with the first paint.
    assert.ok((await ask(http, '/d/first')).text.includes('"title":"Minutes of 3 May"'))
  })

  test('a deleted document is listed as deleted and can be read, accepts nothing, and can be brought back', async (t) => {
    const http = connect(t)
    const path = '/api/documents/wasted'
    const entry = async () => (await list(http)).documents.find(({ channel }) => channel === 'wasted')
    const refused = async (asking: HttpRequest) => {
      const { status, headers, text } = await ask(http, asking)
      return [status, JSON.parse(text).code, headers['retry-after']]
    }
    const remove = (id: string): HttpRequest => ({ method: 'DELETE', path: `${path}?id=${id}&from=d` })
    assert.deepEqual(await refused(remove('d-1')), [404, 'not-found', undefined])
    assert.equal((await ask(http, writing('PUT', 'wasted', 'd-2', 'one'))).status, 200)
    assert.deepEqual([(await entry())?.deletedAt, (await entry())?.mayWrite], [null, true])
    const { status, text } = await ask(http, remove('d-3'))
    assert.equal(status, 200)
    assert.equal((await ask(http, remove('d-3'))).text, text, 'a repeat gets the same answer')
    assert.ok(((await entry())?.deletedAt ?? 0) > 0)
    for (const asking of [
      writing('PUT', 'wasted', 'd-4', 'one'),
      writing('POST', 'wasted', 'd-4', 'two'),
      post('/api/messages', draftOf('d', 4, 'Waste', 'wasted')),
    ])
      assert.deepEqual(await refused(asking), [410, 'document-deleted', '5'])
    assert.equal((await ask(http, path)).text, 'one\n')
    assert.equal((await ask(http, '/d/wasted')).status, 200)
    const back = { ...draftOf('d', 5, '', 'wasted'), kind: 'deletion', body: { deleted: false } }
    assert.equal((await ask(http, post('/api/messages', back))).status, 200)
    assert.equal((await entry())?.deletedAt, null)
    assert.equal((await ask(http, writing('POST', 'wasted', 'd-6', 'two'))).status, 200)
  })

  test('a document is exported under its title as Markdown, and as HTML without scripts', async (t) => {
    const http = connect(t)
    const html = '<h2>Plan</h2><p>a <b>b</b><img src=x onerror="alert(1)"><script>alert(2)</script></p>'
    const doc = new Y.Doc()
    const text = doc.getText('text')
    text.insert(0, 'Plan\n', { block: 'h2' })
    text.insert(5, 'a ')
    text.insert(7, 'b', { bold: true })
    text.insert(8, '[image: x]\n', { bold: null })
    const update = Buffer.from(Y.encodeStateAsUpdate(doc)).toString('base64')
    for (const message of [
      draftOf('w', 1, 'Für “Mai”/Juni', 'written'),
      draftOf('w', 1, 'Für “Mai”/Juni', 'shared'),
      { ...draftOf('w', 2, '', 'shared'), kind: 'update', body: { update } },
    ])
      assert.equal((await ask(http, post('/api/messages', message))).status, 200)
    assert.equal((await ask(http, writing('PUT', 'written', 'w-2', html, 'text/html'))).status, 200)
    for (const channel of ['written', 'shared']) {
      const own = connect(t)
      const page = await ask(own, `/d/${channel}/export.html`)
      assert.equal(page.status, 200, page.text)
      assert.match(
        page.text,
        /<body data-crosswind>\n<h2>Plan<\/h2>\n<p>a <b>b<\/b>\[image: x\]<\/p>\n<\/body>/,
      )
      assert.match(page.text, /<title>Für “Mai”\/Juni<\/title>/)
      const { headers } = page
      assert.equal(headers['content-type'], 'text/html; charset=utf-8')
      assert.match(String(headers['content-security-policy']), /^sandbox; default-src 'none';/)
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.match(
        String(headers['content-disposition']),
        /^attachment; filename="[ -~]+"; filename\*=UTF-8''F%C3%BCr%20%E2%80%9CMai%E2%80%9D-Juni\.html$/,
      )
      const markdown = await ask(own, `/d/${channel}/export.md`)
      assert.equal(markdown.headers['content-type'], 'text/markdown; charset=utf-8')
      assert.equal(markdown.text, '## Plan\n\na **b**\\[image: x]\n')
    }
    assert.equal((await ask(http, '/d/nothing/export.md')).text, '')
    assert.equal((await ask(http, '/d/main/export.exe')).status, 404)
  })

  test('the history has every update in order, in portions, with its sender', async (t) => {
    const http = connect(t)
    const doc = new Y.Doc()
    const sent: string[] = []
    doc.on('update', (update: Uint8Array) => sent.push(Buffer.from(update).toString('base64')))
    for (const words of ['one', 'two', 'three']) doc.getText('text').insert(0, words)
    for (const [index, update] of sent.entries()) {
      const message = { ...draftOf('w', index + 1, '', 'past'), kind: 'update', body: { update } }
      assert.equal((await ask(http, post('/api/messages', message))).status, 200)
    }
    const { status, text } = await ask(http, '/api/history?channel=past')
    assert.equal(status, 200, text)
    const { base, updates, next } = JSON.parse(text) as HistoryPortion
    assert.deepEqual([base, next, updates.map(({ update }) => update)], [null, null, sent])
    assert.ok(updates.every(({ from, acceptedAt }) => from === 'w' && acceptedAt > 0))
    const gone = await ask(http, '/api/history?channel=past&after=elsewhere:1')
    assert.deepEqual([gone.status, JSON.parse(gone.text).code], [410, 'history-erased'])
    assert.deepEqual(JSON.parse((await ask(http, '/api/history?channel=none')).text).updates, [])
  })

  test('all version names come with the snapshot, in order', async (t) => {
    const http = connect(t)
    for (const [count, name] of ['Draft', 'Review', ''].entries()) {
      const body = { versions: [{ at: count % 2, name }] }
      const message = { ...draftOf('w', count + 1, '', 'versioned'), kind: 'versions', body }
      assert.equal((await ask(http, post('/api/messages', message))).status, 200)
    }
    const { text } = await ask(http, '/api/poll?window=r&channels=versioned&first')
    const frames: { message?: { kind: string; body: object } }[] = JSON.parse(text).frames
    assert.deepEqual(
      frames.flatMap(({ message }) => (message?.kind === 'versions' ? message.body : [])),
      ['Draft', 'Review', ''].map((name, count) => ({ versions: [{ at: count % 2, name }] })),
    )
    assert.ok((await list(http)).documents.every(({ channel }) => channel !== 'versioned'))
  })

  for (const version of httpVersions)
    test(`HTTP/${version}: a text is read back as written, in the requested type`, async (t) => {
      const http = connectHttp(version, server.origin[version], server.ca)
      t.after(http.close)
      const channel = `气-${version}`
      const path = `/api/documents/${encodeURIComponent(channel)}`
      assert.deepEqual(await ask(http, path).then(({ status, text }) => [status, text]), [200, ''])
      const text = 'Ŝtormo 💨\r\n\n two\u2028lines'
      const put = await ask(http, writing('PUT', channel, 'p-1', text))
      const { type, id, seq } = JSON.parse(put.text)
      assert.deepEqual([put.status, type, id], [200, 'stored', 'p-1'], put.text)
      const plain = await ask(http, path)
      assert.equal(plain.text, 'Ŝtormo 💨\n\n two\u2028lines\n')
      assert.match(String(plain.headers.etag), new RegExp(`^"\\w+:${seq}"$`))
      assert.equal(plain.headers['content-type'], 'text/plain; charset=utf-8')
      const same = await ask(http, writing('PUT', channel, 'p-2', plain.text))
      assert.equal(JSON.parse(same.text).seq, seq)
      for (const [accept, wanted] of [
        ['text/html', '<p>Ŝtormo 💨</p>\n<p><br></p>\n<p> two<br>lines</p>'],
        ['text/html;q=0.5, text/*;q=0.9, text/plain;q=0.1', 'Ŝtormo 💨\n\n&#x20;two\\\nlines\n'],
      ] as const)
        assert.equal((await ask(http, { path, headers: { accept } })).text, wanted)
      const html = await ask(http, { path, headers: { accept: 'text/html' } })
      assert.match(String(html.headers['content-security-policy']), /^sandbox;/)
      assert.match(String(html.headers.vary), /Accept/i)
      const head = await ask(http, { method: 'HEAD', path })
      assert.deepEqual([head.status, head.headers.etag, head.text], [200, plain.headers.etag, ''])
    })

  test('invalid text, and a type that cannot be produced, are refused with a code, and nothing is stored', async (t) => {
    const http = connect(t)
    const path = '/api/documents/refused'
    const put = (body: string | Buffer, type?: string) => writing('PUT', 'refused', 'p-1', body, type)
    const named = (query: string) => ({ ...put('x'), path: `${path}?${query}` })
    for (const [asking, expected] of [
      [put('x', 'application/json'), '415 wrong-type'],
      [put('x', 'text/plain; charset=iso-8859-1'), '415 wrong-type'],
      [put(Buffer.from([0x61, 0xe9, 0x62])), '400 bad-shape'],
      [put('x'.repeat(70_000)), '413 too-large'],
      [put('x'.repeat(60_000)), '413 too-large'],
      [{ path, headers: { accept: 'application/pdf' } }, '406 not-acceptable'],
      [named(''), '400 bad-shape'],
      [named('id=p-1&from=q'), '400 bad-shape'],
      [named('id=p-1&from=p&at=x'), '400 bad-shape'],
      [named('id=sensor-1&from=sensor'), '403 reserved-name'],
      [writing('POST', 'refused', `${nameOf(newKey(), 'p')}-1`, 'x'), '403 not-your-name'],
      [writing('PUT', 'wind', 'p-1', 'x'), '403 read-only-channel'],
      [writing('PUT', 'probes', 'p-1', 'x'), '400 bad-channel'],
      [writing('PUT', 'a/b', 'p-1', 'x'), '400 bad-channel'],
      [{ ...put('x'), method: 'PATCH' }, '405 wrong-method'],
    ] as const) {
      const { status, text } = await ask(connect(t), asking)
      assert.equal(`${status} ${JSON.parse(text).code}`, expected, text)
    }
    assert.equal((await ask(http, path)).text, '')
    const some = await Promise.all(Array.from({ length: 12 }, () => ask(http, path)))
    const last = some.at(-1)
    assert.deepEqual([last?.status, JSON.parse(last?.text ?? '').code], [429, 'too-fast'])
  })

  test('with If-Match a program overwrites nothing that others write', async (t) => {
    const http = connect(t)
    const path = '/api/documents/matched'
    await ask(http, writing('PUT', 'matched', 'p-1', 'one\n'))
    const { headers } = await ask(http, path)
    const match = { 'if-match': String(headers.etag) }
    await ask(http, writing('POST', 'matched', 'q-1', 'two\n'))
    const late = await ask(http, writing('PUT', 'matched', 'p-2', 'three\n', 'text/plain', match))
    assert.deepEqual([late.status, JSON.parse(late.text).code], [412, 'document-changed'])
    assert.equal((await ask(http, path)).text, 'one\ntwo\n')
  })

  test('there are no invitations if everyone may write', async (t) => {
    const asking = post('/api/invitations', { channel: 'main', may: 'read', hours: 1 })
    const { status, text } = await ask(connect(t), asking)
    assert.deepEqual([status, JSON.parse(text).code], [409, 'open-access'])
  })
})

describe('on a server with invitations', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ access: 'invited' })
  })
  after(() => server.close())

  async function enter(t: TestContext, link: string): Promise<HttpClient> {
    const { origin, ca } = server
    const http = connectHttp('2', origin['2'], ca, await redeem(origin['2'], ca, link))
    t.after(http.close)
    return http
  }

  test('a guest sees only the documents of the invitation', async (t) => {
    const everywhere = await enter(t, await server.invite({ channels: 'all', may: 'write' }))
    for (const channel of ['notes', 'secret'])
      await ask(everywhere, post('/api/messages', draftOf('w', 1, `On ${channel}`, channel)))
    const guest = await enter(t, await server.invite({ channels: ['notes'], may: 'write' }))
    for (const path of [
      '/d/secret/export.md',
      '/d/secret',
      '/api/history?channel=secret',
      '/api/documents/secret',
    ])
      assert.equal((await ask(guest, path)).status, 403)
    const { documents, mayCreate } = await list(guest)
    assert.deepEqual([documents.map(({ title }) => title), mayCreate], [['On notes'], false])
    assert.equal((await list(everywhere)).documents.length, 3)
  })

  test('a writer creates a read-only link, which expires with the writer’s own invitation', async (t) => {
    const halfAnHour = 1_800_000
    const writer = await enter(t, await server.invite({ channels: ['main'], may: 'write' }, halfAnHour))
    const until = Date.now() + halfAnHour
    const made = await ask(writer, post('/api/invitations', { channel: 'main', may: 'read', hours: 8760 }))
    assert.equal(made.status, 200, made.text)
    const { link, expiresAt } = JSON.parse(made.text) as InvitationAnswer
    assert.ok(expiresAt <= until, 'it outlives the writer’s own')
    const reader = await enter(t, server.origin['2'] + link)
    assert.ok((await ask(reader, '/d/main')).text.includes('"mayWrite":false'))
    const refused = await ask(reader, post('/api/messages', draftOf('r', 1, 'x')))
    assert.deepEqual([refused.status, JSON.parse(refused.text).code], [403, 'read-only-invitation'])
    for (const method of ['PUT', 'POST'] as const) {
      const { status, text } = await ask(reader, writing(method, 'main', 'r-2', 'x'))
      assert.deepEqual([status, JSON.parse(text).code], [403, 'read-only-invitation'])
    }
    assert.equal((await ask(reader, '/api/documents/main')).status, 200)
    const passedOn = await ask(reader, post('/api/invitations', { channel: 'main', may: 'read', hours: 1 }))
    assert.deepEqual([passedOn.status, JSON.parse(passedOn.text).code], [403, 'read-only-invitation'])
  })

  test('a writer invites writers, who see that document alone', async (t) => {
    const writer = await enter(t, await server.invite({ channels: 'all', may: 'write' }, 900_000))
    const asked = { channel: 'shared', may: 'write', hours: 1 }
    const made = await ask(writer, post('/api/invitations', asked))
    const guest = await enter(t, server.origin['2'] + (JSON.parse(made.text) as InvitationAnswer).link)
    assert.equal((await ask(guest, post('/api/messages', draftOf('g', 1, 'x', 'shared')))).status, 200)
    const elsewhere = await ask(guest, post('/api/messages', draftOf('g', 2, 'x', 'main')))
    assert.deepEqual([elsewhere.status, JSON.parse(elsewhere.text).code], [403, 'not-invited-there'])
    for (const may of ['all', 'Write', null]) {
      const { status, text } = await ask(writer, post('/api/invitations', { ...asked, may }))
      assert.deepEqual([status, JSON.parse(text).code], [400, 'bad-shape'])
      assert.match(text, /may: must be .+read.+ or .+write/)
    }
  })

  test('rights and expiry of an invitation come from one credential: a session beside a bearer token extends nothing', async (t) => {
    const guest = await enter(t, await server.invite({ channels: 'all', may: 'read' }))
    const minuteMs = 60_000
    const link = await server.invite({ channels: ['main'], may: 'write' }, 10 * minuteMs)
    const until = Date.now() + 10 * minuteMs
    const headers = { authorization: `Bearer ${new URL(link).searchParams.get('invitation')}` }
    const asked = post('/api/invitations', { channel: 'main', may: 'read', hours: 8760 })
    const alone = connectHttp('2', server.origin['2'], server.ca)
    t.after(alone.close)
    for (const http of [guest, alone]) {
      const { status, text } = await ask(http, { ...asked, headers: { ...asked.headers, ...headers } })
      assert.equal(status, 200, text)
      assert.ok((JSON.parse(text) as InvitationAnswer).expiresAt <= until, 'it outlives the bearer’s')
    }
  })

  test('a ticket of somebody else makes no invitation for a session that may only read', async (t) => {
    const author = await enter(t, await server.invite({ channels: ['main'], may: 'write' }, 600_000))
    const { ticket } = JSON.parse((await ask(author, post('/api/session', {}))).text) as { ticket: string }
    const guest = await enter(t, await server.invite({ channels: 'all', may: 'read' }))
    const asked = post(`/api/invitations?ticket=${ticket}`, { channel: 'main', may: 'read', hours: 8760 })
    const { status, text } = await ask(guest, asked)
    assert.deepEqual([status, JSON.parse(text).code], [403, 'read-only-invitation'])
  })

  test("an invitation never grants more than its creator's rights, and at most five are created per second", async (t) => {
    const writer = await enter(t, await server.invite({ channels: ['main'], may: 'write' }))
    for (const [asked, status, code] of [
      [{ channel: 'secret', may: 'read', hours: 1 }, 403, 'not-invited-there'],
      [{ channel: 'main', may: 'all', hours: 1 }, 400, 'bad-shape'],
      [{ channel: 'main', may: 'read', hours: 0 }, 400, 'bad-shape'],
      [{ channel: 'a/b', may: 'read', hours: 1 }, 400, 'bad-channel'],
    ] as const) {
      const answer = await ask(writer, post('/api/invitations', asked))
      assert.deepEqual([answer.status, JSON.parse(answer.text).code], [status, code])
    }
    const startedAt = performance.now()
    const some = await Promise.all(
      Array.from({ length: 50 }, () =>
        ask(writer, post('/api/invitations', { channel: 'main', may: 'read', hours: 1 })),
      ),
    )
    const refused = some.filter(({ status }) => status !== 200)
    const seconds = (performance.now() - startedAt) / 1000
    assert.ok(some.length - refused.length <= 5 + 5 * seconds, `${refused.length} refused in ${seconds} s`)
    for (const { status, text, headers } of refused) {
      assert.deepEqual([status, JSON.parse(text).code, headers['retry-after']], [429, 'too-fast', '1'])
      // The page shows the sentence for as long as the reader likes, so it contains no countdown.
      assert.doesNotMatch(text, / in \d/)
    }
  })
})

test('after a restart, a repeated text gets its first number, even if the page has changed since', async (t) => {
  const dataFolder = temporaryFolder(t)
  const change = { storage: 'sqlite', dataFolder, limits: { ...testConfig.limits, maxChannels: 1 } } as const
  const requests = [writing('POST', 'main', 'p-1', 'one\n'), writing('PUT', 'main', 'p-2', 'two\n')]
  const answers: string[][] = []
  for (const _start of [1, 2]) {
    const server = await startTestServer(change)
    const http = connectHttp('2', server.origin['2'], server.ca)
    try {
      const given: string[] = []
      for (const request of requests) given.push((await ask(http, request)).text)
      answers.push(given)
      assert.equal((await ask(http, '/api/documents/main')).text, 'two\n')
      const { status, text } = await ask(http, writing('PUT', 'other', 'p-1', 'x'))
      const { code, message } = JSON.parse(text)
      assert.deepEqual([status, code], [403, 'too-many-channels'])
      assert.match(
        message,
        /limited to 1 channels, so "other" cannot be created\. Use an existing channel, delete one, which makes room a day later, or raise limits\.maxChannels\.$/,
      )
    } finally {
      http.close()
      await server.close()
    }
  }
  assert.deepEqual(answers[1], answers[0])
})
