// Where Chromium and its driver are on this machine.

import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Throws one sentence that says what to install. */
export function findChromium(): string {
  return find(process.env.CROSSWIND_CHROMIUM, ['chromium', 'chromium-browser', 'google-chrome'], 'Chromium')
}

export function findChromedriver(): string {
  return find(process.env.CROSSWIND_CHROMEDRIVER, ['chromedriver'], 'ChromeDriver')
}

function find(named: string | undefined, names: readonly string[], what: string): string {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const candidates = named ? [named] : folders.flatMap((folder) => names.map((name) => join(folder, name)))
  const found = candidates.find(isExecutable)
  if (found) return found
  throw new Error(
    `${what} was not found (${named ?? names.join(', ')}); \`npm test\` installs it where it may.`,
  )
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
