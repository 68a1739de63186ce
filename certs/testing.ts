// Tools for the tests of this folder: a fixed day, a check for openssl.

import { spawnSync } from 'node:child_process'

export const today = new Date('2026-11-21T12:00:00Z')

export const daysLater = (days: number) => new Date(today.getTime() + days * 24 * 60 * 60 * 1000)

/** Skips a test if openssl is not installed. */
export const needsOpenssl = {
  skip: spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed',
}
