// `npm run release`: lists what a release still lacks, and prints its note; with a version, writes
// it everywhere.

import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runTool, StepFailure, tool } from './child-process.mjs'
import { libraries } from './libraries.mjs'
import { filesBelow } from './preparation.mjs'

/** package.json, and the files that repeat its version. */
export const versionedFiles = () =>
  [
    'package.json',
    'package-lock.json',
    ...[...Object.values(libraries), 'e2e'].map((folder) => `${folder}/package.json`),
    ...['docs', 'examples', 'README.md'].flatMap(filesBelow),
  ].filter((path) => /\.(json|md)$/.test(path))

/** Our own packages' versions, wherever a manifest, the lock or a command names them. */
const repeated =
  /("name": "(?:crosswind|@crosswind\/\w+)",\s*"version": "|"@crosswind\/\w+": "|crosswind-(?:client|lab|postgres|react|redis|server)-)(\d[\w.-]*?)(?="|\.tgz)/g

const read = (path) => readFileSync(join(root, path), 'utf8')

export const versionsIn = (text) => Array.from(text.matchAll(repeated), ([, , version]) => version)

export const withVersion = (text, version) => text.replaceAll(repeated, `$1${version}`)

/** The sections of CHANGELOG.md, newest first; the date of an unreleased one is undefined. */
export function sectionsOf(changelog) {
  return changelog
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [, name, date] = /^\[(.*)\](?: - (.*))?/.exec(section) ?? []
      return { name, date, text: section.slice(section.indexOf('\n')).trim() }
    })
}

export const cites = (citation, { name, date }) =>
  citation.includes(`\nversion: ${name}\ndate-released: ${date}\n`)

/** Sentences; none if `version` may be tagged. `texts`: those of CHANGELOG.md and CITATION.cff. */
export function lacking(version, { changelog, citation }) {
  const [unreleased, newest] = sectionsOf(changelog)
  const isNamed = newest?.name === version && /^\d{4}-\d\d-\d\d$/.test(newest.date ?? '')
  return [
    (unreleased?.name !== 'Unreleased' || unreleased.text !== '') &&
      'CHANGELOG.md does not begin with an empty section [Unreleased].',
    !isNamed && `CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD" below it.`,
    isNamed && !cites(citation, newest) && 'CITATION.cff has another version or date.',
  ].filter(Boolean)
}

/** Resolves to the exit code. */
export async function release([wanted], { print = console.log } = {}) {
  if (wanted !== undefined) return writeVersion(wanted, print)
  const { version } = JSON.parse(read('package.json'))
  const changelog = read('CHANGELOG.md')
  const differing = versionedFiles().filter((path) => versionsIn(read(path)).some((one) => one !== version))
  const git = spawnSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' })
  const sentences = [
    ...differing.map((path) => `${path} does not name version ${version}.`),
    ...lacking(version, { changelog, citation: read('CITATION.cff') }),
    ...(git.stdout === '' ? [] : ['The working tree has changes.']),
    ...(await apiReport()),
  ]
  if (sentences.length > 0) throw new StepFailure(`Version ${version} is not ready.`, sentences.join('\n'))
  print(sectionsOf(changelog)[1].text)
  return 0
}

async function apiReport() {
  try {
    const sentence = 'docs/api is not current.'
    await runTool(tool('node'), ['scripts/api-report.mjs', '--check'], { sentence })
    return []
  } catch (error) {
    if (error instanceof StepFailure) return [error.message]
    throw error
  }
}

function writeVersion(version, print) {
  if (!/^\d+\.\d+\.\d+(-[\w.-]+)?$/.test(version))
    throw new StepFailure(`"${version}" is not a version; write one like 1.2.3.`)
  for (const path of versionedFiles()) {
    const before = read(path)
    const after = withVersion(read(path), version)
    if (after === before) continue
    writeFileSync(join(root, path), after)
    print(`  ${path}`)
  }
  return 0
}
