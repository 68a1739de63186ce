// Starts the lab as a person does, for the tests of its scenarios.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

const main = join(import.meta.dirname, '../main.ts')

/** `npm run lab -- SCENARIO [flags]`; ended with the test at the latest. */
export function startLab(t: TestContext, scenario: string, ...flags: readonly string[]) {
  const child = spawn(process.execPath, [main, scenario, ...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said += chunk
    })
  }
  let hasEnded = false
  const ended = once(child, 'exit').finally(() => {
    hasEnded = true
  })

  /** Resolves when it said these words, or has ended without them. */
  async function hasSaid(words: string): Promise<void> {
    while (!hasEnded && !said.includes(words)) await Promise.race([once(child.stdout, 'data'), ended])
  }

  return { child, ended, said: () => said, hasSaid }
}
