// Runs a test file of this folder in Firefox.

import { suite } from 'node:test'

/** Sets what `stage.ts` reads, before `load` imports it. */
export function inFirefox(load: () => Promise<unknown>): void {
  process.env.CROSSWIND_BROWSER = 'firefox'
  suite('in Firefox', async () => void (await load()))
}
