// Two windows that draw one drawing, which is stored in a file.

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createCrosswind } from '@crosswind/server'
import { buildSync } from 'esbuild'

const page = `<!doctype html><meta charset="utf-8"><title>Drawing</title><p id="state">Connecting</p>
<style>#editor { position: fixed; inset: 40px 0 0 }</style>
<div id="editor"></div><script type="module" src="/editor.js"></script>`
const [{ text: editor }] = buildSync({
  entryPoints: ['editor.jsx'],
  bundle: true,
  format: 'esm',
  write: false,
  jsx: 'automatic',
  loader: { '.css': 'text' },
}).outputFiles
const types = { woff2: 'font/woff2', svg: 'image/svg+xml', json: 'application/json' }

const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { 'doc.*': { kind: 'yjs' } },
  authorize: 'everyone',
  storage: { kind: 'sqlite', folder: 'data' },
})
const server = createServer(async ({ url }, response) => {
  // Such as /assets/icons/icon/0_merged.svg
  const [, asset, type] = /^\/assets\/((?:[\w-]+\/)+[\w-]+\.(\w+))$/.exec(url) ?? []
  const isScript = url === '/editor.js'
  response.setHeader(
    'content-type',
    types[type] ?? (isScript ? 'text/javascript' : 'text/html; charset=utf-8'),
  )
  response.end(asset ? await readFile(`node_modules/@tldraw/assets/${asset}`) : isScript ? editor : page)
})
crosswind.attach(server)
server.listen(Number(process.env.PORT ?? 8080), () =>
  console.log(`http://localhost:${server.address().port}`),
)
