// Two windows that write one document, which is stored in a file.

import { createServer } from 'node:http'
import { createCrosswind } from '@crosswind/server'
import { buildSync } from 'esbuild'

const page = `<!doctype html><meta charset="utf-8"><title>Document</title><p id="state">Connecting</p>
<link rel="stylesheet" href="/editor.css"><style>#editor { height: 400px }
.yRemoteSelection { background: #2a7f6240 } .yRemoteSelectionHead { border-left: 2px solid #2a7f62 }</style>
<div id="editor"></div><script type="module" src="/editor.js"></script>`
const [{ text: script }, { text: style }] = buildSync({
  entryPoints: ['editor.mjs'],
  bundle: true,
  format: 'esm',
  write: false,
  outdir: '.',
  loader: { '.ttf': 'dataurl' },
}).outputFiles
const files = {
  '/': ['text/html; charset=utf-8', page],
  '/editor.js': ['text/javascript', script],
  '/editor.css': ['text/css', style],
}

const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { 'doc.*': { kind: 'yjs' } },
  authorize: 'everyone',
  storage: { kind: 'sqlite', folder: 'data' },
})
const server = createServer(({ url }, response) => {
  const [type, content] = files[url] ?? files['/']
  response.setHeader('content-type', type)
  response.end(content)
})
crosswind.attach(server)
server.listen(Number(process.env.PORT ?? 8080), () =>
  console.log(`http://localhost:${server.address().port}`),
)
