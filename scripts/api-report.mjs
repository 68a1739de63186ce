// `npm run api`: writes docs/api, the types behind each package's doors; `--check` only compares.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root, runTool, StepFailure, showFailure, tool } from './child-process.mjs'
import { joinedTypes } from './declarations.mjs'
import { libraries } from './pack.mjs'

/**
 * Lists the exports of a package's doors and all types that they refer to, each once. Sorted, and
 * without comments: moving a type to another file or rewording does not change it.
 */
async function reportOf(name, source, folder) {
  const declarations = join(folder, name)
  await runTool(tool('tsc'), ['-p', source, '--removeComments', '--outDir', declarations], {
    sentence: `The types of @crosswind/${name} could not be written.`,
  })
  const { exports: doors } = JSON.parse(readFileSync(join(root, source, 'package.json'), 'utf8'))
  const entry = join(declarations, 'doors.d.ts')
  const lines = Object.entries(doors).map(
    ([door, { types }]) => `export * as "${door}" from "${types.replace('./dist/types', '.')}"\n`,
  )
  writeFileSync(entry, lines.join(''))
  const statements = (await joinedTypes(entry))
    .trim()
    .split(/\n(?=(?:declare|export|import|interface|type) )/)
  return `// The types of @crosswind/${name}, written by \`npm run api\`.\n\n${statements.sort().join('\n')}\n`
}

/** Throws StepFailure if a report is not current and may not be written. */
async function main(isCheck) {
  const folder = mkdtempSync(join(tmpdir(), 'crosswind-api-'))
  try {
    const texts = await Promise.all(
      Object.entries(libraries).map(([name, source]) => reportOf(name, source, folder)),
    )
    const changed = Object.keys(libraries)
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
