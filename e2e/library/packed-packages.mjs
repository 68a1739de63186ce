// An application of the packed packages in whichever Node runs it: a server and its clients in one program.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@crosswind/client'
import { createCrosswind } from '@crosswind/server'
import * as Y from 'yjs'

const channels = { 'room.*': { kind: 'json' }, 'doc.*': { kind: 'yjs' } }
const common = { path: '/realtime', channels, authorize: 'everyone' }

/** Each mode publishes, and hears what all said. */
async function converse(origins, modes) {
  const clients = modes.map((mode) => connect(`${origins[mode.split('/')[1]]}/realtime`, { modes: [mode] }))
  const rooms = clients.map((client) => client.channel('room.1', { from: 'start' }))
  const heard = rooms.map(async (room) => {
    const texts = []
    for await (const { data } of room) if (texts.push(data.text) === modes.length) return texts.toSorted()
  })
  for (const [place, room] of rooms.entries()) await room.publish({ text: modes[place] })
  for (const texts of await Promise.all(heard)) assert.deepEqual(texts, modes.toSorted())
  for (const client of clients) client.close()
}

async function attach() {
  const folder = await mkdtemp(join(tmpdir(), 'crosswind-packed-'))
  const server = createServer()
  const storage = { kind: 'sqlite', folder }
  const crosswind = await createCrosswind({ ...common, storage })
  crosswind.attach(server)
  await once(server.listen(0, 'localhost'), 'listening')
  const origin = `http://localhost:${server.address().port}`
  await converse({ 1.1: origin }, ['sse/1.1', 'websocket/1.1', 'long-polling/1.1', 'polling/1.1'])
  assert.ok((await crosswind.document('doc.1')) instanceof Y.Doc)
  await crosswind.backup(join(folder, 'copy.db'))
  await crosswind.close({ drainMs: 0 })
  server.close()
  await rm(folder, { recursive: true })
}

async function listen(workers, [cert, key]) {
  const crosswind = await createCrosswind({ ...common, workers })
  const ports = await crosswind.listen({ port: 0, http1Port: 0, cert, key })
  if (crosswind.isWorker) return
  const origins = { 2: `https://localhost:${ports[2]}`, 1.1: `https://localhost:${ports['1.1']}` }
  await converse(origins, ['sse/1.1', 'websocket/1.1', 'long-polling/1.1', 'polling/1.1'])
  assert.match(await crosswind.metrics(), /crosswind/)
  await crosswind.close({ drainMs: 0 })
}

const pair = await Promise.all(process.argv.slice(2).map((file) => readFile(file, 'utf8')))
const isFirst = process.connected !== true
if (isFirst) {
  await attach()
  await listen(1, pair)
}
await listen(2, pair)
if (isFirst) console.log('attached, listened, with workers')
