// A page that servers render with React, and the servers: Next.js' and one with Vite.

import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** A chat that the page is sent with; `initial` is as read on the server. */
const chat = `'use client'
import { connect } from '@crosswind/client'
import { ConnectionProvider, useChannel, useConnection, usePresence } from '@crosswind/react'
import { useDocument } from '@crosswind/react/document'

function open() {
  globalThis.hasConnected = true
  return connect(new URL('/realtime', location))
}

export function Chat({ initial }) {
  return (
    <ConnectionProvider connect={open}>
      <List initial={initial} />
      <State />
    </ConnectionProvider>
  )
}

function List({ initial }) {
  const { messages, publish } = useChannel('room.1', { initial })
  const { states } = usePresence('room.1')
  const { isSynced } = useDocument('doc.1')
  return (
    <form action={(form) => publish({ text: form.get('text') })}>
      <ul>{messages.map(({ id, data }) => <li key={id}>{data.text}</li>)}</ul>
      <input id="text" name="text" />
      <i>{states.size}</i>
      <b>{String(isSynced)}</b>
    </form>
  )
}

function State() {
  return <u>{useConnection().status}</u>
}
`

/** Serves Crosswind beside what `prepare` calls `page`, and says at `/connected` whether a rendering connected. */
const server = (prepare: string) => `
import { createServer } from 'node:http'
import { createCrosswind } from '@crosswind/server'
const crosswind = await createCrosswind({
  path: '/realtime',
  channels: { 'room.*': { kind: 'json' }, 'doc.*': { kind: 'yjs' } },
  authorize: 'everyone',
})
// The first line is the address.
const say = console.log
console.log = console.error
globalThis.readPast = () => crosswind.readBack('room.1')
await crosswind.publish('room.1', { text: 'early' })
${prepare}
const server = createServer((request, response) => {
  if (request.url === '/connected') response.end(String(globalThis.hasConnected === true))
  else page(request, response)
})
crosswind.attach(server)
server.listen(0, 'localhost', () => say('http://localhost:' + server.address().port))
`

export interface Rendering {
  /** Besides React's. */
  readonly packages: readonly string[]
  readonly files: Readonly<Record<string, string>>
  /** Run in the folder before the server. */
  readonly build: string
}

export const renderings: Readonly<Record<string, Rendering>> = {
  'Next.js': {
    packages: ['next@16'],
    build: 'node_modules/.bin/next build',
    files: {
      'app/chat.jsx': chat,
      'app/layout.jsx': `export default function Layout({ children }) {
  return <html lang="en"><body>{children}</body></html>
}
`,
      'app/page.jsx': `import { Chat } from './chat.jsx'
export const dynamic = 'force-dynamic'
export default async function Page() {
  return <Chat initial={await globalThis.readPast()} />
}
`,
      'app/static/page.jsx': `import { Chat } from '../chat.jsx'
export default function Page() {
  return <Chat />
}
`,
      'server.mjs': server(`
import next from 'next'
const app = next({ dev: false, dir: import.meta.dirname })
await app.prepare()
const page = app.getRequestHandler()`),
    },
  },
  Vite: {
    packages: ['vite@8', '@vitejs/plugin-react@6'],
    build:
      'node_modules/.bin/vite build --outDir client && node_modules/.bin/vite build --ssr entry-server.jsx --outDir server',
    files: {
      'chat.jsx': chat,
      'vite.config.js': `import react from '@vitejs/plugin-react'
export default { plugins: [react()] }
`,
      'index.html': `<!doctype html><link rel="icon" href="data:,"><div id="root"><!--html--></div>
<script>initial = /*initial*/null</script><script type="module" src="/entry-client.jsx"></script>`,
      'entry-client.jsx': `import { hydrateRoot } from 'react-dom/client'
import { Chat } from './chat.jsx'
hydrateRoot(document.querySelector('#root'), <Chat initial={window.initial ?? undefined} />, { onRecoverableError: console.error })
`,
      'entry-server.jsx': `import { renderToString } from 'react-dom/server'
import { Chat } from './chat.jsx'
export const render = (initial) => renderToString(<Chat initial={initial} />)
`,
      'server.mjs': server(`
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { render } from './server/entry-server.js'
const built = join(import.meta.dirname, 'client')
async function page({ url }, response) {
  if (url.endsWith('.js')) return response.setHeader('Content-Type', 'text/javascript').end(readFileSync(join(built, url)))
  const initial = url === '/static' ? undefined : await globalThis.readPast()
  const html = readFileSync(join(built, 'index.html'), 'utf8')
  response.setHeader('Content-Type', 'text/html')
  response.end(html.replace('<!--html-->', render(initial)).replace('/*initial*/null', JSON.stringify(initial ?? null)))
}`),
    },
  },
}

export async function writeRendering(app: string, { files }: Rendering): Promise<void> {
  const all = { ...files, 'package.json': JSON.stringify({ type: 'module' }) }
  for (const [name, content] of Object.entries(all)) {
    await mkdir(dirname(join(app, name)), { recursive: true })
    await writeFile(join(app, name), content)
  }
}
