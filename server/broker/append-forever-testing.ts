// Appends until the process is killed and prints each acknowledged number: the victim of the persistence tests.

import type { Log } from './log.ts'

/** Some are under way at any time, so that groups form. */
const lanes = 8

/** Appends `a-FIRST`, `a-FIRST+1` and so on. Prints one number a line, and only once it was acknowledged. */
export async function appendForever(log: Log, first: number): Promise<void> {
  let next = first

  async function appendOne(): Promise<void> {
    const id = `a-${next}`
    next += 1
    const body = { html: 'x'.repeat(300) }
    const seq = await log.append({ id, channel: 'main', kind: 'edit', from: 'a', at: 1, body }, Date.now())
    process.stdout.write(`${seq}\n`)
  }

  async function run(): Promise<void> {
    for (;;) await appendOne()
  }

  await Promise.all(Array.from({ length: lanes }, run))
}
