// `npm run pack`: builds the library's packages and the lab's, and makes a tarball of each.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root, runTool, step, tool } from './child-process.mjs'
import { libraries } from './libraries.mjs'
import { ensureInstalled, inTurn } from './preparation.mjs'

/** Nothing imports the lab: it has no types. */
const packages = { ...libraries, lab: 'e2e' }

/** Resolves to the tarballs' folder. Throws StepFailure. */
export async function pack(folder = join(root, 'dist')) {
  await ensureInstalled()
  await inTurn(() => buildInto(folder))
  return folder
}

async function buildInto(folder) {
  const sentence = 'The packages could not be built.'
  await step('building the packages', async () => {
    for (const source of Object.values(packages))
      rmSync(join(root, source, 'dist'), { recursive: true, force: true })
    await runTool(tool('rolldown'), ['-c', 'rolldown.config.mjs'], { sentence })
    for (const [name, source] of Object.entries(libraries)) {
      await runTool(tool('tsc'), ['-p', source], { sentence })
      nameBuiltFiles(join(root, source, 'dist/types'))
      if (name !== 'client') await joinTypes(source)
    }
  })
  mkdirSync(folder, { recursive: true })
  for (const [name, source] of Object.entries(packages))
    await step(`packing @crosswind/${name}`, () => {
      copyFileSync(join(root, 'LICENSE'), join(root, source, 'LICENSE'))
      return runTool('npm', ['pack', `./${source}`, '--pack-destination', folder], {
        sentence: `@crosswind/${name} could not be packed.`,
      })
    })
}

/** Leaves one file for each door: what it does not name needs no types of other packages, such as Koa's. */
async function joinTypes(source) {
  // Node runs this script before the packages are installed.
  const { joinedTypes } = await import('./declarations.mjs')
  const folder = join(root, source, 'dist/types')
  const manifest = readFileSync(join(root, source, 'package.json'), 'utf8')
  const { exports: doors, peerDependenciesMeta = {} } = JSON.parse(manifest)
  const files = Object.values(doors).map(({ types }) => join(root, source, types))
  const texts = await Promise.all(files.map((file) => joinedTypes(file)))
  rmSync(folder, { recursive: true })
  const optional = Object.keys(peerDependenciesMeta)
  for (const [index, file] of files.entries()) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, withoutPeers(texts[index], optional))
  }
}

/** Lets an application compile that has not installed these packages, as it need not. */
function withoutPeers(text, names) {
  const isPeer = (line) =>
    names.some((name) => line.startsWith('import ') && line.includes(` from "${name}"`))
  const lines = text.split('\n')
  return lines.map((line) => (isPeer(line) ? `// @ts-ignore: it is optional.\n${line}` : line)).join('\n')
}

/** TypeScript keeps the names of the sources in declarations. */
function nameBuiltFiles(folder) {
  for (const { name, parentPath } of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!name.endsWith('.d.ts')) continue
    const file = join(parentPath, name)
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js'))
  }
}
