// Entry point of `npm run trust`: this user's browsers trust the server's own certificate, or no longer do.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { z } from 'zod'
import { ensureCertificate } from '../certs/certificate.ts'
import { type Command, missing, planTrust, type Step } from '../certs/trust.ts'
import { whenReaderIsGone } from '../scripts/process.ts'
import { ConfigError, readFlags, wantsHelp } from './config/config.ts'

const help = `Makes your browsers on this computer trust the server's own certificate, so that they show no warning.

  npm run trust             says what it does, and asks
  npm run trust -- --undo   they no longer trust it
  npm run trust -- --yes    does not ask

Only your own account is changed. On Linux it needs certutil (package libnss3-tools).
`

/** The computer as this command uses it. */
interface Computer {
  /** The server's authority, made if it is missing. */
  readonly authority: () => Promise<{ readonly pem: string; readonly file: string }>
  readonly plan: (authority: string, authorityFile: string, undo: boolean) => readonly Step[]
  /** The error that a command printed; null if it succeeded. Throws an Error if there is no such command. */
  readonly run: (command: Command) => string | null
  readonly makeFolder: (folder: string) => void
  /** Null if nobody can be asked. */
  readonly ask: ((question: string) => Promise<string>) | null
  readonly print: (text: string) => void
}

/** Throws an Error with one sentence, which says what was not changed. */
export async function trust(
  argv: readonly string[],
  { authority, plan, run, makeFolder, ask, print }: Computer,
): Promise<void> {
  if (wantsHelp(argv)) return print(help)
  const { own, settings } = readFlags(argv, {
    undo: z.boolean().default(false),
    yes: z.boolean().default(false),
  })
  if (settings.length > 0)
    throw new ConfigError(`${settings[0]} is for the server; here are --undo and --yes.`)
  const { undo, yes } = own
  const { pem, file } = await authority()
  const steps = plan(pem, file, undo).filter(({ finding }) => finding === null || run(finding) === null)
  if (steps.length === 0 && undo) return print(`\n  No browser of this account trusts ${file}.\n\n`)
  if (steps.length === 0) throw new Error('No browser of this account has a store of certificates.')
  print(announcement(file, steps, undo))
  if (!yes && !undo) {
    if (!ask) throw new Error('Nobody can be asked here; agree with --yes.')
    if (!/^y(es)?$/i.test((await ask('\n  Trust it? [y/N] ')).trim()))
      return print('\n  Nothing was changed.\n\n')
  }
  const failures: string[] = []
  for (const { who, folders, commands } of steps) {
    folders.forEach(makeFolder)
    const [failure = null] = commands.map(run).filter((one) => one !== null)
    if (failure !== null) failures.push(`${who} was not changed: ${failure}`)
  }
  if (failures.length > 0) throw new Error(failures.join(' '))
  print('\n  Done. Restart the browsers that are running.\n\n')
}

function announcement(file: string, steps: readonly Step[], undo: boolean): string {
  const stores = steps.map(({ who }) => `    ${who}\n`).join('')
  if (undo) return `\n  These will no longer trust ${file}:\n${stores}`
  return `
  These will trust ${file}, which this computer made for itself:
${stores}
  It can vouch only for this machine's names and private networks. Whoever copies its key,
  beside it, can intercept your traffic to those; npm run trust -- --undo takes the trust back.
`
}

function runHere([command, ...words]: Command): string | null {
  const { error, status, stderr } = spawnSync(command, words, { encoding: 'utf8' })
  if (error) throw new Error(`${command} is missing: ${missing[command] ?? error.message}, then try again.`)
  return status === 0 ? null : stderr.trim() || `${command} ended with status ${status}.`
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

async function askHere(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return await terminal.question(question)
  } finally {
    terminal.close()
  }
}

if (import.meta.main) {
  whenReaderIsGone()
  const root = join(import.meta.dirname, '..')
  try {
    await trust(process.argv.slice(2), {
      async authority() {
        const { authorityFile } = await ensureCertificate({ directory: join(root, 'certs'), now: new Date() })
        return { pem: readFileSync(authorityFile, 'utf8'), file: relative(process.cwd(), authorityFile) }
      },
      plan: (authority, authorityFile, undo) =>
        planTrust({
          system: { platform: process.platform, home: homedir(), list: namesIn },
          authority,
          authorityFile,
          undo,
        }),
      run: runHere,
      makeFolder: (folder) => mkdirSync(folder, { recursive: true, mode: 0o700 }),
      ask: process.stdin.isTTY && process.stdout.isTTY ? askHere : null,
      print: (text) => void process.stdout.write(text),
    })
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
