// The samples of code in the documentation compile.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type Sample, samplesIn } from '../../scripts/site/markdown.ts'

const root = join(import.meta.dirname, '../..')

interface Found extends Sample {
  readonly page: string
}

const samples: Found[] = globSync(
  ['*.md', 'docs/**/*.md', '{client,server,e2e,examples,reports}/README.md'],
  {
    cwd: root,
  },
).flatMap((page) => samplesIn(readFileSync(join(root, page), 'utf8')).map((sample) => ({ ...sample, page })))

const compiled = ['js', 'ts']

/** Why samples in other languages are not compiled here. */
const others: Readonly<Record<string, string>> = {
  '': 'commands, configurations of other programs, and diagrams',
  html: 'the page of the quick start, which library/examples opens',
  jsx: 'examples/react is such a page, and library/examples opens it',
  ini: 'a unit of systemd',
  json: 'parsed below',
  python: 'the client of docs/programs.md runs in conformance/protocol; reports/README.md reads a file',
  svelte: 'examples/svelte is such a page, and library/examples opens it',
  sh: 'those of PROTOCOL.md and docs/programs.md run in conformance/protocol; others install packages',
  yaml: 'a workflow of GitHub',
}

test('each language of a sample is compiled, or known not to be', () => {
  const unknown = samples.filter(({ language }) => !compiled.includes(language) && !(language in others))
  assert.deepEqual(unknown, [])
  for (const language of [...compiled, ...Object.keys(others)])
    assert.ok(
      samples.some((sample) => sample.language === language),
      `no sample is in ${language}`,
    )
})

test('samples of JSON are JSON', () => {
  for (const { page, line, code } of samples.filter(({ language }) => language === 'json'))
    assert.doesNotThrow(() => JSON.parse(code), `${page}:${line}`)
})

/** What samples take from the application around them, and packages that this repository does not have. */
const surroundings = `
declare const app: import('koa')
declare const authorize: 'everyone'
declare const bans: Record<'add' | 'has', (user: string) => Promise<boolean>>
declare const caller: import('@crosswind/server').Caller
declare const cert: string
declare const channels: Readonly<Record<string, import('@crosswind/server').ChannelRule>>
declare const doc: import('yjs').Doc
declare const faye: any
declare const file: File
declare const fastify: import('fastify').FastifyInstance
declare const kept: import('y-indexeddb').IndexeddbPersistence
declare const key: string
declare const log: { snapshot(channels: Set<string>): Promise<{ messages: any[] }> }
declare const provider: import('@crosswind/client/yjs').CrosswindProvider
declare const secret: string
declare const store: { listen(listener: () => void): () => void }
declare const user: string
declare const connect: typeof import('@crosswind/client').connect
declare const createCrosswind: typeof import('@crosswind/server').createCrosswind
declare const CrosswindProvider: typeof import('@crosswind/client/yjs').CrosswindProvider
declare function yourApplication(request: object, response: object): void
declare function add(message: object): void
declare function clear(): void
declare function isMuted(user: string | null, channel: string): Promise<boolean>
declare function replace(seq: number, data: unknown): void
declare function draw(kind: string, body: object, at: number): void
declare function startPump(listener: { readonly onError: (error: unknown) => void }): Promise<void>
declare function startSensor(take: (reading: object) => void): void
declare function useEffect(effect: () => () => void, inputs: readonly unknown[]): void
declare function withoutInsults(text: string): string
declare function userOf(token: string | null): Promise<{ id: string; sessionEnd: Date } | null>
declare module 'codemirror'
declare module '@codemirror/view'
declare module 'y-codemirror.next'
declare module 'y-prosemirror'
`

