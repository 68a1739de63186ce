// What programs read and write over HTTP: types, and texts that cost too much.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import Router from '@koa/router'
import Koa from 'koa'
import { createMemoryLog } from '../log/log.ts'
import { ampleLimits } from '../log/log-testing.ts'
import { processTimers } from '../process.ts'
import { answerErrors } from '../refusal.ts'
import { Access } from '../security/access.ts'
import { requireSession } from '../security/middleware.ts'
import { key } from '../security/testing.ts'
import { Bodies } from '../transports/bodies.ts'
import { Directory } from './directory.ts'
import { DocumentWorker } from './document-worker.ts'
import { mountDocuments } from './endpoints.ts'
import { Ledger } from './ledger.ts'

/** Requests and their answers; `documentSeconds` of the thread. */
async function start(t: TestContext, documentSeconds = 60) {
  const { now } = processTimers
  const onFailure = (error: unknown) => assert.fail(String(error))
  const ledger = new Ledger({ documentBytes: 1e6, now, onFailure })
  const folds = { update: ledger.fold }
  const log = ledger.guard(createMemoryLog({ epoch: 'life1', limits: ampleLimits, folds, now, onFailure }))
  const texts = new DocumentWorker({ documentSeconds, documentMegabytes: 256 }, processTimers)
  const access = new Access({ isOpen: true, key, sessionMs: 1000, now })
  const router = new Router()
  mountDocuments(router, {
    hub: {
      windowsOn: () => 0,
      waitMs: () => 0,
      publish: async (draft) => ({ type: 'stored', id: draft.id, seq: await log.append(draft, now()) }),
    },
    ...{ log, texts, access, timers: processTimers, directory: new Directory(log) },
    bodies: new Bodies({ limits: { maxMessageBytes: 1e6, bodySeconds: 10 }, timers: processTimers }),
    limits: { maxMessageBytes: 1e6 },
    settings: () => ({ editor: 'shared' }),
  })
  const app = new Koa().use(answerErrors).use(requireSession(access)).use(router.routes())
  const server = createServer(app.callback()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.close()
    await texts.close()
  })
  const { port } = server.address() as AddressInfo
  const url = (rest = '') => `http://127.0.0.1:${port}/api/documents/main${rest}`
  let ids = 0
  return {
    read: async (accept: string) => (await fetch(url(), { headers: { accept } })).text(),
    async write(method: 'PUT' | 'POST', type: string, body: string) {
      ids += 1
      const headers = { 'content-type': type, accept: 'application/json' }
      const answer = await fetch(url(`?id=p-${ids}&from=p`), { method, headers, body })
      const { seq, code, message } = (await answer.json()) as Record<string, unknown>
      return answer.ok ? seq : `${answer.status} ${code}: ${message}`
    },
  }
}

test('a page is written as Markdown, HTML and plain text, and read as each', async (t) => {
  const { read, write } = await start(t)
  assert.equal(await write('PUT', 'text/markdown', '# Plan\n\n1. a *b*\n2. c\n'), 1)
  assert.equal(await write('POST', 'text/html; charset=utf-8', '<p><b>d</b></p>'), 2)
  assert.equal(await write('POST', 'text/plain', 'e\n'), 3)
  assert.equal(await read('text/markdown'), '# Plan\n\n1. a *b*\n2. c\n\n**d**\n\ne\n')
  assert.equal(await read('text/plain'), 'Plan\na b\nc\nd\ne\n')
  assert.match(String(await write('PUT', 'text/rtf', 'f')), /^415 wrong-type: .*text\/markdown/)
})

test('Markdown that takes too long to read is refused, nothing of it is stored, and the next text is', async (t) => {
  const { read, write } = await start(t, 0.3)
  assert.match(
    String(await write('PUT', 'text/markdown', '*_'.repeat(50_000))),
    /^422 too-costly: To read the text takes more than 0\.3 s of processor time \(limits\.documentSeconds\): send it in parts/,
  )
  assert.equal(await write('PUT', 'text/markdown', '*next*'), 1)
  assert.equal(await read('text/plain'), 'next\n')
})
