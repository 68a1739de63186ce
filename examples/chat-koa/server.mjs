// Two windows that chat, beside a Koa application.

import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import { fileURLToPath } from 'node:url'
import { createCrosswind, serverOptions } from '@crosswind/server'
import Koa from 'koa'

const read = (url) => readFileSync(fileURLToPath(url))
const files = {
  '/': ['html', new URL('page.html', import.meta.url)],
  '/client.js': ['js', import.meta.resolve('@crosswind/client/browser')],
}
const app = new Koa().use((ctx) => {
  const [type, url] = files[ctx.path] ?? []
  if (url) Object.assign(ctx, { type, body: read(url) })
})
const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { 'room.*': { kind: 'json' } },
  authorize: 'everyone',
})
const [cert, key] = [process.env.CERT, process.env.KEY].map((file) => readFileSync(file))
const server = createSecureServer({ ...serverOptions(), cert, key }, app.callback())
crosswind.attach(server)
server.listen(Number(process.env.PORT ?? 8443), () =>
  console.log(`https://localhost:${server.address().port}`),
)
