// Writes the packages' declarations of types, and joins those behind an entry point into one file.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { root, runTool, tool } from './child-process.mjs'
import { libraries } from './libraries.mjs'

/** Resolves to the package's doors. Rejects with StepFailure. */
export async function writeDeclarations(name, folder, options = []) {
  const source = libraries[name]
  await runTool(tool('tsc'), ['-p', source, ...options, '--outDir', folder], {
    sentence: `The types of @crosswind/${name} could not be written.`,
  })
  const { exports: doors } = JSON.parse(readFileSync(join(root, source, 'package.json'), 'utf8'))
  return Object.entries(doors).map(([door, { types }]) => {
    const path = types.replace('./dist/types/', '')
    return {
      name: `@crosswind/${name}${door.slice(1)}`,
      source: path.replace(/d\.ts$/, 'ts'),
      file: join(folder, path),
    }
  })
}

/** The client's doors, from a package that imports them. */
const doors = {
  name: 'doors',
  resolveId(id) {
    const [, door] = /^\.\.\/(connect|stores|document-store)\.[jt]s$/.exec(id) ?? []
    return door ? { id: `@crosswind/client/${door}`.replace('/connect', ''), external: true } : null
  },
}

/** Lists a declaration file's exports and everything that they refer to, each once. */
export async function joinedTypes(entry) {
  const bundle = await rolldown({
    input: entry,
    external: /^[^./]/,
    treeshake: { moduleSideEffects: false },
    // Reads declarations only: the generator is not asked.
    plugins: [doors, dts({ dtsInput: true, emitDtsOnly: true, generator: 'oxc', tsconfig: false })],
  })
  const { output } = await bundle.generate()
  return output[0].code
}
