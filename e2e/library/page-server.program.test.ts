// The page's server is one of the library's: its client, its provider and its endpoints serve there, too.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import * as Y from 'yjs'
import { connect } from '../../client/connect.ts'
import { CrosswindProvider } from '../../client/yjs.ts'
import { startTestServer, type TestServer } from '../../server/testing.ts'
import { createNodePlatform } from '../clients/client.ts'
import { connectHttp, textOf } from '../clients/http-client.ts'

function open(t: TestContext, server: TestServer) {
  const http = connectHttp('2', server.origin['2'], server.ca)
  const connection = connect(`${server.origin['2']}/api`, {
    modes: ['sse/2'],
    platform: createNodePlatform(http),
  })
  t.after(() => {
    connection.close()
    http.close()
  })
  return { http, connection }
}

test('a provider of the library and a program of the page write one document', async (t) => {
  const server = await startTestServer()
  t.after(() => server.close())
  const { http, connection } = open(t, server)
  const doc = new Y.Doc()
  const provider = new CrosswindProvider(`${server.origin['2']}/api`, 'main', doc, { connection })
  t.after(() => provider.destroy())
  doc.getText('text').insert(0, 'from the library\n')
  await provider.whenSaved()
  const read = async () => {
    const headers = { accept: 'text/plain' }
    return textOf((await http.ask({ path: '/api/documents/main', headers })).body)
  }
  assert.equal(await read(), 'from the library\n')
  const changed = new Promise((resolve) => doc.once('update', resolve))
  const headers = { 'content-type': 'text/plain' }
  const query = new URLSearchParams({ id: 'p-1', from: 'p', at: '1' })
  const path = `/api/documents/main?${query}`
  const { status } = await http.ask({ method: 'POST', path, headers, body: 'from a program\n' })
  assert.equal(status, 200)
  await changed
  assert.match(String(doc.getText('text')), /^from the library\n.*from a program/s)
})

test('a room has the past of a kind, and what comes', async (t) => {
  const server = await startTestServer()
  t.after(() => server.close())
  const { connection } = open(t, server)
  const titles = connection.channel<{ readonly title: string }>('main', { from: 'start', kind: 'title' })
  const heard: string[] = []
  const two = new Promise<void>((resolve) =>
    titles.on('message', ({ data }) => heard.push(data.title) === 2 && resolve()),
  )
  await titles.publish({ title: 'One' })
  await titles.publish({ title: 'Two' })
  await two
  assert.deepEqual(heard, ['One', 'Two'])
})
