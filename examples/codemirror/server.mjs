// Two windows that write one document, which is stored in a file.

import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import { createCrosswind, serverOptions } from '@crosswind/server'
import { buildSync } from 'esbuild'

const page = `<!doctype html><meta charset="utf-8"><title>Document</title><p id="state">Connecting</p>
<script type="module" src="/editor.js"></script>`
const [{ text: editor }] = buildSync({
  ...{ entryPoints: ['editor.mjs'], bundle: true, format: 'esm', write: false },
}).outputFiles

const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { 'doc.*': { kind: 'yjs' } },
  authorize: 'everyone',
  storage: { kind: 'sqlite', folder: 'data' },
})
const [cert, key] = [process.env.CERT, process.env.KEY].map((file) => readFileSync(file))
const server = createSecureServer({ ...serverOptions(), cert, key }, ({ url }, response) => {
  const isScript = url === '/editor.js'
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html; charset=utf-8')
  response.end(isScript ? editor : page)
})
crosswind.attach(server)
server.listen(Number(process.env.PORT ?? 8443), () =>
  console.log(`https://localhost:${server.address().port}`),
)
