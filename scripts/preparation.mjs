// Installs packages, browsers and brokers, and builds the web app. Runs on Node 18 and later.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  outerEnvironment,
  outerPath,
  projectNode,
  root,
  runTool,
  StepFailure,
  step,
} from './child-process.mjs'
import { exclusively } from './lock.mjs'

// The server does not serve dot files.
const builtFile = join(root, 'web/dist/.built-from')

/**
 * Without `withDev`, requires only what the server runs on (`npm prune --omit=dev`). Throws
 * StepFailure if the packages or the project's Node are unusable.
 */
export async function ensureInstalled({ withDev = true } = {}) {
  await prepare(() => isInstalled(withDev), 'installing packages', install)
  const wanted = majorOf(readJson('package.json').dependencies.node)
  const { stdout } = spawnSync(projectNode, ['--version'], { encoding: 'utf8' })
  if (majorOf(stdout ?? '') === wanted) return
  throw new StepFailure(`Crosswind brings its own Node ${wanted}, but npm was not allowed to run the script that installs it.
Allow it once with: npm rebuild node --ignore-scripts=false --foreground-scripts`)
}

/** Throws StepFailure if the build of web/dist fails. */
export async function ensureBuilt() {
  const isBuilt = () => isStamped(builtFile, hashOf(buildSources()))
  if (isBuilt()) return
  await ensureInstalled()
  await prepare(isBuilt, 'building the web app', build)
}

/** No installation takes this long. */
const staleMs = 30 * 60 * 1000

async function prepare(isReady, name, work) {
  if (!isReady()) await inTurn(async () => isReady() || (await step(name, work)))
}

/**
 * Of this project's commands, runs one at a time. The lock is outside the project, because `npm ci`
 * empties node_modules.
 */
export function inTurn(work) {
  const project = createHash('sha256').update(root).digest('hex').slice(0, 16)
  const onWait = () => process.stdout.write('  waiting for another Crosswind command to finish …\n')
  return exclusively(join(tmpdir(), `crosswind-${project}.lock`), work, { staleMs, onWait })
}

const isStamped = (file, hash) => existsSync(file) && readFileSync(file, 'utf8').trim() === hash

function isInstalled(withDev) {
  const record = 'node_modules/.package-lock.json'
  if (!existsSync(join(root, record))) return false
  return isComplete(readJson('package-lock.json').packages, readJson(record).packages, { withDev })
}

/**
 * Compares npm's install record with the lock file. Optional packages, for other systems, may be
 * missing.
 */
export function isComplete(wanted, installed, { withDev = true } = {}) {
  return Object.entries(wanted).every(([path, { version, integrity, optional, dev, devOptional, link }]) => {
    const found = installed[path]
    if (path === '' || link === true) return true
    if (found === undefined) return optional === true || devOptional === true || (!withDev && dev === true)
    return found.version === version && found.integrity === integrity
  })
}

async function install() {
  // Quiet; includes what tests need, whatever NODE_ENV says.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']
  const sentence = 'Installing packages failed (npm ci); see npm’s output above.'
  await runTool(process.platform === 'win32' ? 'npm.cmd' : 'npm', args, { sentence, env: outerEnvironment() })
}

/** `^26.10.0` is 26; NaN without a number. */
export function majorOf(version) {
  return Number(version.match(/\d+/)?.[0])
}

/** The sources of the web app. */
export function buildSources() {
  const sources = [
    'web',
    'client',
    'app/document',
    'app/shared',
    'protocol',
    'sensor/readings.ts',
    'sensor/wind-units.ts',
    'package-lock.json',
  ].flatMap(filesBelow)
  return sources.filter((file) => !/\.test\.tsx?$/.test(file))
}

async function build() {
  // Hashed before the build: a change during it triggers the next.
  const hash = hashOf(buildSources())
  const sentence = 'The web app does not build; see Vite’s output above.'
  await runTool(projectNode, ['node_modules/vite/bin/vite.js', 'build', 'web'], { sentence })
  writeFileSync(builtFile, hash)
}

const readJson = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'))

