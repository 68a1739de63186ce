// Two windows that write one document, which is stored in a file.

import { createServer } from 'node:http'
import { createCrosswind } from '@crosswind/server'
import { buildSync } from 'esbuild'

const page = `<!doctype html><meta charset="utf-8"><title>Document</title><p id="state">Connecting</p>
<style>.ProseMirror-yjs-cursor { border-left: 2px solid; position: relative }
.ProseMirror-yjs-cursor > div { position: absolute; bottom: 100%; font-size: 12px; white-space: nowrap }</style>
<div id="editor"></div><script type="module" src="/editor.js"></script>`
const [{ text: editor }] = buildSync({
  entryPoints: ['editor.mjs'],
  bundle: true,
  format: 'esm',
  write: false,
  loader: { '.css': 'text' },
}).outputFiles

const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { 'doc.*': { kind: 'yjs' } },
  authorize: 'everyone',
  storage: { kind: 'sqlite', folder: 'data' },
})
const server = createServer(({ url }, response) => {
  const isScript = url === '/editor.js'
  response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html; charset=utf-8')
  response.end(isScript ? editor : page)
})
crosswind.attach(server)
server.listen(Number(process.env.PORT ?? 8080), () =>
  console.log(`http://localhost:${server.address().port}`),
)
