// Builds the library's packages, with `protocol` in each, and the lab's.

import { cpSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownPrograms } from './e2e/lab/programs.ts'
import { commitNow } from './e2e/lab/run-environment.ts'

const lab = 'e2e/dist'

/** Fails unless the lab's own package names what the lab imports, as this repository does, and no more. */
function requirePackages(names) {
  const [own, ours] = ['e2e/package.json', 'package.json'].map((file) => {
    const { dependencies, devDependencies, peerDependencies } = JSON.parse(readFileSync(file, 'utf8'))
    return { ...devDependencies, ...peerDependencies, ...dependencies }
  })
  const wrong = names.find((name) => ours[name] !== own[name])
  if (wrong) throw new Error(`e2e/package.json needs "${wrong}": "${ours[wrong]}", as package.json has it.`)
  const unused = Object.keys(own).find((name) => !names.includes(name))
  if (unused) throw new Error(`e2e/package.json names "${unused}", which the lab does not import.`)
}

/** Benches that import the server, which is not in the package, or such a bench. */
const needsServer = /\/e2e\/bench\/(editor|frames|opening)-bench\.ts$/
const withoutServer = "throw new Error('This bench takes a clone of the repository, whose server it times.')"

const packageOf = (id) => id.match(/^(?:@[^/]+\/)?[^/]+/)[0]

/** Imports doors by their package's name: the client's leads to the files for browsers or for Node. */
const doorsOf = (name, doors) => ({
  name: 'doors',
  resolveId(id, importer) {
    const [, door = ''] = /^\.\.?\/([\w-]+)\.ts$/.exec(id) ?? []
    return importer && doors.includes(door) ? { id: `@crosswind/${name}/${door}`, external: true } : null
  },
})

const doors = doorsOf('client', ['follow', 'stores', 'yjs', 'document-store'])

/** Packages that bring a store for the log. */
const stores = ['postgres', 'redis']

const common = { treeshake: { moduleSideEffects: false }, external: /^[^./]/ }

export default [
  {
    ...common,
    // Together, so that a class is the same in all of them.
    input: Object.fromEntries(
      [
        'connect',
        'follow',
        'node',
        'node-follow',
        'share',
        'drafts',
        'debug',
        'clock',
        'transports',
        'stores',
      ].map((door) => [door, `client/${door}.ts`]),
    ),
    platform: 'browser',
    output: {
      dir: 'client/dist',
      chunkFileNames: '[name].js',
      // One file compresses best. A bundler without splitting would wrap one that has a dynamic import.
      codeSplitting: {
        groups: [
          { name: 'common', minShareCount: 2, test: /client\/(?!share\/|debug|node)|protocol\/(?!trace)/ },
        ],
      },
    },
    transform: { target: 'es2023' },
  },
  // One file each, for pages without a bundler and for workers; and what must not lengthen the others.
  ...[
    ['client/connect.ts', 'client/dist/browser.js'],
    ['client/shared-worker.ts', 'client/dist/shared-worker.js'],
    ['client/wire.ts', 'client/dist/wire.js'],
    ['client/statistics.ts', 'client/dist/statistics.js'],
  ].map(([input, file]) => ({
    ...common,
    input,
    platform: 'browser',
    output: { file },
    transform: { target: 'es2023' },
  })),
  ...['yjs', 'document-store'].map((door) => ({
    ...common,
    input: `client/${door}.ts`,
    platform: 'browser',
    plugins: [doors],
    output: { file: `client/dist/${door}.js` },
    transform: { target: 'es2023' },
  })),
  {
    ...common,
    input: { index: 'client/react/index.ts', document: 'client/react/document.ts' },
    platform: 'browser',
    plugins: [doors],
    // Its components are none of the server's (React Server Components).
    output: { dir: 'client/react/dist', chunkFileNames: '[name].js', banner: "'use client'" },
    transform: { target: 'es2023' },
  },
  {
    ...common,
    input: {
      index: 'server/index.ts',
      documents: 'server/documents.ts',
      'log-file': 'server/log-file.ts',
      program: 'server/program.ts',
      settings: 'server/settings.ts',
      shapes: 'server/shapes.ts',
      storage: 'server/storage.ts',
      'test-server': 'server/test-server.ts',
      'yjs-tasks': 'server/document/yjs-tasks.ts',
      'log-copy-task': 'server/library/log-copy-task.ts',
    },
    platform: 'node',
    // The logs on brokers and the documents are files of their own, loaded if they are used.
    output: { dir: 'server/dist', chunkFileNames: '[name].js' },
    transform: { target: 'node22.19' },
  },
  // Beside the server, of which a program has one.
  ...stores.map((name) => ({
    ...common,
    input: `server/${name}/index.ts`,
    platform: 'node',
    plugins: [doorsOf('server', ['storage'])],
    output: { file: `server/${name}/dist/index.js` },
    transform: { target: 'node22.19' },
  })),
  {
    external: /^[^./]/,
    // File by file, because the lab starts programs and reads pages by their place.
    input: [
      'e2e/crosswind-lab.mjs',
      ...Object.values(ownPrograms),
      ...globSync('e2e/peers/adapters/*.ts', { exclude: ['**/mirror.ts'] }),
    ],
    platform: 'node',
    output: { dir: lab, preserveModules: true, preserveModulesRoot: '.' },
    plugins: [
      {
        name: 'lab',
        load: (id) => (needsServer.test(id) ? withoutServer : null),
        generateBundle(_, bundle) {
          const all = Object.values(bundle).flatMap((file) => [...file.imports, ...file.dynamicImports])
          requirePackages(all.filter((id) => !id.startsWith('node:') && !(id in bundle)).map(packageOf))
        },
        writeBundle() {
          for (const path of globSync('e2e/{browser,network,peers}/*.{css,html,js,py}'))
            cpSync(path, join(lab, path), { recursive: true })
        },
      },
    ],
    transform: { target: 'node26', define: { PACKED_COMMIT: JSON.stringify(commitNow()) } },
  },
]
