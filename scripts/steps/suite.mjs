// Everything that has to hold: types, lint, tests. Node's own summary of the tests comes last.

import os from 'node:os'
import { ensureBrowser } from './browser.mjs'
import { ensureBuilt } from './build.mjs'
import { ensureInstalled } from './install.mjs'
import { launch } from './launch.mjs'
import { tool } from './project.mjs'
import { filesBelow } from './sources.mjs'
import { run, StepFailure, showFailure, step } from './step.mjs'

/** For one file or test, and for all of them together. */
const fileTimeoutMs = 10 * 60 * 1000
const totalTimeoutMs = 25 * 60 * 1000

/**
 * Runs the suite; answers the exit code. Words narrow it to test files whose path contains one of them, and then
 * leave out types and lint; options (`--test-name-pattern=…`) go to Node's test runner.
 */
export async function runSuite(argv, { withBrowser }) {
  const patterns = argv.filter((word) => !word.startsWith('--'))
  const options = argv.filter((word) => word.startsWith('--') && word !== '--')
  await ensureInstalled()
  const files = selectTests(testFiles(), patterns).filter((file) => withBrowser || !isBrowserTest(file))
  if (files.length === 0) throw new StepFailure(`No test file has ${patterns.join(' or ')} in its path.`)
  const browser = files.some(isBrowserTest) ? await prepareBrowser() : {}
  const isSound = patterns.length > 0 || (await check())
  const code = await runTests(files, options, browser)
  return isSound ? code : 1
}

/** Test files among all, by words in their paths; all of them without a word. */
export function selectTests(files, patterns) {
  return patterns.length === 0 ? files : files.filter((file) => patterns.some((word) => file.includes(word)))
}

export const isBrowserTest = (file) => file.endsWith('.browser.test.ts')

function testFiles() {
  const modules = ['server', 'web', 'certs', 'e2e']
    .flatMap(filesBelow)
    .filter((file) => file.endsWith('.test.ts'))
  return [...modules, ...filesBelow('scripts').filter((file) => file.endsWith('.test.mjs'))]
}

async function prepareBrowser() {
  const browser = await ensureBrowser()
  await ensureBuilt()
  return browser
}

async function check() {
  const types = await holds('types', tool('tsc'), ['--noEmit', '--project', '.'])
  const lint = await holds('lint', tool('biome'), ['check'])
  return types && lint
}

/** Whether a step passed. A failure is shown at once and does not keep the next steps from running. */
async function holds(name, command, args) {
  try {
    await step(name, () => run(command, args, { sentence: `The step "${name}" failed.` }))
    return true
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error
    showFailure(error)
    return false
  }
}

function runTests(files, options, env) {
  process.stdout.write(`  tests, ${files.length} files\n`)
  const limits = [`--test-concurrency=${concurrency()}`, `--test-timeout=${fileTimeoutMs}`]
  return launch(['--test', ...limits, ...options, ...files], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: totalTimeoutMs,
  })
}

/** A browser keeps a core busy: no more files at a time than cores, and never more than four. */
function concurrency() {
  const cores = os.availableParallelism?.() ?? os.cpus().length
  return Math.min(4, Math.max(1, cores))
}
