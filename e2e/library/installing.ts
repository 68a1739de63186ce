// Installs packages into a folder of their own, as their users do.

import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export const execute = promisify(execFile)

/** `names` are this repository's, from the folder of their tarballs. Resolves to `app`. */
export async function installPacked(
  app: string,
  tarballs: string,
  names: readonly string[],
  more: readonly string[] = [],
): Promise<string> {
  const files = (await readdir(tarballs)).filter((file) => names.some((name) => file.includes(`-${name}-`)))
  return install(app, [...files.map((file) => join(tarballs, file)), ...more])
}

export async function install(app: string, packages: readonly string[]): Promise<string> {
  const quiet = ['--no-save', '--no-audit', '--no-fund', '--prefer-offline']
  await execute('npm', ['install', ...quiet, ...packages], { cwd: app, timeout: 240_000 })
  return app
}
