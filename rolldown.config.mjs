// Builds the two packages of the library. `server/wire` is inlined into both.

const common = { treeshake: { moduleSideEffects: false }, external: /^[^./]/ }

export default [
  {
    ...common,
    input: 'client/connect.ts',
    platform: 'browser',
    output: { file: 'client/dist/connect.js' },
    transform: { target: 'es2023' },
  },
  {
    ...common,
    input: 'client/node.ts',
    platform: 'node',
    output: { file: 'client/dist/node.js' },
    transform: { target: 'node24' },
  },
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
