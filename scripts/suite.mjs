// The test suite: types, lint, tests.

import os from 'node:os'
import { join } from 'node:path'
import { launch, root, runTool, StepFailure, showFailure, step, tool } from './child-process.mjs'
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
  const files = selectTests(tests, patterns).filter((file) => withPrograms || !isProgramTest(file))
  if (files.length === 0) throw new StepFailure(`No test file has ${patterns.join(' or ')} in its path.`)
  const programs = {
    ...(files.some(isBrowserTest) && (await ensurePrograms('chromium'))),
    ...(files.some(isFirefoxTest) && (await ensurePrograms('firefox'))),
    ...(files.some((file) => isBrokerTest(file) || isExampleTest(file)) && (await ensurePrograms('nats'))),
  }
  if (files.some(isSqsTest)) await ensureSqsServer()
  // Tests of the server's program and of the lab also serve the built page.
  await ensureBuilt()
  const isSound = patterns.length > 0 || (await check())
  const code = await runTests(files, options, programs)
  return isSound ? code : 1
}

export function selectTests(files, patterns) {
  return patterns.length === 0 ? files : files.filter((file) => patterns.some((word) => file.includes(word)))
}

/** Those that start programs: browsers, brokers, servers, the lab. */
export const isProgramTest = (file) => /\.(browser|firefox|broker|program)\.test\.ts$/.test(file)

export const isBrowserTest = (file) => file.endsWith('.browser.test.ts') || isFirefoxTest(file)

const isFirefoxTest = (file) => file.endsWith('.firefox.test.ts')

/** Tests of logs on other servers, such as NATS. */
const isBrokerTest = (file) => file.endsWith('.broker.test.ts')
/** One of the examples needs NATS. */
const isExampleTest = (file) => file.endsWith('examples.browser.test.ts')
const isSqsTest = (file) => isBrokerTest(file) && file.includes('sqs')

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

function runTests(files, options, env) {
  process.stdout.write(`  tests, ${files.length} files\n`)
  // Tests wait, too: two files more than cores.
  const concurrency = 2 + (os.availableParallelism?.() ?? os.cpus().length)
  const limits = [`--test-concurrency=${concurrency}`, `--test-timeout=${fileTimeoutMs}`]
  return launch(['--test', ...limits, ...options, ...files], {
    // Each file is a process of its own, which compiles the same modules.
    env: { ...env, NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled') },
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: totalTimeoutMs,
  })
}
