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
    input: 'server/index.ts',
    platform: 'node',
    // The logs on brokers are files of their own, loaded if they are used.
    output: { dir: 'server/dist', chunkFileNames: '[name].js' },
    transform: { target: 'node24' },
  },
]
