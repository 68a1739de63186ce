// The npm commands: `node scripts/run.mjs NAME …`. Runs on Node 18 and later, without packages.

import {
  goOnWithoutOutput,
  launch,
  StepFailure,
  serverEnvironment,
  serverFlags,
  showFailure,
} from './child-process.mjs'
import { pack } from './pack.mjs'
import { ensureBuilt, ensureInstalled, ensurePrograms, ensureSqsServer } from './preparation.mjs'
import { release } from './release.mjs'
import { showShape } from './shape.mjs'
import { runSuite } from './suite.mjs'

/** Each resolves to the exit code. The keys are package.json's script names. */
const commands = {
  start: (words) =>
    launchServer([...serverFlags, 'app/main.ts', ...words], {
      needsPage: !wantsHelp(words),
      env: serverEnvironment,
    }),
  /** The same server, with the sources in place of the build. */
  dev: (words) => launchProgram(['scripts/development.mjs', ...words]),
  lab: (words) => launchLab(words),
  bench: (words) => launchLab(words),
  conformance: (words) => launchProgram(['e2e/lab-command.ts', 'conformance', ...words]),
  report: (words) => launchProgram(['e2e/lab-command.ts', 'report', ...words]),
  reproduce: (words) => launchProgram(['e2e/reproduce/reproduce.ts', ...words]),
  goldens: (words) => launchGoldens(words),
  doctor: (words) => launchProgram(['e2e/lab-command.ts', 'doctor', ...words]),
  invite: (words) => launchServer(['app/invite.ts', ...words]),
  trust: (words) => launchServer(['app/trust.ts', ...words]),
  backup: (words) => launchServer(['app/backup.ts', 'backup', ...words]),
  restore: (words) => launchServer(['app/backup.ts', 'restore', ...words]),
  sensor: (words) => launchServer(['app/sensor-command.ts', ...words]),
  async build() {
    await ensureInstalled()
    await ensureBuilt()
    return 0
  },
  async pack() {
    process.stdout.write(`  The packages are in ${await pack()}.\n`)
    return 0
  },
  /** The packages' public types, in docs/api. */
  api: (words) => launchProgram(['scripts/api-report.mjs', ...words]),
  /** The documentation's site, in dist/site. */
  docs: (words) => launchProgram(['scripts/site/build.ts', ...words]),
  /** Lists what a release still lacks; with a version, writes it everywhere. */
  release: (words) => release(words),
  /** Types, lint and the tests of a tier; words select test files by path. */
  check: (words) => runSuite(words, 'check'),
  test: (words) => runSuite(words, 'test'),
  'test:all': (words) => runSuite(words, 'all'),
  /** Module depth, compared with the last release or a given commit. */
  shape: (words) => showShape(words),
}

/** Scenarios that use load clients and no browser. */
const withoutBrowser = [
  'pubsub',
  'capacity',
  'outages',
  'fanout',
  'message',
  'scaling',
  'stages',
  'frames',
  'transfer',
]

function launchLab(words) {
  const needsPage = !wantsHelp(words) && !['frames', 'transfer'].includes(words[0])
  const needsBrowser = needsPage && !withoutBrowser.includes(words[0])
  const brokers = needsPage && ['pubsub', 'outages'].includes(words[0]) ? brokersIn(words) : []
  return launchProgram(['e2e/lab-command.ts', ...words], { needsPage, needsBrowser, brokers })
}

/** Reads `--brokers none,nats` or `--brokers=none,nats`; all brokers without it. */
function brokersIn(words) {
  const place = words.findIndex((word) => word === '--brokers' || word.startsWith('--brokers='))
  const list = place < 0 ? 'nats,sqs' : (words[place].split('=')[1] ?? words[place + 1] ?? '')
  return list.split(',').map((name) => name.trim())
}

function launchGoldens(words) {
  const kinds = words.filter((word) => !word.startsWith('-'))
  const needsPage = !wantsHelp(words) && (kinds.length === 0 || kinds.includes('pages'))
  return launchProgram(['e2e/goldens/goldens.ts', ...words], { needsPage, needsBrowser: needsPage })
}

const wantsHelp = (words) => words.some((word) => word === '--help' || word === '-h')

const launchServer = (words, options) => launchProgram(words, { ...options, withDev: false })

async function launchProgram(
  words,
  { needsBrowser = false, needsPage = false, brokers = [], withDev = true, env = {} } = {},
) {
  await ensureInstalled({ withDev })
  const programs = {
    ...(needsBrowser && (await ensurePrograms('chromium'))),
    ...(brokers.includes('nats') && (await ensurePrograms('nats'))),
  }
  if (brokers.includes('sqs')) await ensureSqsServer()
  if (needsPage) await ensureBuilt()
  return launch(words, { env: { ...env, ...programs } })
}

async function main([name, ...words]) {
  try {
    if (!Object.hasOwn(commands, name ?? ''))
      throw new StepFailure(`There is no command ${name}; there are ${Object.keys(commands).join(', ')}.`)
    // Some versions of npm pass `--` on.
    process.exitCode = await commands[name](words[0] === '--' ? words.slice(1) : words)
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error
    showFailure(error)
    process.exitCode = 1
  }
}

goOnWithoutOutput()
await main(process.argv.slice(2))
