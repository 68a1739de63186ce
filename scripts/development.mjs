// `npm run dev`: a server that takes the page's files from Vite, and restarts when its sources change.

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { join, relative, sep } from 'node:path'
import react from '@vitejs/plugin-react'
import { createServer as createVite } from 'vite'
import {
  endOf,
  goOnWithoutOutput,
  projectNode,
  root,
  serverEnvironment,
  serverFlags,
} from './child-process.mjs'

const serverSources = ['protocol', 'server', 'sensor', 'app', 'certs', 'crosswind.config.ts']

function isServerSource(file) {
  const [folder] = relative(root, file).split(sep)
  return serverSources.includes(folder) && file.endsWith('.ts') && !file.endsWith('.test.ts')
}

/** A server process, and the next one after each change. Emits `ready` and `change`. */
class RestartingServer extends EventEmitter {
  #child = null
  #isReady = false
  #hasChanged = false
  #isEnding = false

  async whenReady() {
    while (!this.#isReady) await once(this, 'ready')
  }

  restart() {
    if (this.#hasChanged) return
    this.#hasChanged = true
    this.#isReady = false
    this.#child?.kill()
    this.emit('change')
  }

  /** Resolves to the exit code when a signal ends the server, or when its first start fails. */
  async run(words, env) {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => this.#end())
    let given = words
    for (let hasStarted = false; ; ) {
      this.#hasChanged = false
      this.#child = spawn(projectNode, [...serverFlags, 'app/main.ts', ...given], {
        cwd: root,
        env: { ...process.env, ...serverEnvironment, ...env },
        stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      })
      this.#child.once('message', ({ ports }) => {
        hasStarted = true
        // The same ports, and no second browser.
        const others = words.filter((word) => word !== '--open')
        given = [...others, '--port', ports['2'], '--http1-port', ports['1.1']]
        this.#isReady = !this.#hasChanged
        if (this.#isReady) this.emit('ready')
      })
      const [code] = await endOf(this.#child)
      this.#child = null
      if (this.#isEnding) return code ?? 1
      if (this.#hasChanged) continue
      if (!hasStarted || code === 0) return code ?? 1
      this.#isReady = false
      process.stdout.write('\n  The server ended. It starts again when its sources change.\n')
      await once(this, 'change')
      if (this.#isEnding) return 1
    }
  }

  #end() {
    this.#isEnding = true
    this.emit('change')
  }
}

const server = new RestartingServer()
// A listener for each changed file.
server.setMaxListeners(0)
const http = createServer()
http.listen(0, '127.0.0.1')
await once(http, 'listening')
const address = `127.0.0.1:${http.address().port}`

const vite = await createVite({
  // The build's own configuration would restart Vite at many changes: it imports modules of the page.
  configFile: false,
  root: join(root, 'web'),
  publicDir: false,
  // The path of a build's files, which need no session.
  base: '/assets/',
  appType: 'mpa',
  clearScreen: false,
  logLevel: 'warn',
  // The page's policy names this path.
  html: { cspNonce: randomUUID() },
  plugins: [
    react(),
    {
      name: 'crosswind-restart',
      /** A window must not load anything while the server restarts. */
      async hotUpdate({ file }) {
        if (this.environment.name !== 'client') return
        if (isServerSource(file)) server.restart()
        await server.whenReady()
      },
    },
  ],
  server: {
    middlewareMode: true,
    ws: { server: http, protocol: 'ws', host: '127.0.0.1', clientPort: http.address().port },
    fs: { allow: ['web', 'client', 'server', 'node_modules'].map((folder) => join(root, folder)) },
  },
})
vite.watcher.add(serverSources.map((source) => join(root, source)))
http.on('request', vite.middlewares)

goOnWithoutOutput()
process.stdout.write(`
  Development: a change in web/ or client/ shows at once, a change of the server restarts it.
`)
process.exitCode = await server.run(process.argv.slice(2), { CROSSWIND_VITE: `http://${address}` })
await vite.close()
http.close()
http.closeAllConnections()