/** All files below a path, or the file itself; sorted, with forward slashes. */
export function filesBelow(path) {
  const full = join(root, path)
  if (!existsSync(full)) return []
  if (!statSync(full).isDirectory()) return [path]
  const names = readdirSync(full).filter((name) => !/^(node_modules$|dist$|\.)/.test(name))
  return names.sort().flatMap((name) => filesBelow(`${path}/${name}`))
}

export function hashOf(files) {
  const hash = createHash('sha256')
  for (const file of files) {
    const content = readFileSync(join(root, file))
    hash.update(`${file}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

/**
 * For each environment variable, which takes precedence over PATH, the usual names of a program.
 */
const needed = {
  chromium: {
    programs: {
      CROSSWIND_CHROMIUM: ['chromium', 'chromium-browser', 'google-chrome'],
      CROSSWIND_CHROMEDRIVER: ['chromedriver', 'chromium.chromedriver'],
    },
    // The serial port tests need socat, which connects two ends to a line without hardware.
    packages: ['chromium', 'chromium-driver', 'socat'],
    advice: `Chromium and ChromeDriver are needed here. Install them, or name them in CROSSWIND_CHROMIUM and CROSSWIND_CHROMEDRIVER:
  Debian   apt-get install chromium chromium-driver socat
  Ubuntu   snap install chromium
  Fedora   dnf install chromium chromedriver socat
  macOS    brew install --cask chromium chromedriver && brew install socat
  Windows  winget install Google.Chrome, and the ChromeDriver of the same version`,
  },
  firefox: {
    programs: { CROSSWIND_FIREFOX: ['firefox-esr', 'firefox'] },
    // The tests of trusted certificates need certutil, where it can be had.
    packages: ['firefox-esr', 'libnss3-tools'],
    advice: `Firefox is needed here. Install it, or name its program in CROSSWIND_FIREFOX:
  Debian   apt-get install firefox-esr
  Ubuntu   add-apt-repository ppa:mozillateam/ppa && apt-get install firefox-esr
  Fedora   dnf install firefox
  macOS    brew install --cask firefox; CROSSWIND_FIREFOX=/Applications/Firefox.app/Contents/MacOS/firefox
  Windows  winget install Mozilla.Firefox; CROSSWIND_FIREFOX="C:\\Program Files\\Mozilla Firefox\\firefox.exe"`,
  },
  nats: {
    programs: { CROSSWIND_NATS_PROGRAM: ['nats-server'] },
    packages: ['nats-server'],
    advice: `The tests of the broker need nats-server. Install it, or name its program in CROSSWIND_NATS_PROGRAM:
  Debian   apt-get install nats-server
  Ubuntu   apt-get install nats-server
  macOS    brew install nats-server
  Windows  winget install NATSAuthors.NATSServer`,
  },
  postgres: {
    programs: { CROSSWIND_POSTGRES_PROGRAM: ['postgres'] },
    packages: ['postgresql'],
    advice: `The tests of the log in PostgreSQL need its server. Install it, or name its program in CROSSWIND_POSTGRES_PROGRAM; initdb and
pg_basebackup must be beside it:
  Debian   apt-get install postgresql
  Ubuntu   apt-get install postgresql
  Fedora   dnf install postgresql-server
  macOS    brew install postgresql`,
  },
  redis: {
    programs: { CROSSWIND_REDIS_PROGRAM: ['redis-server'] },
    packages: ['redis-server'],
    advice: `The tests of the log in Redis need redis-server. Install it, or name its program in CROSSWIND_REDIS_PROGRAM:
  Debian   apt-get install redis-server
  Ubuntu   apt-get install redis-server
  Fedora   dnf install redis
  macOS    brew install redis`,
  },
}

/** Installs Debian's packages if permitted. Resolves and rejects as `findPrograms` does. */
export async function ensurePrograms(name) {
  const { packages, advice } = needed[name]
  const further = [
    ['socat', 'socat'],
    ['libnss3-tools', 'certutil'],
  ].filter(([one]) => packages.includes(one))
  const isReady = () => lookUp(name) !== null && further.every(([, program]) => findProgram([program]))
  if (!isReady() && findProgram(['apt-get']) && (isRoot() || hasSudo()))
    await prepare(isReady, `installing ${name}`, () => installPackages(packages, advice))
  return findPrograms(name)
}

/** A server with the SQS API. npm empties the folder of its jars; Maven keeps its own copies. */
const elasticMq = { source: 'scripts/elasticmq', jars: join(root, 'node_modules/.elasticmq') }
const elasticMqStamp = join(elasticMq.jars, '.installed')

const sqsAdvice = `The tests of the queue need ElasticMQ, which Maven installs and Java runs. Install both, or give the command of another
server that speaks the API of SQS, without its last word, the port, in CROSSWIND_SQS_PROGRAM:
  Debian   apt-get install default-jdk-headless maven
  Ubuntu   apt-get install default-jdk-headless maven
  Fedora   dnf install java-latest-openjdk-devel maven
  macOS    brew install openjdk maven
  Others   pip install "moto[server]"; CROSSWIND_SQS_PROGRAM="moto_server -H 127.0.0.1 -p"`

/**
 * Ensures the server that `scripts/sqs-server.ts` starts; installs Debian's Java and Maven if
 * permitted. Rejects with advice.
 */
export async function ensureSqsServer() {
  const isReady = () => isStamped(elasticMqStamp, hashOf(filesBelow(elasticMq.source)))
  if (process.env.CROSSWIND_SQS_PROGRAM) return
  await prepare(isReady, 'installing ElasticMQ', async () => {
    const hasTools = () => ['java', 'javac', 'mvn'].every((name) => findProgram([name]))
    if (!hasTools() && findProgram(['apt-get']) && (isRoot() || hasSudo()))
      await installPackages(['default-jdk-headless', 'maven'], sqsAdvice)
    if (!hasTools()) throw new StepFailure(sqsAdvice)
    rmSync(elasticMq.jars, { recursive: true, force: true })
    const copy = ['dependency:copy-dependencies', `-DoutputDirectory=${elasticMq.jars}`]
    const args = ['--batch-mode', '--quiet', '--file', join(root, elasticMq.source, 'pom.xml'), ...copy]
    const sentence = `Maven did not install ElasticMQ.\n${sqsAdvice}`
    await runTool(findProgram(['mvn']), args, { sentence, env: outerEnvironment() })
    writeFileSync(elasticMqStamp, hashOf(filesBelow(elasticMq.source)))
  })
}

/**
 * Finds the programs' paths by environment variable. Throws StepFailure with advice if one is
 * missing.
 */
export function findPrograms(name, env = process.env, folders = programFolders()) {
  const found = lookUp(name, env, folders)
  if (found === null) throw new StepFailure(needed[name].advice)
  return found
}

/** Debian keeps servers in folders that are not in everyone's PATH: PostgreSQL's in one for each version. */
const programFolders = () => [...outerPath(), '/usr/sbin', ...postgresFolders('/usr/lib/postgresql')]

const postgresFolders = (folder) =>
  existsSync(folder) ? readdirSync(folder).map((version) => join(folder, version, 'bin')) : []

function lookUp(name, env = process.env, folders = programFolders()) {
  const found = Object.entries(needed[name].programs).map(([variable, names]) => [
    variable,
    env[variable] || findProgram(names, folders),
  ])
  return found.every(([, path]) => path) ? Object.fromEntries(found) : null
}

function findProgram(names, folders = outerPath()) {
  const ending = process.platform === 'win32' ? '.exe' : ''
  return names.flatMap((name) => folders.map((folder) => join(folder, name + ending))).find(isProgram)
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

const isRoot = () => process.getuid?.() === 0

const hasSudo = () => spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0

async function installPackages(packages, advice) {
  // env: sudo passes no variables. Timeout: another apt-get may be running.
  const aptGet = ['env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-o', 'DPkg::Lock::Timeout=120']
  for (const words of [
    ['update', '--quiet'],
    ['install', '--yes', '--no-install-recommends', ...packages],
  ]) {
    const [command, ...args] = [...(isRoot() ? [] : ['sudo', '-n']), ...aptGet, ...words]
    const sentence = `apt-get ${words[0]} failed.\n${advice}`
    await runTool(command, args, { sentence, env: outerEnvironment() })
  }
}
