// Builds the two packages of the library. `server/wire` is inlined into both.

import { defineConfig } from 'tsdown'

const common = { format: 'esm', dts: true, clean: true, treeshake: { moduleSideEffects: false } } as const

export default defineConfig([
  {
    ...common,
    entry: 'client/connect.ts',
    outDir: 'client/dist',
    platform: 'browser',
    tsconfig: 'client/tsconfig.json',
    target: 'es2023',
  },
  {
    ...common,
    entry: 'server/index.ts',
    outDir: 'server/dist',
    platform: 'node',
    tsconfig: 'server/tsconfig.json',
    target: 'node24',
  },
])
