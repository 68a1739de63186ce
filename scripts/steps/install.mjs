// Installs the packages that package-lock.json lists, unless they are there, and checks the Node among them.

import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exclusively } from './lock.mjs'
import { inModules, outerEnvironment, projectNode, readJson, root } from './project.mjs'
import { hashOf, readStamp } from './sources.mjs'
import { run, StepFailure, step } from './step.mjs'

const stampFile = inModules('.crosswind-installed')
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'

/** Makes sure that the packages are there and that the project's Node runs; throws StepFailure when it cannot. */
export async function ensureInstalled() {
  if (!isInstalled()) {
    await exclusively(async () => {
      if (!isInstalled()) await step('installing packages', install)
    })
  }
  checkProjectNode()
}

const lockHash = () => hashOf(['package-lock.json'])

function isInstalled() {
  if (readStamp(stampFile) === lockHash()) return true
  const isSame = lists(join(root, 'package-lock.json'), inModules('.package-lock.json'))
  if (isSame) writeFileSync(stampFile, lockHash())
  return isSame
}

function lists(lockFile, installedFile) {
  return (
    existsSync(installedFile) && isComplete(readJson(lockFile).packages, readJson(installedFile).packages)
  )
}

/**
 * Whether npm's record of what it installed holds what the lock file wants. Packages for other systems are
 * marked optional and may be missing; nothing may be of another version.
 */
export function isComplete(wanted, installed) {
  return Object.entries(wanted).every(([path, { version, integrity, optional, link }]) => {
    const found = installed[path]
    if (path === '' || link === true) return true
    if (found === undefined) return optional === true
    return found.version === version && found.integrity === integrity
  })
}

async function install() {
  // As quiet as npm goes, and with what the tests need, whatever NODE_ENV says.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const sentence = 'Installing packages failed (npm ci); what npm says stands above.'
  await run(npm, args, { sentence, env: outerEnvironment() })
  writeFileSync(stampFile, lockHash())
}

function checkProjectNode() {
  const wanted = majorOf(readJson(join(root, 'package.json')).dependencies.node)
  const { stdout } = spawnSync(projectNode, ['--version'], { encoding: 'utf8' })
  if (majorOf(stdout ?? '') !== wanted) throw new StepFailure(adviceOnNode(wanted))
}

/** The first number in a version or a range: `^26.10.0` is 26; NaN when there is none. */
export function majorOf(version) {
  return Number(version.match(/\d+/)?.[0])
}

function adviceOnNode(wanted) {
  return [
    `Crosswind brings its own Node ${wanted}, but npm was not allowed to run the script that installs it.`,
    'Allow it once with: npm rebuild node --ignore-scripts=false --foreground-scripts',
  ].join('\n')
}
