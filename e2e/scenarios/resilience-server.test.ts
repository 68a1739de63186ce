// A server that crashes and cannot be restarted is recorded, and affects nothing else.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { RestartingServer } from './resilience-server.ts'

/** Crashes once it is ready, and does not start a second time. */
const program = `
import { existsSync, writeFileSync } from 'node:fs'
const mark = process.argv[2]
if (existsSync(mark)) throw new Error('no second life')
writeFileSync(mark, '')
process.send({ type: 'ready', ports: { 2: 1, 1.1: 2 } }, () => {
  throw new Error('crashed')
})
`

test('a failed restart after a crash counts as another crash, and a later restart says why', async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'program.mjs')
  await writeFile(path, program)
  const server = await RestartingServer.start({ ca: '', flags: () => [join(folder, 'mark')] }, path)
  while (server.isUp) await setImmediate()
  await assert.rejects(server.restart(0), /ended before it was ready:(.|\n)*no second life/)
  assert.equal(server.crashes.length, 2)
  assert.match(server.crashes[0] ?? '', /Error: crashed/)
  assert.match(server.crashes[1] ?? '', /ended before it was ready:(.|\n)*no second life/)
  assert.equal(server.isUp, false)
  await server.close()
})
