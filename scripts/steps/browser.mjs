// Makes sure that Chromium and its driver are there, which the browser tests and the lab drive.

import { spawnSync } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import { exclusively } from './lock.mjs'
import { outerEnvironment, outerPath } from './project.mjs'
import { run, StepFailure, step } from './step.mjs'

const debianPackages = ['chromium', 'chromium-driver', 'socat']

export const advice = `Chromium and ChromeDriver are needed here. Install them, or name them in CROSSWIND_CHROMIUM and CROSSWIND_CHROMEDRIVER:
  Debian   apt-get install chromium chromium-driver socat
  Ubuntu   snap install chromium
  Fedora   dnf install chromium chromedriver socat
  macOS    brew install --cask chromium chromedriver && brew install socat
  Windows  winget install Google.Chrome, and the ChromeDriver of the same version`

/**
 * The programs' paths as environment variables, `CROSSWIND_CHROMIUM` and `CROSSWIND_CHROMEDRIVER`; installs
 * Debian's packages first where it may. Throws StepFailure that says what to install where it may not.
 */
export async function ensureBrowser() {
  if (!isComplete() && mayInstall()) await exclusively(() => step('installing Chromium', installPackages))
  const found = findBrowser()
  if (found === null) throw new StepFailure(advice)
  return found
}

/** Both programs, or null when one is missing. */
export function findBrowser(env = process.env, folders = outerPath()) {
  const first = (names) => names.map((name) => findProgram(name, folders)).find((path) => path !== null)
  const chromium = env.CROSSWIND_CHROMIUM || first(['chromium', 'chromium-browser', 'google-chrome'])
  const driver = env.CROSSWIND_CHROMEDRIVER || first(['chromedriver', 'chromium.chromedriver'])
  return chromium && driver ? { CROSSWIND_CHROMIUM: chromium, CROSSWIND_CHROMEDRIVER: driver } : null
}

/** socat joins two ends to a serial line without hardware: the tests of the serial port need it. */
const isComplete = () => findBrowser() !== null && findProgram('socat') !== null

/** The path of a program in PATH; null when it is not there. */
export function findProgram(name, folders = outerPath()) {
  const names = process.platform === 'win32' ? [`${name}.exe`] : [name]
  const candidates = folders.flatMap((folder) => names.map((file) => join(folder, file)))
  return candidates.find(isProgram) ?? null
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch (error) {
    if (['ENOENT', 'EACCES', 'ENOTDIR'].includes(error.code)) return false
    throw error
  }
}

const isRoot = () => process.getuid?.() === 0

const mayInstall = () => findProgram('apt-get') !== null && (isRoot() || hasSudo())

const hasSudo = () => spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0

async function installPackages() {
  await aptGet('update', '--quiet')
  await aptGet('install', '--yes', '--no-install-recommends', ...debianPackages)
}

async function aptGet(...words) {
  const sudo = isRoot() ? [] : ['sudo', '-n']
  // env, because sudo passes no variables on; the timeout, because another apt-get may be at work.
  const silently = ['env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-o', 'DPkg::Lock::Timeout=120']
  const [command, ...args] = [...sudo, ...silently, ...words]
  await run(command, args, { sentence: `apt-get ${words[0]} failed.\n${advice}`, env: outerEnvironment() })
}
