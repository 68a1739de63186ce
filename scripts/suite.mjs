// The test suite: types, lint, tests. Node's summary comes last, then the failures in Firefox.

import { existsSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { launch, runTool, StepFailure, showFailure, step, tool } from './child-process.mjs'
import { ensureBuilt, ensureInstalled, ensurePrograms, ensureSqsServer, filesBelow } from './preparation.mjs'

/** Per file or test, and in total. */
const fileTimeoutMs = 10 * 60 * 1000
const totalTimeoutMs = 40 * 60 * 1000

/**
 * Resolves to the exit code. Words select test files by path and skip types and lint; options
 * (`--test-name-pattern=…`) go to Node's test runner.
 */
export async function runSuite(argv, { withPrograms }) {
  const patterns = argv.filter((word) => !word.startsWith('--'))
  const options = argv.filter((word) => word.startsWith('--') && word !== '--')
  await ensureInstalled()
  const all = ['client', 'server', 'web', 'certs', 'e2e', 'scripts'].flatMap(filesBelow)
  const tests = all.filter((file) => /\.test\.(ts|mjs)$/.test(file))
  const files = selectTests(tests, patterns).filter(
    (file) => withPrograms || !(isBrowserTest(file) || isBrokerTest(file)),
  )
  if (files.length === 0) throw new StepFailure(`No test file has ${patterns.join(' or ')} in its path.`)
  const windows = files.filter(isWindowTest)
  const chromium = files.some(isBrowserTest) ? await ensurePrograms('chromium') : {}
  const firefox = windows.length > 0 ? await ensurePrograms('firefox') : {}
  const nats = files.some(isBrokerTest) ? await ensurePrograms('nats') : {}
  if (files.some(isSqsTest)) await ensureSqsServer()
  // Tests of the server's program and of the lab also serve the built page.
  await ensureBuilt()
  const isSound = patterns.length > 0 || (await check())
  const run = (name, chosen, more, browser) =>
    runTests(name, chosen, [...options, ...more], {
      ...chromium,
      ...firefox,
      ...nats,
      CROSSWIND_BROWSER: browser,
    })
  const failures = join(os.tmpdir(), `crosswind-failures-${process.pid}`)
  const hasReporter = options.some((option) => option.startsWith('--test-reporter'))
  const twice = hasReporter ? [] : alsoTo(failures)
  const firefoxCode = windows.length > 0 ? await run('tests in Firefox', windows, twice, 'firefox') : 0
  const code = await run('tests', files, [], 'chromium')
  if (firefoxCode !== 0) {
    const failed = existsSync(failures) ? readFileSync(failures, 'utf8') : ''
    process.stdout.write(`  The tests in Firefox failed; their summary is further up.\n${failed}`)
  }
  rmSync(failures, { force: true })
  return isSound ? code || firefoxCode : 1
}

/** Options that make this file a second reporter. */
export function alsoTo(file) {
  const own = [`--test-reporter=${fileURLToPath(import.meta.url)}`, `--test-reporter-destination=${file}`]
  return ['--test-reporter=spec', '--test-reporter-destination=stdout', ...own]
}

/** A reporter for Node's test runner: names and messages of failed tests. */
export default async function* report(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.details.error.failureType === 'subtestsFailed') continue
    const { message, cause } = data.details.error
    yield `  ✖ ${data.name} (${data.file})\n    ${(cause?.message ?? message).replaceAll('\n', '\n    ')}\n`
  }
}

export function selectTests(files, patterns) {
  return patterns.length === 0 ? files : files.filter((file) => patterns.some((word) => file.includes(word)))
}

export const isBrowserTest = (file) => file.endsWith('.browser.test.ts')

/** Tests of logs on other servers, such as NATS. */
const isBrokerTest = (file) => file.endsWith('.broker.test.ts')
const isSqsTest = (file) => isBrokerTest(file) && file.includes('sqs')

/** Browser tests that also run in Firefox. */
const isWindowTest = (file) =>
  /windows\/(access|share|shared-editor|survival|two-browsers|views|windows)\.browser\.test\.ts$/.test(file)

/** Reports a failure at once without stopping later steps. */
async function check() {
  let isSound = true
  for (const [name, program, ...args] of [
    ['types', 'tsc', '--noEmit', '--project', '.'],
    ['lint', 'biome', 'check'],
  ])
    try {
      await step(name, () => runTool(tool(program), args, { sentence: `The step "${name}" failed.` }))
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error
      showFailure(error)
      isSound = false
    }
  return isSound
}

function runTests(name, files, options, env) {
  process.stdout.write(`  ${name}, ${files.length} files\n`)
  // Tests wait as much as they compute: one file more than cores.
  const concurrency = Math.min(4, 1 + (os.availableParallelism?.() ?? os.cpus().length))
  const limits = [`--test-concurrency=${concurrency}`, `--test-timeout=${fileTimeoutMs}`]
  return launch(['--test', ...limits, ...options, ...files], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: totalTimeoutMs,
  })
}
