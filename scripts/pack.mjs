// `npm run pack`: builds the library's two packages, and makes a tarball of each.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { root, runTool, step, tool } from './child-process.mjs'
import { ensureInstalled } from './preparation.mjs'

/** Resolves to the tarballs' folder. Throws StepFailure. */
export async function pack(folder = join(root, 'dist')) {
  await ensureInstalled()
  await step('building the packages', () =>
    runTool(tool('tsdown'), [], { sentence: 'The packages could not be built.' }),
  )
  mkdirSync(folder, { recursive: true })
  for (const name of ['client', 'server'])
    await step(`packing @crosswind/${name}`, () =>
      runTool('npm', ['pack', `./${name}`, '--pack-destination', folder], {
        sentence: `@crosswind/${name} could not be packed.`,
      }),
    )
  return folder
}
