// A chat whose page Vite serves from its sources: a change appears at once, over the same connection.

import { createServer } from 'node:http'
import { createCrosswind } from '@crosswind/server'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { createServer as createVite } from 'vite'

const server = createServer((request, response) => vite.middlewares(request, response))
const vite = await createVite({
  root: import.meta.dirname,
  configFile: false,
  logLevel: 'warn',
  plugins: [svelte()],
  server: { middlewareMode: true, hmr: { server } },
})
const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { 'room.*': { kind: 'json' } },
  authorize: 'everyone',
})
crosswind.attach(server)
server.listen(Number(process.env.PORT ?? 8080), () =>
  console.log(`http://localhost:${server.address().port}`),
)