/** A sample as a module. Lines are those of the sample. */
function moduleOf({ code }: Found): string {
  const isFragment = /^\w+: /.test(code)
  const filled = code.replaceAll('…,', "path: '/realtime', authorize: 'everyone',")
  const whole = isFragment ? `void createCrosswind({ path: '/', channels: {}, ${filled} })` : filled
  const isClient = /\bcrosswind\.(channel|subscribe|follow)\(/.test(code)
  const door = isClient ? '@crosswind/client' : '@crosswind/server'
  const isBound = /\b(const|let) crosswind\b/.test(code)
  return [
    whole,
    !isBound && `declare const crosswind: import('${door}').Crosswind`,
    // Browsers convert it to a text.
    'declare const location: URL & { reload(): void }',
    'export {}',
  ]
    .filter(Boolean)
    .join('\n')
}

/** Samples import each other by the names in their first lines. */
function fileOf({ code, page, line, language }: Found): string {
  const [, name] = /^\/\/ ([\w-]+\.m?[jt]s)\n/.exec(code) ?? []
  return name === undefined
    ? `${page.replaceAll('/', '-')}-${line}.${language}.mts`
    : name.replace(/\.m?js$/, '.mts')
}

/** Errors of samples in JavaScript that in TypeScript would name types. */
const untyped = [
  // TypeScript has the types of a worker's events only without those of a page.
  /^service-worker\.mts\S* error TS\d+: .*(Property '(addRoutes|waitUntil|request|respondWith)'|'event')/,
  // The application's own data and sessions.
  /error TS2339: Property '(text|session)' does not exist on type '(unknown|IncomingMessage|RawServerDefault|.*Request.*)'/,
  /error TS2698: Spread types may only be created from object types/,
  // A ChannelType: `names` would be texts.
  /^docs-server\.md-\d+\.js\.mts\S* error TS2322: Type '\{ name: string; kinds: \{ guests:/,
  // `performTasks<Tasks>` and `documentThreads<Tasks>` have the types of the tasks.
  /^(tasks|docs-yjs\.md-\d+\.js)\.mts\S* error TS\d+: .*'never'/,
]

test('samples of JavaScript and TypeScript compile', async (t) => {
  // Below the repository's packages.
  const cache = join(root, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'samples-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const compilerOptions = {
    exactOptionalPropertyTypes: false,
    noImplicitAny: false,
    noUncheckedIndexedAccess: false,
    strictNullChecks: false,
    paths: {
      '@crosswind/client': [join(root, 'client/connect.ts')],
      '@crosswind/client/*': [join(root, 'client/*.ts')],
      '@crosswind/postgres': [join(root, 'server/postgres/index.ts')],
      '@crosswind/react': [join(root, 'client/react/index.ts')],
      '@crosswind/redis': [join(root, 'server/redis/index.ts')],
      '@crosswind/server': [join(root, 'server/index.ts')],
      '@crosswind/server/testing': [join(root, 'server/test-server.ts')],
      '@crosswind/server/*': [join(root, 'server/*.ts')],
    },
  }
  const tsconfig = { extends: join(root, 'tsconfig.json'), compilerOptions, include: ['*'], exclude: [] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  await writeFile(join(folder, 'surroundings.d.ts'), surroundings)
  // That of docs/settings.md is in the project's folder.
  await mkdir(join(folder, 'app/config'), { recursive: true })
  await writeFile(
    join(folder, 'app/config/config.ts'),
    `export * from '${join(root, 'app/config/config.ts')}'`,
  )
  for (const sample of samples.filter(({ language }) => compiled.includes(language)))
    await writeFile(join(folder, fileOf(sample)), moduleOf(sample))
  const child = spawn(join(root, 'node_modules/.bin/tsc'), ['--noEmit', '-p', '.'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = await Promise.all([text(child.stdout), once(child, 'close')])
  // The sources are held to stricter rules, and so may not compile by these.
  const errors = said.split('\n').filter((line) => /^[^. ].* error TS/.test(line))
  assert.deepEqual(
    errors.filter((error) => !untyped.some((expected) => expected.test(error))),
    [],
  )
})
