// An answer of a language model, token by token. It survives a reload, sleep, and a restart of this server.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createSecureServer } from 'node:http2'
import { setTimeout as pause } from 'node:timers/promises'
import { createCrosswind, serverOptions } from '@crosswind/server'

/** Instead of a model: 2,000 tokens. */
async function* tokensAfter(count) {
  for (let number = count + 1; number <= 2000; number += 1) {
    await pause(5)
    yield { number, text: `${number} ` }
  }
}

const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { questions: { kind: 'json' }, 'answer.*': { kind: 'json' } },
  authorize: () => ({ read: ['answer.*'], write: [] }),
  storage: { kind: 'sqlite', folder: 'data' },
})

const asked = new Set()
async function answer(id) {
  if (asked.has(id)) return
  asked.add(id)
  await crosswind.publish('questions', { id }, { id })
  const { length } = await Array.fromAsync(crosswind.read(`answer.${id}`))
  for await (const { number, text } of tokensAfter(length))
    await crosswind.publish(`answer.${id}`, { text }, { id: `${number}` })
}
for await (const { data } of crosswind.read('questions')) answer(data.id).catch(console.error)

const client = import.meta.resolve('@crosswind/client/browser')
function respond({ method, url }, response) {
  const [, id] = /^\/questions\/(\w{1,20})$/.exec(url) ?? []
  if (method === 'POST' && id) answer(id).catch(console.error)
  const [type, file] = url === '/client.js' ? ['javascript', client] : ['html', 'page.html']
  response.setHeader('Content-Type', `text/${type}`)
  response.end(id ? '' : readFileSync(new URL(file, import.meta.url)))
}
const { CERT, KEY, PORT = 8080 } = process.env
const secured = CERT && { ...serverOptions(), cert: readFileSync(CERT), key: readFileSync(KEY) }
const server = secured ? createSecureServer(secured, respond) : createServer(respond)
crosswind.attach(server)
server.listen(PORT, () => console.log(`http${CERT ? 's' : ''}://localhost:${server.address().port}`))
