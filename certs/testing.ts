// For the tests of this folder: a temporary directory, a fixed day, a check for openssl.

import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

export const today = new Date('2026-11-21T12:00:00Z')

export const daysLater = (days: number) => new Date(today.getTime() + days * 24 * 60 * 60 * 1000)

/** A new empty directory, removed when the test ends. */
export async function emptyDirectory(test: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'crosswind-certs-'))
  test.after(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** Skips a test if openssl is not installed. */
export const needsOpenssl = {
  skip: spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed',
}
