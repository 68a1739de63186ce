// A server of documents for tests that kill it: PORT FOLDER.

import { createServer } from 'node:http'
import { createCrosswind } from '../../server/index.ts'

const [port, folder = ''] = process.argv.slice(2)
const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { 'doc.*': { kind: 'yjs' } },
  authorize: 'everyone',
  storage: { kind: 'sqlite', folder },
})
const server = createServer()
crosswind.attach(server)
server.listen(Number(port), '127.0.0.1', () => process.send?.(server.address()))
