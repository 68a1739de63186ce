// An application with several processes, which answers what is not Crosswind's; this file is its entry point.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import Koa from 'koa'
import { loadCertificate } from '../../certs/certificate.ts'
import { createCrosswind } from '../../server/index.ts'

interface Started {
  readonly ports: { readonly '2': number; readonly '1.1': number }
}

export async function startWithWorkers(
  t: TestContext,
  files: { readonly certFile: string; readonly keyFile: string },
) {
  const child = fork(import.meta.filename, [files.certFile, files.keyFile])
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const [{ ports }] = (await Promise.race([
    once(child, 'message'),
    ended.then(([code, signal]) => Promise.reject(new Error(`It ended with ${signal ?? code}.`))),
  ])) as [Started]
  return { child, ports, ended }
}

async function serve(certFile: string, keyFile: string): Promise<void> {
  const crosswind = await createCrosswind({
    path: '/realtime',
    channels: { 'room.*': { kind: 'json' } },
    authorize: ({ token }) => (token ? { user: token, read: ['room.*'], write: ['room.*'] } : null),
    workers: 2,
  })
  const app = new Koa()
  app.use(async (ctx) => {
    ctx.body = ctx.path === '/metrics' ? await crosswind.metrics() : String(process.pid)
  })
  const { cert, key } = await loadCertificate({ certFile, keyFile }, new Date())
  const ports = await crosswind.listen({ port: 0, http1Port: 0, cert, key }, app.callback() as never)
  if (crosswind.isWorker) return
  await crosswind.publish('room.1', { text: 'from the first process' })
  process.once('SIGTERM', async () => {
    await crosswind.close({ drainMs: 200 })
    process.exit()
  })
  process.send?.({ ports } satisfies Started)
}

if (import.meta.main) {
  const [, , certFile = '', keyFile = ''] = process.argv
  await serve(certFile, keyFile)
}
