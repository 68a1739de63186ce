// `npm run shape`: module depth, and its change since a release or another commit.

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { root, StepFailure } from './child-process.mjs'

const folders = ['client', 'server', 'web', 'e2e', 'certs', 'scripts']
const isSource = (path) => /(?<!\.d)\.(tsx?|mts|mjs|css)$/.test(path) && folders.includes(path.split('/')[0])
/** Tests, contract suites and helpers; the last two folders hold nothing else. */
const isTest = (path) =>
  /\.test\.\w+$|-contract\.ts$|\/([\w-]+-)?testing[\w-]*\.ts$|fixtures|^e2e\/(conformance|windows)\//.test(
    path,
  )

/**
 * Compares with `commit` or the newest tag, if any. Resolves to the exit code. Throws StepFailure
 * for an unknown commit.
 */
export async function showShape([commit], { folder = root, print = console.log } = {}) {
  const git = (...args) => spawnSync('git', args, { cwd: folder, encoding: 'utf8' }).stdout ?? ''
  const sourcesIn = (list) => list.split('\n').filter(isSource)
  const textsOf = (paths, read) => paths.map((path) => [path, read(path)])
  const release = commit ?? git('describe', '--tags', '--abbrev=0').trim()
  const listed = git('ls-tree', '-r', '--name-only', release)
  if (commit && !listed) throw new StepFailure(`git knows no commit ${commit}.`)
  const before = release && shapeOf(textsOf(sourcesIn(listed), (path) => git('show', `${release}:${path}`)))
  const present = sourcesIn(git('ls-files', '--cached', '--others', '--exclude-standard')).filter((path) =>
    existsSync(join(folder, path)),
  )
  const now = shapeOf(textsOf(present, (path) => readFileSync(join(folder, path), 'utf8')))
  const width = Math.max(...Object.keys(now.figures).map((name) => name.length))
  const row = (name, ...cells) =>
    print(`  ${name.padEnd(width)}${cells.map((cell) => cell.padStart(12)).join('')}`.trimEnd())
  print('')
  row('', 'now', ...(before ? [release, 'change'] : []))
  for (const [name, value] of Object.entries(now.figures)) {
    const old = before ? before.figures[name] : null
    const change = value - old
    row(name, rounded(value), ...(before ? [rounded(old), `${change > 0 ? '+' : ''}${rounded(change)}`] : []))
  }
  print('')
  if (now.repeated.length > 0) print(`  Repeated names: ${now.repeated.join(', ')}\n`)
  return 0
}

const rounded = (value) => String(Number(value.toFixed(Math.abs(value) < 10 ? 2 : 1)))

function shapeOf(files) {
  const product = files.filter(([path]) => !isTest(path))
  const texts = product.map(([, text]) => text)
  const sum = (pattern) => texts.reduce((all, text) => all + count(text, pattern), 0)
  const lines = sum(/\n/g)
  const lengths = texts.map((text) => count(text, /\n/g)).sort((a, b) => a - b)
  const importers = importersAmong(product)
  const names = new Map()
  for (const [path] of product) {
    const name = posix.basename(path).replace(/\..*$/, '')
    names.set(name, (names.get(name) ?? 0) + 1)
  }
  const repeated = [...names].filter(([, times]) => times > 1)
  const figures = {
    files: product.length,
    lines,
    'median lines': lengths[lengths.length >> 1] ?? 0,
    'lines per export': lines / sum(/^export /gm),
    'relative imports per 100 lines': (100 * sum(relativeImport)) / lines,
    'one importer, %': (100 * product.filter(([path]) => importers.get(path) === 1).length) / product.length,
    'repeated base names': repeated.length,
  }
  return {
    figures,
    repeated: repeated.map(([name, times]) => (times > 2 ? `${name} (${times})` : name)).sort(),
  }
}

const relativeImport = /^(?:import|export)\b[^'"]*?['"]\.{1,2}\//gm

/** Counts any quoted relative path, not only imports. */
function importersAmong(files) {
  const importers = new Map()
  for (const [path, text] of files) {
    const named = Array.from(text.matchAll(/['"](\.{1,2}\/[^'"\n]+)['"]/g), ([, name]) =>
      posix.join(posix.dirname(path), name),
    )
    for (const name of new Set(named)) importers.set(name, (importers.get(name) ?? 0) + 1)
  }
  return importers
}

const count = (text, pattern) => text.match(pattern)?.length ?? 0
