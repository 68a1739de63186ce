// Builds the two packages of the library. `server/wire` is inlined into both.

const common = { treeshake: { moduleSideEffects: false }, external: /^[^./]/ }

export default [
  {
    ...common,
    // Together, so that a class is the same in all of them.
    input: Object.fromEntries(
      ['connect', 'node', 'share', 'drafts', 'engine'].map((door) => [door, `client/${door}.ts`]),
    ),
    platform: 'browser',
    output: {
      dir: 'client/dist',
      chunkFileNames: '[name].js',
      // One file compresses best. A bundler without splitting would wrap one that has a dynamic import.
      codeSplitting: { groups: [{ name: 'common', minShareCount: 2, test: /client\/(?!share\/)|server\// }] },
    },
    transform: { target: 'es2023' },
  },
  // One file each, for pages without a bundler and for workers.
  ...[
    ['client/connect.ts', 'client/dist/browser.js'],
    ['client/shared-worker.ts', 'client/dist/shared-worker.js'],
  ].map(([input, file]) => ({
    ...common,
    input,
    platform: 'browser',
    output: { file },
    transform: { target: 'es2023' },
  })),
  {
    ...common,
    input: 'client/yjs.ts',
    platform: 'browser',
    // By the package's name, which leads to the door for browsers or for Node.
    plugins: [
      {
        name: 'door',
        resolveId: (id) => (id === './connect.ts' ? { id: '@crosswind/client', external: true } : null),
      },
    ],
    output: { file: 'client/dist/yjs.js' },
    transform: { target: 'es2023' },
  },
  {
    ...common,
    input: { index: 'server/index.ts', 'yjs-tasks': 'server/document/yjs-tasks.ts' },
    platform: 'node',
    // The logs on brokers and the documents are files of their own, loaded if they are used.
    output: { dir: 'server/dist', chunkFileNames: '[name].js' },
    transform: { target: 'node24' },
  },
]
