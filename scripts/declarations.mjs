// Writes the packages' declarations of types, and joins those behind an entry point into one file.

import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
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

/** Doors that others import, by their sources. Declared a second time, a class would not fit the first. */
const imported = {
  'client/connect': '@crosswind/client',
  'client/stores': '@crosswind/client/stores',
  'client/document-store': '@crosswind/client/document-store',
  'server/index': '@crosswind/server',
}

/** Imports other doors by name, except those of `own` files. */
const importDoors = (own) => ({
  name: 'import-doors',
  resolveId(id, importer) {
    if (importer === undefined || !/\/(react|server)\/[^/]+$/.test(importer)) return null
    const path = resolve(dirname(importer), id).replace(/(\.d)?\.[jt]s$/, '')
    const name = Object.keys(imported).find((source) => path.endsWith(`/${source}`))
    return name && !own.includes(`${path}.d.ts`) ? { id: imported[name], external: true } : null
  },
})

/**
 * Lists a declaration file's exports and everything that they refer to, each once. What the doors behind
 * `own` files export is listed, too; that of others is imported from them.
 */
export async function joinedTypes(entry, own = []) {
  const bundle = await rolldown({
    input: entry,
    external: /^[^./]/,
    treeshake: { moduleSideEffects: false },
    // Reads declarations only: the generator is not asked.
    plugins: [
      importDoors(own),
      dts({ dtsInput: true, emitDtsOnly: true, generator: 'oxc', tsconfig: false }),
    ],
  })
  const { output } = await bundle.generate()
  return output[0].code
}
