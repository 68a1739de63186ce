// Entry point of `npm run backup` and `npm run restore`: copies the data folder, restores a copy.

import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { whenReaderIsGone } from '../scripts/process.ts'
import { checkLogFile, copyLogFile, isLocked, LogFileError } from '../server/log-file.ts'
import { field } from '../server/settings.ts'
import { ConfigError, type ConfigSources, loadConfig, readFlags, wantsHelp } from './config/config.ts'

const folder = field(z.string().min(1).optional(), 'paths of folders')

const logName = 'log.db'

/** The log's lock, and SQLite's auxiliary files. */
const besideLog = /\.db-(lock|wal|shm)$/

const commands = { backup, restore }

const help = {
  backup: `Copies the data folder: the current log, and the key of the invitations. The server may be running.

  npm run backup -- --to FOLDER

FOLDER must be new or empty. The flags of \`npm start\` select the server: --config, --data-folder and others.
`,
  restore: `Replaces the data folder's content with a copy that \`npm run backup\` made. The server must be stopped.

  npm run restore -- --from FOLDER

The former content is kept in a folder beside it. Windows with later messages than the copy get a snapshot.
`,
}

/** Returns the text to print. Throws an Error with one sentence. */
export async function backup({ argv, env, cwd }: ConfigSources): Promise<string> {
  const { own, settings } = readFlags(argv, { to: folder })
  if (own.to === undefined) throw new ConfigError('--to is missing: name a new folder for the copy.')
  const config = await loadConfig({ argv: settings, env, cwd })
  const from = resolve(cwd, config.dataFolder)
  const to = resolve(cwd, own.to)
  if (existsSync(to) && readdirSync(to).length > 0)
    throw new ConfigError(`--to is ${to}, which is not empty; name a new folder.`)
  const hasLog = config.storage === 'sqlite' && config.broker !== 'nats'
  if (filesIn(from).length === 0 || (hasLog && !filesIn(from).includes(logName)))
    throw new ConfigError(
      `The data folder is ${from}, which has ${hasLog ? `no ${logName}` : 'nothing to copy'}; select another server with --config or --data-folder.`,
    )
  mkdirSync(to, { recursive: true, mode: 0o700 })
  const copied = copyAll(from, to)
  const notes = [
    ...(config.accessKeyFile === null ? [] : [`${config.accessKeyFile} is elsewhere: copy it too.`]),
    ...(config.broker === 'nats' ? ["The log is in NATS: copy it with NATS' own tools."] : []),
  ]
  return [`  Copied from ${from} to ${to}: ${copied.join(', ')}.`, ...notes, ''].join('\n  ')
}

/** Returns what was copied. Leaves nothing if it throws. */
function copyAll(from: string, to: string): string[] {
  try {
    return filesIn(from).map((name) => {
      const file = join(from, name)
      const copy = join(to, name)
      const head = name.endsWith('.db') ? copyLogFile(file, copy) : copyFileSync(file, copy)
      return name === logName ? `${name} up to message ${head}` : name
    })
  } catch (error) {
    rmSync(to, { recursive: true })
    throw error
  }
}

/**
 * Returns the text to print. Throws an Error with one sentence. Replaces nothing before the whole
 * copy was checked.
 */
export async function restore({ argv, env, cwd }: ConfigSources, now: number): Promise<string> {
  const { own, settings } = readFlags(argv, { from: folder })
  if (own.from === undefined) throw new ConfigError('--from is missing: name the folder of the copy.')
  const config = await loadConfig({ argv: settings, env, cwd })
  const from = resolve(cwd, own.from)
  const to = resolve(cwd, config.dataFolder)
  if (!filesIn(from).includes(logName))
    throw new ConfigError(
      `--from is ${from}, which has no ${logName}; name a folder that npm run backup made.`,
    )
  mkdirSync(to, { recursive: true, mode: 0o700 })
  if (isLocked(join(to, logName)))
    throw new Error(`A server has the log in ${to} open: stop it, restore, and start it again.`)
  const staged = join(to, 'restoring')
  const former = join(to, `before-${stamp(now)}`)
  try {
    mkdirSync(staged, { mode: 0o700 })
    for (const name of filesIn(from)) copyFileSync(join(from, name), join(staged, name))
    // Checks the copy before replacing anything.
    mustBeWhole(from, join(staged, logName))
    mkdirSync(former, { mode: 0o700 })
    for (const name of filesIn(to, /-lock$/)) move(join(to, name), join(former, name))
    for (const name of filesIn(staged)) renameSync(join(staged, name), join(to, name))
  } finally {
    rmSync(staged, { recursive: true, force: true })
  }
  return `  Restored ${to} from ${from}. The former content is in ${former}.\n  Windows with later messages get a snapshot, and restore what they hold of shared documents.\n`
}

function mustBeWhole(from: string, file: string): void {
  try {
    checkLogFile(file)
  } catch (error) {
    if (!(error instanceof LogFileError)) throw error
    throw new Error(`The copy in ${from} cannot be used, choose another one: ${error.message}`)
  }
}

/** Links to files count as files. Empty if there is no such folder. */
function filesIn(path: string, without = besideLog): string[] {
  if (!existsSync(path)) return []
  const isFile = (name: string) => statSync(join(path, name), { throwIfNoEntry: false })?.isFile()
  return readdirSync(path).filter((name) => !without.test(name) && isFile(name))
}

/** A relative link would lead elsewhere from another folder. */
function move(from: string, to: string): void {
  if (!lstatSync(from).isSymbolicLink()) return void renameSync(from, to)
  symlinkSync(realpathSync(from), to)
  rmSync(from)
}

/** Sortable, and valid in file names everywhere. */
const stamp = (now: number) => new Date(now).toISOString().slice(0, 19).replaceAll(':', '-')

if (import.meta.main) {
  // Completes the command even if nobody reads its output any more.
  whenReaderIsGone(() => undefined)
  const [name = '', ...argv] = process.argv.slice(2)
  try {
    if (name !== 'backup' && name !== 'restore') throw new Error(`There is no command "${name}".`)
    const sources = { argv, env: process.env, cwd: join(import.meta.dirname, '..') }
    const text = wantsHelp(argv) ? help[name] : await commands[name](sources, Date.now())
    process.stdout.write(`\n${text}\n`)
  } catch (error) {
    const what = name === 'restore' ? 'restored' : 'copied'
    console.error(`Nothing was ${what}. ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  }
}
