// `npm run pack`: builds the library's packages and the lab's, and makes a tarball of each.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root, runTool, step, tool } from './child-process.mjs'
import { ensureInstalled, inTurn } from './preparation.mjs'

/** The folder of each package. The lab has no types: nothing imports it. */
const packages = { client: 'client', react: 'client/react', server: 'server', lab: 'e2e' }
const withTypes = ['client', 'client/react', 'server']

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
    for (const folder of withTypes) {
      await runTool(tool('tsc'), ['-p', folder], { sentence })
      nameBuiltFiles(join(root, folder, 'dist/types'))
    }
    for (const folder of ['client/react', 'server']) await joinTypes(folder)
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
async function joinTypes(name) {
  // Node runs this script before the packages are installed.
  const { joinedTypes } = await import('./declarations.mjs')
  const folder = join(root, name, 'dist/types')
  const manifest = readFileSync(join(root, name, 'package.json'), 'utf8')
  const { exports: doors, peerDependenciesMeta } = JSON.parse(manifest)
  const files = Object.values(doors).map(({ types }) => join(root, name, types))
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
