// An application of the packed packages, on whichever runtime runs it. `serve CERT KEY` is a server and its
// clients in one program; `converse ORIGIN MODE…` is clients of another server.

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
const modesInNode = ['sse/1.1', 'websocket/1.1', 'long-polling/1.1', 'polling/1.1']

/** Each mode publishes, and hears what all said. */
async function converse(origin, modes) {
  const clients = modes.map((mode) => connect(`${origin}/realtime`, { modes: [mode] }))
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
  await converse(`http://localhost:${server.address().port}`, modesInNode)
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
  await converse(`https://localhost:${ports['1.1']}`, modesInNode)
  assert.match(await crosswind.metrics(), /crosswind/)
  await crosswind.close({ drainMs: 0 })
}

const tasks = {
  async serve(...files) {
    const pair = await Promise.all(files.map((file) => readFile(file, 'utf8')))
    const isFirst = process.connected !== true
    if (isFirst) {
      await attach()
      await listen(1, pair)
    }
    await listen(2, pair)
    if (isFirst) console.log('attached, listened, with workers')
  },
  async converse(origin, ...modes) {
    await converse(origin, modes)
    console.log(`conversed over ${modes.join(', ')}`)
  },
}

const [task, ...given] = process.argv.slice(2)
await tasks[task](...given)
