// The packed packages on each runtime of the table in docs/runtimes.md, and the tests of what relies on Node
// on each Node that serves.

import assert from 'node:assert/strict'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { ensureCertificate } from '../../certs/certificate.ts'
import { type ByHttp, httpVersions, modeNamed } from '../../protocol/modes.ts'
import { temporaryFolder } from '../../scripts/folder-testing.ts'
import { pack } from '../../scripts/pack.mjs'
import { createCrosswind } from '../../server/index.ts'
import { execute, install, installPacked } from './installing.ts'
import { start } from './testing.ts'

const root = join(import.meta.dirname, '../..')
const folder = temporaryFolder()
const certificate = ['server.pem', 'server.key'].map((file) => join(folder, file))

/** A row of the table. */
interface Row {
  /** Such as `Node 22.19.0`. */
  readonly runtime: string
  /** Empty if the client is refused. */
  readonly modes: readonly string[]
  readonly serves: boolean
}

const guide = await readFile(join(root, 'docs/runtimes.md'), 'utf8')
const rows = Array.from(
  guide.matchAll(/^\| ((?:Node|Bun|Deno) \d+\.\d+\.\d+) \| (.+) \| (runs|refused) \|$/gm),
  ([, runtime = '', client = '', server]): Row => ({
    runtime,
    modes: Array.from(client.matchAll(/`([^`]+)`/g), ([, mode = '']) => mode),
    serves: server === 'runs',
  }),
)

const { NODE_TEST_CONTEXT: _, ...outside } = process.env
const [trusted = ''] = certificate
/** The tests that a runtime runs are no part of this test run. */
const env = { ...outside, NODE_EXTRA_CA_CERTS: trusted, DENO_CERT: trusted, NO_COLOR: '1' }

/** Whether npm's registry could be reached to install what it promises. */
async function isInstalled(installing: Promise<unknown>): Promise<boolean> {
  try {
    await installing
    return true
  } catch (error) {
    if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT/.test(String(error))) return false
    throw error
  }
}

let app: string
let isReady = false
before(async () => {
  const names = { names: ['localhost'], addresses: ['127.0.0.1'] }
  await ensureCertificate({ directory: folder, now: new Date(), ...names })
  const tarballs = await pack(join(folder, 'tarballs'))
  app = join(folder, 'app')
  await mkdir(app)
  isReady = await isInstalled(installPacked(app, tarballs, ['client', 'server'], ['yjs']))
  await cp(join(import.meta.dirname, 'packed-packages.mjs'), join(app, 'packed-packages.mjs'))
})

type Command = readonly [program: string, ...words: string[]]

/** Resolves to the command that runs a module, or null if the registry cannot be reached. */
async function commandOf(runtime: string): Promise<Command | null> {
  const [name = '', version] = runtime.toLowerCase().split(' ')
  const home = join(folder, `${name}-${version}`)
  await mkdir(home)
  if (!isReady || !(await isInstalled(install(home, [`${name}@${version}`])))) return null
  const program = join(home, 'node_modules/.bin', name)
  return name === 'deno' ? [program, 'run', '--allow-all', '--node-modules-dir=manual'] : [program]
}

/** Runs the application; resolves to what it printed. */
async function run([program, ...words]: Command, ...given: readonly string[]) {
  const ended = execute(program, [...words, 'packed-packages.mjs', ...given], {
    cwd: app,
    env,
    timeout: 300_000,
  })
  const { stdout, stderr } = await ended.catch(({ stdout, stderr }) => ({ stdout, stderr }))
  return `${stdout}${stderr}`
}

/** The first of its line of versions in the table is the newest. Other tests run on this process's own Node. */
function isNewest({ runtime, serves }: Row): boolean {
  const line = (of: string) => of.split('.')[0]
  const first = rows.find((row) => line(row.runtime) === line(runtime))
  return serves && first?.runtime === runtime && runtime !== `Node ${process.versions.node}`
}

const testsOfNode = [
  'server/node-internals.test.ts',
  'e2e/library/attach.program.test.ts',
  'e2e/library/listen.program.test.ts',
]

const needed = {
  client: '@crosswind/client needs Node 22 or later.',
  server: '@crosswind/server needs Node 24 or later, or Node 22 from 22.19 on.',
}

/** Each kind of runtime and both answers must be there, lest the table is not read as it is written. */
test('the table has what runs and what is refused', () => {
  assert.deepEqual([...new Set(rows.map(({ runtime }) => runtime.split(' ')[0]))].toSorted(), [
    'Bun',
    'Deno',
    'Node',
  ])
  for (const answer of [true, false]) assert.ok(rows.some(({ serves }) => serves === answer))
})

/**
 * Servers for a runtime's clients. The one for HTTP/1.1 has no TLS: Bun refuses the name constraints of our
 * certificate authority.
 */
async function serveClients(t: TestContext): Promise<ByHttp<string>> {
  const { origin } = await start(t)
  const crosswind = await createCrosswind({
    path: '/realtime',
    channels: { 'room.*': { kind: 'json' } },
    authorize: 'everyone',
  })
  t.after(() => crosswind.close({ drainMs: 0 }))
  const [cert = '', key = ''] = await Promise.all(certificate.map((file) => readFile(file, 'utf8')))
  const ports = await crosswind.listen({ port: 0, http1Port: 0, cert, key })
  return { '1.1': origin, '2': `https://localhost:${ports['2']}` }
}

for (const row of rows) {
  const { runtime, modes, serves } = row
  const what = `the client ${modes.length > 0 ? 'runs' : 'is refused'}, the server ${serves ? 'runs' : 'is refused'}`
  test(`${runtime}: ${what}`, async (t) => {
    const command = await commandOf(runtime)
    if (!command) return t.skip('npm’s registry cannot be reached')

    const origins = await serveClients(t)
    const refused = (name: keyof typeof needed) => `${needed[name]} This is ${runtime}.`
    for (const http of httpVersions) {
      const own = modes.filter((mode) => modeNamed(mode)?.http === http)
      if (own.length === 0) continue
      const printed = await run(command, 'converse', origins[http], ...own)
      includes(printed, `conversed over ${own.join(', ')}`)
    }
    if (modes.length === 0)
      includes(await run(command, 'converse', origins['1.1'], 'sse/1.1'), refused('client'))
    includes(
      await run(command, 'serve', ...certificate),
      serves ? 'attached, listened, with workers' : refused('server'),
    )
    if (!isNewest(row)) return
    const [node] = command
    const { stdout } = await execute(node, ['--test', ...testsOfNode], { cwd: root, env, timeout: 300_000 })
    assert.match(stdout, /^(ℹ|#) fail 0$/m)
  })
}

const includes = (text: string, part: string) =>
  assert.ok(text.includes(part), `“${part}” is not in: ${text}`)
