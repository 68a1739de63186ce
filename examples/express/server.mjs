// A chat beside an Express application with a route and a WebSocket of its own.

import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createCrosswind } from '@crosswind/server'
import express from 'express'
import { WebSocketServer } from 'ws'

const app = express()
const server = createServer(app)
const echo = new WebSocketServer({ server, path: '/echo' })
echo.on('connection', (socket) => socket.on('message', (data) => socket.send(`${data}`)))

const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { 'room.*': { kind: 'json' } },
  authorize: 'everyone',
})
crosswind.attach(server, { requests: false })
app.use(crosswind.express())

app.use(express.json())
app.get('/', (_request, response) => response.sendFile(fileURLToPath(new URL('page.html', import.meta.url))))
app.get('/client.js', (_request, response) =>
  response.sendFile(fileURLToPath(import.meta.resolve('@crosswind/client/browser'))),
)
app.post('/orders', ({ body }, response) => response.json({ ordered: body.item }))
server.listen(Number(process.env.PORT ?? 8080), () =>
  console.log(`http://localhost:${server.address().port}`),
)
