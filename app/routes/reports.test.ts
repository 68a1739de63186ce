// The list of runs and the files of reports: order, damage, limits, types, policies, access.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Router from '@koa/router'
import { JSDOM } from 'jsdom'
import Koa from 'koa'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { openPort } from '../../scripts/open-port.ts'
import { answerErrors } from '../../server/http/refusals.ts'
import { openGrant } from '../../server/security/grants.ts'
import { securityHeaders } from '../../server/security/middleware.ts'
import type { Permission } from '../access.ts'
import { Access } from '../access.ts'
import { authorizerOf, cookieAfter, hourMs, key, noon, plainRights } from '../access-testing.ts'
import { callersOf } from '../page-testing.ts'
import { mountReports } from './reports.ts'

type Files = Readonly<Record<string, string>>

const summaryOf = (change: object = {}) =>
  JSON.stringify({
    scenario: 'keystrokes',
    finding: 'WebSocket was faster.',
    startedAt: '2026-11-21T10:00:00.000Z',
    environment: { commit: 'abc1234' },
    ...change,
  })

/** `reports` is missing when `files` is null. */
async function start(t: TestContext, files: Files | null, { isOpen = true } = {}) {
  const folder = temporaryFolder(t)
  const reports = join(folder, 'reports')
  const write = async (name: string, text: string) => {
    await mkdir(dirname(join(reports, name)), { recursive: true })
    await writeFile(join(reports, name), text)
  }
  for (const [name, text] of Object.entries(files ?? {})) await write(name, text)
  await writeFile(join(folder, 'secret.json'), '{}')

  const access = new Access({
    isOpen,
    key,
    rightsOf: plainRights,
    sessionMs: hourMs,
    now: () => noon,
    clock: () => noon,
  })
  const router = new Router()
  const authorizer = isOpen ? { grantFor: async () => openGrant } : authorizerOf(access, () => noon)
  mountReports(router, { crosswind: callersOf(authorizer), reportsFolder: reports })
  const app = new Koa().use(answerErrors()).use(securityHeaders).use(router.routes())
  const server = createServer(app.callback())
  const port = await openPort(server)
  t.after(() => server.close())
  const ask = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers })
  /** Sends the path unchanged: fetch resolves dots. */
  async function statusOf(path: string): Promise<number | undefined> {
    const asked = request({ host: '127.0.0.1', port, path, agent: false }).end()
    const [response] = await once(asked, 'response')
    response.resume()
    return response.statusCode
  }
  const list = async () => new JSDOM(await (await ask('/lab')).text()).window.document
  const rows = async () =>
    [...(await list()).querySelectorAll('li')].map(({ textContent }) => textContent ?? '')
  return { folder, reports, access, write, ask, statusOf, list, rows }
}

test('lists runs, newest first, with date, finding, commit and files, and damaged ones last', async (t) => {
  const { list } = await start(t, {
    '2026-11-20-100000-keystrokes/summary.json': summaryOf({ startedAt: '2026-11-20T10:00:00.000Z' }),
    'reference/summary.json': summaryOf({ finding: '<b>5 & 6</b>', scenario: 'windcomm' }),
    'reference/report.html': '',
    'reference/samples.csv.gz': '',
    'reference/notes.exe': '',
    'compared/summary.json': JSON.stringify({
      scenario: 'keystrokes',
      finding: 'All were slower.',
      after: { startedAt: '2026-11-22T10:00:00.000Z', commit: 'def5678' },
    }),
    'broken/summary.json': '{"scenario":',
    'foreign/summary.json': '{"finding":"x"}',
    'no-report/readme.md': '',
    'running.unfinished/summary.json': summaryOf(),
    'file.json': '{}',
  })
  const page = await list()
  const rows = [...page.querySelectorAll('li')]
  const texts = rows.map(({ textContent }) => textContent?.replaceAll(/\s+/g, ' ').trim() ?? '')
  assert.deepEqual(texts.slice(0, 3), [
    'keystrokes, two runs 2026-11-22 10:00 UTC All were slower. compared, commit def5678summary.json',
    'windcomm 2026-11-21 10:00 UTC <b>5 & 6</b> reference, commit abc1234samples.csv.gz, summary.json',
    'keystrokes 2026-11-20 10:00 UTC WebSocket was faster. 2026-11-20-100000-keystrokes, commit abc1234summary.json',
  ])
  assert.equal(texts.length, 5)
  for (const text of texts.slice(3))
    assert.match(text, /^(broken|foreign) Unreadable: summary\.json is damaged/)
  assert.deepEqual(
    [...(rows[1]?.querySelectorAll('a') ?? [])].map((link) => link.getAttribute('href')),
    ['/lab/reference/report.html', '/lab/reference/samples.csv.gz', '/lab/reference/summary.json'],
  )
})

test('without the folder, and with an empty one, the page says how to create a report', async (t) => {
  const { list, reports } = await start(t, null)
  const words = async () => (await list()).querySelector('main')?.textContent ?? ''
  assert.match(await words(), /There is no report yet\..*npm run lab -- keystrokes/s)
  await mkdir(reports)
  assert.match(await words(), /There is no report yet\./)
})

