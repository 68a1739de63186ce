// Adapters in a run from the command line: systems of others, and adapters that misbehave.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { startLab } from '../lab/testing.ts'

/** An `open` whose `send` is made of the bare page's, and of how many messages came before. */
const sending = (made: string) => `async (page) => {
  const send = await bare.open(page)
  let count = 0
  return (message) => { count += 1; ${made} }
}`

/** Adapters of the bare relay, each of which breaks one promise. */
const misbehaving: Readonly<Record<string, { readonly start?: string; readonly open?: string }>> = {
  rejects: { start: `() => Promise.reject(new Error('no licence'))` },
  unopened: { open: `() => Promise.reject(new Error('no such room'))` },
  loses: { open: sending('if (count !== 2) send(message)') },
  doubles: { open: sending('send(message); send(message)') },
  wraps: { open: '(page) => bare.open({ ...page, receive: () => page.receive({ data: {} }) })' },
  dies: {
    start: `(lab) => ({ ...sound(lab), answer: () => { throw new Error('out of memory') } })`,
    open: `() => fetch('/anything')`,
  },
}

/** `npm install` has what they need; the other examples need programs. */
const others = ['better-sse', 'hocuspocus', 'y-websocket']

let folder: string
let ended: { readonly code: number; readonly said: string }
let summary: {
  readonly figures: readonly { readonly mode: string; readonly n: number }[]
  readonly peers: readonly { readonly version: string }[]
  readonly endedPeers: readonly { readonly name: string; readonly why: string }[]
  readonly finding: string
}
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'crosswind-adapters-'))
  const isSource = (path: string) => !path.endsWith('node_modules')
  await cp(join(import.meta.dirname, '../../examples/adapters'), folder, {
    recursive: true,
    filter: isSource,
  })
  const npm = ['install', '--no-save', '--no-package-lock', '--no-audit', '--no-fund']
  await promisify(execFile)('npm', npm, { cwd: folder, timeout: 120_000 })
  const bare = JSON.stringify(join(import.meta.dirname, '../peers/adapters/bare.ts'))
  for (const [name, { start = 'sound', open = 'bare.open' }] of Object.entries(misbehaving))
    await writeFile(
      join(folder, `${name}.mjs`),
      `import * as bare from ${bare}
const sound = (lab) => ({ ...bare.start(lab), mode: 'websocket/1.1' })
export const start = ${start}
export const open = ${open}
`,
    )
})
after(() => rm(folder, { recursive: true, force: true }))

test('systems of others are measured by their adapters', async (t) => {
  const peers = [...Object.keys(misbehaving), ...others].map((name) => join(folder, `${name}.mjs`)).join(',')
  const size = ['--sessions', '1', '--keys', '3', '--blocks', '1', '--windows', '2', '--warmup', '0']
  const out = join(folder, 'report')
  const run = startLab(t, 'keystrokes --modes websocket/1.1', ...size, '--peers', peers, '--out', out)
  const [code] = await run.ended
  ended = { code, said: run.said() }
  summary = JSON.parse(await readFile(join(out, 'summary.json'), 'utf8').catch(() => assert.fail(run.said())))
  assert.deepEqual(Object.fromEntries(summary.figures.map(({ mode, n }) => [mode, n])), {
    'websocket/1.1': 3,
    'better-sse:sse/2': 3,
    'hocuspocus:websocket/1.1': 3,
    'y-websocket:websocket/1.1': 3,
  })
  for (const { version } of summary.peers.slice(-others.length)) assert.match(version, /^\d+\.\d+/)
})

test('an adapter that misbehaves is named and ends its own comparison, while the others go on', () => {
  assert.equal(ended.code, 1, ended.said)
  const { endedPeers, finding } = summary
  // The last copy may come after the end.
  const reasons = endedPeers.map(({ name, why }) => [name, why.replace(/repeated [56]$/, 'repeated 5 or 6')])
  assert.deepEqual(Object.fromEntries(reasons), {
    rejects: 'start() failed: no licence',
    unopened: 'its page failed: Error: no such room',
    loses: 'of 6 messages to windows it lost 2 and repeated 0',
    doubles: 'of 6 messages to windows it lost 0 and repeated 5 or 6',
    wraps:
      'of 6 messages to windows it lost 6 and repeated 0; its page says TypeError: receive() was called with {"data":{}}: pass on what a window sent, or its JSON',
    dies: 'its process ended: out of memory',
  })
  for (const name of Object.keys(misbehaving)) assert.match(finding, new RegExp(`${name} was left out: `))
})
