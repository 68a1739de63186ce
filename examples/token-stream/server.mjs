// An answer of a language model, token by token. It survives a reload, sleep, and a restart of this server.

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { createCrosswind } from '@crosswind/server'

/** Instead of a model: 2,000 tokens. */
async function* tokensAfter(count) {
  for (let number = count + 1; number <= 2000; number += 1) {
    await pause(5)
    yield `${number} `
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
  let count = (await Array.fromAsync(crosswind.read(`answer.${id}`))).length
  for await (const text of tokensAfter(count)) {
    count += 1
    await crosswind.publish(`answer.${id}`, { text }, { id: `${count}` })
  }
}
for await (const { data } of crosswind.read('questions')) answer(data.id).catch(console.error)

const page = new URL('page.html', import.meta.url)
const client = new URL(import.meta.resolve('@crosswind/client/browser'))
const server = createServer(({ method, url }, response) => {
  const [, id] = /^\/questions\/(\w{1,20})$/.exec(url) ?? []
  if (method === 'POST' && id) answer(id).catch(console.error)
  response.setHeader('Content-Type', url === '/' ? 'text/html' : 'text/javascript')
  response.end(url === '/' ? readFileSync(page) : url === '/client.js' ? readFileSync(client) : '')
})
crosswind.attach(server)
server.listen(Number(process.env.PORT ?? 8080), () =>
  console.log(`http://localhost:${server.address().port}`),
)
