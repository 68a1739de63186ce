// A chat on any number of Fastify servers, which share a stream of NATS JetStream.

import { readFile } from 'node:fs/promises'
import { createCrosswind } from '@crosswind/server'
import fastify from 'fastify'

const app = fastify()
const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { 'room.*': { kind: 'json' } },
  authorize: 'everyone',
  storage: { kind: 'nats', servers: [process.env.NATS ?? '127.0.0.1:4222'] },
})
app.register(crosswind.fastify)

const page = new URL('page.html', import.meta.url)
const client = new URL(import.meta.resolve('@crosswind/client/browser'))
app.get('/', async (_request, reply) => reply.type('text/html').send(await readFile(page)))
app.get('/client.js', async (_request, reply) => reply.type('text/javascript').send(await readFile(client)))
await app.ready()
crosswind.attach(app.server, { requests: false })
await app.listen({ port: Number(process.env.PORT ?? 8080) })
console.log(`http://localhost:${app.server.address().port}`)
