// `npm run pack`: builds the library's two packages and the lab's, and makes a tarball of each.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root, runTool, step, tool } from './child-process.mjs'
import { ensureInstalled } from './preparation.mjs'

/** The folder of each package. The lab has no types: nothing imports it. */
const packages = { client: 'client', server: 'server', lab: 'e2e' }
const withTypes = ['client', 'server']

/** Resolves to the tarballs' folder. Throws StepFailure. */
export async function pack(folder = join(root, 'dist')) {
  await ensureInstalled()
  const sentence = 'The packages could not be built.'
  await step('building the packages', async () => {
    for (const source of Object.values(packages))
      rmSync(join(root, source, 'dist'), { recursive: true, force: true })
    await runTool(tool('rolldown'), ['-c', 'rolldown.config.mjs'], { sentence })
    for (const name of withTypes) {
      await runTool(tool('tsc'), ['-p', name], { sentence })
      nameBuiltFiles(join(root, name, 'dist/types'))
    }
    await joinTypes(join(root, 'server/dist/types'), ['server/index.d.ts', 'server/documents.d.ts'])
  })
  mkdirSync(folder, { recursive: true })
  for (const [name, source] of Object.entries(packages))
    await step(`packing @crosswind/${name}`, () =>
      runTool('npm', ['pack', `./${source}`, '--pack-destination', folder], {
        sentence: `@crosswind/${name} could not be packed.`,
      }),
    )
  return folder
}

/** Leaves one file for each door: what it does not name needs no types of other packages, such as Koa's. */
async function joinTypes(folder, doors) {
  // Node runs this script before the packages are installed.
  const { joinedTypes } = await import('./declarations.mjs')
  const files = doors.map((door) => join(folder, door))
  const texts = await Promise.all(files.map((file) => joinedTypes(file)))
  rmSync(folder, { recursive: true })
  for (const [place, file] of files.entries()) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, texts[place])
  }
}

/** TypeScript keeps the names of the sources in declarations. */
function nameBuiltFiles(folder) {
  for (const { name, parentPath } of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!name.endsWith('.d.ts')) continue
    const file = join(parentPath, name)
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js'))
  }
}
