// `npm run api`: writes docs/api, the types behind each package's doors; `--check` only compares.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root, StepFailure, showFailure } from './child-process.mjs'
import { joinedTypes, writeDeclarations } from './declarations.mjs'
import { libraries } from './libraries.mjs'

/**
 * Lists the exports of a package's doors and all types that they refer to, each once. Sorted, and
 * without comments: moving a type to another file or rewording does not change it.
 */
async function reportOf(name, folder) {
  const declarations = join(folder, name)
  const doors = await writeDeclarations(name, declarations, ['--removeComments'])
  const entry = join(declarations, 'doors.d.ts')
  const lines = doors.map(
    (door) => `export * as ".${door.name.replace(`@crosswind/${name}`, '')}" from "${door.file}"\n`,
  )
  writeFileSync(entry, lines.join(''))
  const own = doors.map(({ file }) => file)
  const statements = (await joinedTypes(entry, own))
    .trim()
    .split(/\n(?=(?:declare|export|import|interface|type) )/)
  return `// The types of @crosswind/${name}, written by \`npm run api\`.\n\n${statements.sort().join('\n')}\n`
}

/** Throws StepFailure if a report is not current and may not be written. */
async function main(isCheck) {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-api-'))
  try {
    const all = Object.keys(libraries)
    const texts = await Promise.all(all.map((name) => reportOf(name, folder)))
    const changed = all
      .map((name, index) => ({ path: `docs/api/${name}.d.ts`, text: texts[index] }))
      .filter(
        ({ path, text }) => !existsSync(join(root, path)) || readFileSync(join(root, path), 'utf8') !== text,
      )
    const names = changed.map(({ path }) => path).join(' and ')
    if (isCheck && names)
      throw new StepFailure(
        `The packages' public types no longer match ${names}. If the change is meant: npm run api`,
      )
    for (const { path, text } of changed) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
    }
    process.stdout.write(names ? `  ${names} changed: git diff docs/api\n` : '  docs/api is current.\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

try {
  await main(process.argv.includes('--check'))
} catch (error) {
  if (!(error instanceof StepFailure)) throw error
  showFailure(error)
  process.exitCode = 1
}
