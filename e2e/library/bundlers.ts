// A page that other bundlers than this repository's build, and the server that it comes from.

import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { build } from 'vite'

const html = `<!doctype html><link rel="icon" href="data:,">
<form><input name="text"></form><p id="messages"></p><p id="document"></p>
<script type="module" src="/page.js"></script>`

const page = `
import { connect } from '@crosswind/client'
import { CrosswindProvider } from '@crosswind/client/yjs'
import * as Y from 'yjs'

const connection = connect(new URL('/realtime', location.href))
const room = connection.channel('room.1', { from: 'start' })
room.on('message', ({ data }) => document.querySelector('#messages').append(data.text + ' '))
const doc = new Y.Doc()
new CrosswindProvider(new URL('/realtime', location.href), 'doc.1', doc, { connection })
const text = doc.getText('text')
text.observe(() => (document.querySelector('#document').textContent = text.toString()))
document.forms[0].onsubmit = (event) => {
  event.preventDefault()
  const { value } = document.forms[0].text
  void room.publish({ text: value })
  text.insert(text.length, value + ' ')
}
`

const server = `
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createCrosswind } from '@crosswind/server'

const server = createServer(({ url }, response) => {
  response.setHeader('Content-Type', url.endsWith('.js') ? 'text/javascript' : 'text/html')
  response.end(readFileSync(join(process.env.BUILT, url === '/' ? 'index.html' : url)))
})
const channels = { 'room.*': { kind: 'json' }, 'doc.*': { kind: 'yjs' } }
const crosswind = await createCrosswind({ path: '/realtime', channels, authorize: 'everyone' })
crosswind.attach(server)
server.listen(0, 'localhost', () => console.log('http://localhost:' + server.address().port))
`

export async function writePage(app: string): Promise<void> {
  const files = {
    'package.json': JSON.stringify({ type: 'module' }),
    'index.html': html,
    'page.js': page,
    'server.mjs': server,
  }
  for (const [name, content] of Object.entries(files)) await writeFile(join(app, name), content)
}

/** Each resolves to the folder that it builds. */
export const bundlers: Readonly<Record<string, (app: string) => Promise<string>>> = {
  async Vite(root) {
    const outDir = join(root, 'vite')
    await build({ root, configFile: false, logLevel: 'warn', build: { outDir } })
    return outDir
  },
  async webpack(app) {
    const path = join(app, 'webpack')
    const webpack = createRequire(join(app, 'package.json'))('webpack') as Webpack
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    webpack(
      { mode: 'production', context: app, entry: './page.js', output: { path, filename: 'page.js' } },
      (error, stats) => {
        if (error) reject(error)
        else if (stats.hasErrors() || stats.hasWarnings()) reject(new Error(stats.toString()))
        else resolve()
      },
    )
    await promise
    await writeFile(join(path, 'index.html'), html)
    return path
  },
}

interface Stats {
  readonly hasErrors: () => boolean
  readonly hasWarnings: () => boolean
}

type Webpack = (options: object, done: (error: Error | null, stats: Stats) => void) => void
