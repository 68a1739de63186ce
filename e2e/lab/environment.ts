// The circumstances of a run, without which its figures say little.

import { execFileSync } from 'node:child_process'
import os from 'node:os'
import type { Environment } from './samples.ts'

export interface Circumstances {
  readonly browser: string
  readonly server: string
  readonly loadBefore: number
}

/** Names no host and no user: reports are made to be passed on. */
export function describeEnvironment({ browser, server, loadBefore }: Circumstances): Environment {
  return {
    machine: `${os.type()} ${os.arch()}`,
    cpu: os.cpus()[0]?.model ?? 'unknown',
    cores: os.cpus().length,
    memoryBytes: os.totalmem(),
    os: `${os.type()} ${os.release()}`,
    node: process.version,
    browser,
    commit: commitNow(),
    server,
    loadBefore,
    loadAfter: loadNow(),
  }
}

/** Processes that wanted to run, averaged over the last minute; 0 where the system does not say. */
export function loadNow(): number {
  return os.loadavg()[0] ?? 0
}

/** `abc1234`, with a mark where the tree holds more than that commit; `unknown` outside a checkout. */
function commitNow(): string {
  try {
    const git = (...words: string[]) =>
      execFileSync('git', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
    const changed = git('status', '--porcelain', '--untracked-files=no')
    return git('rev-parse', '--short=12', 'HEAD') + (changed ? ' with changes' : '')
  } catch {
    return 'unknown'
  }
}
