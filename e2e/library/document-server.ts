// A server of documents for tests that kill it: PORT FOLDER [PAGE [CERTIFICATE]], the last three folders.
// Answers a channel's name by its document.

import { readFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { createSecureServer } from 'node:http2'
import { join } from 'node:path'
import * as Y from 'yjs'
import { createCrosswind, serverOptions } from '../../server/index.ts'

const [port, folder = '', page, certificate] = process.argv.slice(2)
const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { 'doc.*': { kind: 'yjs' } },
  authorize: 'everyone',
  storage: { kind: 'sqlite', folder },
})
const read = (name: string, from = page) => (from ? readFile(join(from, name)) : '')
const html = await read('page.html')
const types: Readonly<Record<string, string>> = { '/editor.js': 'text/javascript', '/editor.css': 'text/css' }
const serve: RequestListener = async ({ url = '' }, response) => {
  const type = types[url]
  response.setHeader('content-type', type ?? 'text/html; charset=utf-8')
  response.end(type ? await read(url) : html)
}
const server = certificate
  ? createSecureServer({
      ...serverOptions(),
      cert: await read('server.pem', certificate),
      key: await read('server.key', certificate),
    })
  : createServer()
server.on('request', serve)
crosswind.attach(server)
process.on('message', async (channel: string) =>
  process.send?.(Buffer.from(Y.encodeStateAsUpdate(await crosswind.document(channel))).toString('base64')),
)
server.listen(Number(port), '127.0.0.1', () => process.send?.(server.address()))
