// The test suite in three tiers: `npm run check`, `npm test` and `npm run test:all`.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { launch, root, runTool, StepFailure, showFailure, step, tool } from './child-process.mjs'
import { ensureBuilt, ensureInstalled, ensurePrograms, ensureSqsServer, filesBelow } from './preparation.mjs'

/** Each tier runs the tests of those before it, too. */
export const tiers = ['check', 'test', 'all']

const minute = 60 * 1000

/** Per file, and in total, in ms by tier. They end a hang; even a busy machine needs less. */
const limitsMs = {
  check: { file: 10 * minute, total: 40 * minute },
  test: { file: 10 * minute, total: 40 * minute },
  all: { file: 30 * minute, total: 120 * minute },
}

/**
 * Resolves to the exit code. Words select test files of all tiers by path, and skip types and lint;
 * options (`--test-name-pattern=…`) go to Node's test runner.
 */
export async function runSuite(argv, tier) {
  const words = argv.filter((word) => !word.startsWith('--'))
  const options = argv.filter((word) => word.startsWith('--') && word !== '--')
  await ensureInstalled()
  const all = ['protocol', 'client', 'server', 'sensor', 'app', 'web', 'certs', 'e2e', 'scripts'].flatMap(
    filesBelow,
  )
  const tests = all.filter((file) => /\.test\.(ts|mjs)$/.test(file))
  const files = words.length > 0 ? selectTests(tests, words) : testsOf(tests, tier)
  if (files.length === 0) throw new StepFailure(`No test file has ${words.join(' or ')} in its path.`)
  const programs = {
    ...(files.some(isChromiumTest) && (await ensurePrograms('chromium'))),
    ...(files.some(isFirefoxTest) && (await ensurePrograms('firefox'))),
    ...(files.some((file) => isBrokerTest(file) || isExampleTest(file)) && (await ensurePrograms('nats'))),
    ...(files.some(isStoreTest) && (await ensurePrograms('postgres'))),
    ...(files.some(isStoreTest) && (await ensurePrograms('redis'))),
  }
  if (files.some(isSqsTest)) await ensureSqsServer()
  // Tests of the server's program and of the lab also serve the built page.
  if (files.some(isProgramTest)) await ensureBuilt()
  const isSound = words.length > 0 || (await check())
  const env = { ...programs, ...(tier === 'all' && { CROSSWIND_SEED: seedOfRun() }) }
  const limits = limitsMs[words.length > 0 ? 'all' : tier]
  const code = await inRunFolder((folder) => runTests(files, options, limits, { ...env, TMPDIR: folder }))
  return isSound ? code : 1
}

export function selectTests(files, words) {
  return files.filter((file) => words.some((word) => file.includes(word)))
}

export function testsOf(files, tier) {
  return files.filter((file) => tiers.indexOf(tierOf(file)) <= tiers.indexOf(tier))
}

/** The lowest tier that runs the file, by its name. */
export function tierOf(file) {
  if (/\.long\./.test(file)) return 'all'
  return isProgramTest(file) ? 'test' : 'check'
}

/** Tests that start programs: browsers, brokers, servers, the lab, pseudo-terminals. */
const isProgramTest = (file) => /\.(browser|firefox|broker|program|pty)\.test\.ts$/.test(file)

const isFirefoxTest = (file) => file.endsWith('.firefox.test.ts')
/** Some of Firefox's tests open Chromium beside it; pseudo-terminals need socat, which comes with it. */
const isChromiumTest = (file) => /\.(browser|firefox|pty)\.test\.ts$/.test(file)
/** Tests of logs on other servers, such as NATS. */
const isBrokerTest = (file) => file.endsWith('.broker.test.ts')
/** Those of logs on NATS, PostgreSQL and Redis alike. */
const isStoreTest = (file) => file.endsWith('.long.broker.test.ts')
/** One of the examples needs NATS. */
const isExampleTest = (file) => /\/examples\.(long\.)?browser\.test\.ts$/.test(file)
const isSqsTest = (file) => isBrokerTest(file) && file.includes('sqs')

/** Reports a failure at once without stopping later steps. */
async function check() {
  let isSound = true
  for (const [name, program, ...args] of [
    ['types', 'tsc', '--noEmit', '--project', '.'],
    ['public types', 'node', 'scripts/api-report.mjs', '--check'],
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

/** Derived from the commit, so that each commit tries other cases and any can be repeated. */
function seedOfRun(given = process.env.CROSSWIND_SEED) {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' })
  const seed = given || String(Number.parseInt(stdout?.slice(0, 7) || '1', 16))
  process.stdout.write(`  seed ${seed} (CROSSWIND_SEED)\n`)
  return seed
}

/** Everything that a run leaves behind, also browsers that were killed, is in one folder. */
async function inRunFolder(work) {
  const folder = mkdtempSync(join(os.tmpdir(), 'crosswind-run-'))
  // PostgreSQL, which refuses to run as root, has its data there, too.
  chmodSync(folder, 0o711)
  try {
    return await work(folder)
  } finally {
    // A browser that was just killed may still write.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  }
}

function runTests(files, options, limits, env) {
  process.stdout.write(`  tests, ${files.length} files\n`)
  // Tests wait, too: two files more than cores.
  const concurrency = 2 + (os.availableParallelism?.() ?? os.cpus().length)
  const flags = [`--test-concurrency=${concurrency}`, ...endingAfter(limits.file)]
  const hasReporter = options.some((option) => option.startsWith('--test-reporter'))
  return launch(['--test', ...flags, ...(hasReporter ? [] : reporters), ...options, ...files], {
    // Each file is a process of its own, which compiles the same modules.
    env: { ...env, NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled') },
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: limits.total,
  })
}

/** Node's flags that end a test, or a file whose process stays open, after `ms`. */
export function endingAfter(ms) {
  const guard = pathToFileURL(join(root, 'scripts/hang.mjs'))
  return [`--test-timeout=${ms}`, `--import=${guard.href}?limit=${ms}`]
}

const reporters = ['spec', pathToFileURL(join(root, 'scripts/skipped.mjs')).href].flatMap((name) => [
  `--test-reporter=${name}`,
  '--test-reporter-destination=stdout',
])
