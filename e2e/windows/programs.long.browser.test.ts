// Text that programs write, in real windows.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { startTestServer, type TestServer } from '../../app/testing.ts'
import { modeNamed } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { connectHttp, type HttpRequest, textOf } from '../clients/http-client.ts'
import { unpackLog } from '../goldens/logs.ts'
import { caretShown, htmlShown, placeCaret } from './page.ts'
import { openStage, type Stage, untilShows, webFolder } from './stage.ts'

const mode = modeNamed('sse/2') ?? assert.fail('there is no mode sse/2')

let stage: Stage
before(async () => {
  stage = await openStage()
})
afterEach(() => stage.closeWindows())
after(() => stage.close())

async function ask({ origin, ca }: Pick<TestServer, 'origin' | 'ca'>, request: HttpRequest): Promise<string> {
  const http = connectHttp('2', origin['2'], ca)
  try {
    const { status, body } = await http.ask(request)
    const text = await textOf(body)
    assert.equal(status, 200, text)
    return text
  } finally {
    http.close()
  }
}

function writing(method: 'PUT' | 'POST', channel: string, id: string, body: string, type = 'text/plain') {
  const path = `/api/documents/${channel}?id=program-${id}&from=program`
  return { method, path, headers: { 'content-type': type }, body }
}

test('text written by a program is shown, and leaves typed text and its caret in place', async () => {
  const { server } = stage
  const [typist, reader] = await stage.open(mode, 2, 'written')
  assert.ok(typist && reader)
  await ask(server, writing('PUT', 'written', '1', 'first line\nsecond line\n'))
  for (const window of [typist, reader]) await untilShows(window, 'first linesecond line')
  await typist.run(placeCaret, 1, 6)
  await typist.type(', my')
  await untilShows(reader, 'first linesecond, my line')
  await ask(server, writing('PUT', 'written', '2', 'a first line\nsecond, my line\n'))
  await ask(server, writing('POST', 'written', '3', '<ul><li>a <b>third</b></li></ul>', 'text/html'))
  await ask(server, writing('POST', 'written', '4', '1. a *fourth*\n', 'text/markdown'))
  for (const window of [typist, reader])
    await untilShows(window, 'a first linesecond, my linea thirda fourth')
  assert.equal(await typist.run(caretShown), 'second, my| line')
  assert.match(
    await reader.run(htmlShown),
    /<ul><li[^>]*>a <b[^>]*>third<\/b>.*<ol><li[^>]*>a <i[^>]*>fourth<\/i>/,
  )
  const path = '/api/documents/written'
  assert.equal(await ask(server, { path }), 'a first line\nsecond, my line\na third\na fourth\n')
})

test('a page of whole contents, of an earlier version, opens as a shared document, also for reading, and can be continued', async (t) => {
  const dataFolder = join(temporaryFolder(t), 'data')
  unpackLog('0.2-mirror', dataFolder)
  const server = await startTestServer({ storage: 'sqlite', dataFolder, share: 'none' }, webFolder)
  t.after(() => server.close())
  const reader = await stage.browser.newWindow()
  t.after(() => reader.close())
  await reader.open(`${server.origin['2']}/d/main?read&record&transport=sse&http=2`)
  await untilShows(reader, 'MinutesŜtormo bold 💨onetwo')
  const [typist] = await stage.open(mode, 1, 'main', { server })
  assert.ok(typist)
  await untilShows(typist, 'MinutesŜtormo bold 💨onetwo')
  await typist.run(placeCaret, 0, 7)
  await typist.type(' of May')
  for (const window of [reader, typist]) await untilShows(window, 'Minutes of MayŜtormo bold 💨onetwo')
  assert.match(await reader.run(htmlShown), /<h1[^>]*>Minutes of May<\/h1>/)
})