test('a changed summary is read again, and a removed run leaves the list', async (t) => {
  const { rows, write, reports } = await start(t, {
    'a/summary.json': summaryOf(),
    'b/summary.json': summaryOf(),
  })
  assert.equal((await rows()).length, 2)
  await write('a/summary.json', summaryOf({ finding: 'Another.' }))
  await utimes(join(reports, 'a/summary.json'), new Date(), new Date(noon))
  await rm(join(reports, 'b'), { recursive: true })
  const [only, ...others] = await rows()
  assert.match(only ?? '', /Another\./)
  assert.deepEqual(others, [])
})

test('in a large folder, only the newest by name are read, and the others are counted', async (t) => {
  const names = Array.from({ length: 205 }, (_, place) => `run-${String(place).padStart(3, '0')}`)
  const { list } = await start(
    t,
    Object.fromEntries(names.map((name) => [`${name}/summary.json`, summaryOf({ finding: name })])),
  )
  const page = await list()
  const words = page.querySelector('main')?.textContent ?? ''
  assert.equal(page.querySelectorAll('li').length, 200)
  assert.ok(words.includes('run-204') && !words.includes('run-004'))
  assert.match(words, /5 more folders were not read/)
})

const report = '<!doctype html><style>p{color:red}</style><p style="margin:0">x</p>'

test('a report’s files have their types and a policy that allows only inline style', async (t) => {
  const { ask } = await start(t, {
    'run 1/summary.json': summaryOf(),
    'run 1/report.html': report,
    'run 1/report.md': '#',
    'run 1/outages.csv': 'a\n1\n',
    'run 1/samples.csv.gz': 'compressed',
    'run 1/errors.txt': '',
    'run 1/figures/every-sample.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  })
  for (const [file, type] of [
    ['report.html', 'text/html; charset=utf-8'],
    ['report.md', 'text/markdown; charset=utf-8'],
    ['outages.csv', 'text/csv; charset=utf-8'],
    ['samples.csv.gz', 'application/gzip'],
    ['summary.json', 'application/json; charset=utf-8'],
    ['errors.txt', 'text/plain; charset=utf-8'],
    ['figures/every-sample.svg', 'image/svg+xml'],
  ] as const) {
    const answer = await ask(`/lab/run%201/${file}`)
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, type], file)
    assert.equal(
      answer.headers.get('content-security-policy'),
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    assert.equal((await answer.text()).length, Number(answer.headers.get('content-length')))
  }
  assert.equal(await (await ask('/lab/run%201/report.html')).text(), report)
})

test('the list’s policy allows only its own style', async (t) => {
  const { ask } = await start(t, { 'a/summary.json': summaryOf() })
  const answer = await ask('/lab')
  const [, style = ''] = /<style>([^<]*)<\/style>/.exec(await answer.text()) ?? []
  const hash = createHash('sha256').update(style).digest('base64')
  assert.ok(answer.headers.get('content-security-policy')?.includes(`style-src 'sha256-${hash}';`))
})

test('nothing is served that is outside the folder, hidden, of another type or not a file', async (t) => {
  const { folder, reports, statusOf } = await start(t, {
    'run/summary.json': summaryOf(),
    'run/.hidden.json': '{}',
    'run/notes.exe': '',
    'run/deep/figures/a.svg': '',
    'run/folder.json/a': '',
  })
  await symlink(join(folder, 'secret.json'), join(reports, 'run/linked.json'))
  await symlink(folder, join(reports, 'out'))
  assert.equal(await statusOf('/lab/run/summary.json'), 200)
  for (const path of [
    '/lab/run/linked.json',
    '/lab/out/secret.json',
    '/lab/../secret.json',
    '/lab/run/../../secret.json',
    '/lab/%2e%2e/secret.json',
    '/lab/..%2f/secret.json',
    '/lab/run/..%2f..%2fsecret.json',
    '/lab/run/%2e%2e%5csecret.json',
    '/lab/run/figures/..%2fsummary.json',
    '/lab/run/figures%2f..%2fsummary.json',
    '/lab/run%00/summary.json',
    '/lab/run/summary.json%00.csv',
    '/lab/run/%ff.json',
    '/lab/./summary.json',
    '/lab/run/.hidden.json',
    '/lab/run/notes.exe',
    '/lab/run/folder.json',
    '/lab/run/deep/figures/a.svg',
    '/lab/run/missing.csv',
    '/lab/run/',
    '/lab/run',
    `/lab/run/${'a'.repeat(300)}.json`,
  ])
    assert.ok([400, 404].includes((await statusOf(path)) ?? 0), path)
})

test('with an invitation, only people who may see every page see reports', async (t) => {
  const { ask, access } = await start(t, { 'a/summary.json': summaryOf() }, { isOpen: false })
  const statuses = async (permission?: Permission) => {
    const headers: Record<string, string> = permission
      ? { cookie: await cookieAfter(access, permission) }
      : {}
    return [(await ask('/lab', headers)).status, (await ask('/lab/a/summary.json', headers)).status]
  }
  assert.deepEqual(await statuses(), [401, 401])
  assert.deepEqual(await statuses({ channels: ['main'], may: 'write' }), [403, 403])
  assert.deepEqual(await statuses({ channels: 'all', may: 'read' }), [200, 200])
})
