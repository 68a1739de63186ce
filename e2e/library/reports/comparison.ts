// Takes a report's steps with Crosswind, which must not have the fault, and with its own system.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type CuttingProxy, startProxy } from '../../network/cutting-proxy.ts'

export const recoveringModes = ['sse/1.1', 'websocket/1.1', 'long-polling/1.1']

export const originOf = (port: number) => `http://localhost:${port}`

export async function proxyBefore(t: TestContext, port: number): Promise<CuttingProxy> {
  const proxy = await startProxy(port)
  t.after(proxy.close)
  return proxy
}

/** Asserts nothing of the other systems: a test's diagnostics show what their present versions do. */
export async function reported(t: TestContext, work: Promise<unknown>): Promise<void> {
  const late = setTimeout(20_000, null, { ref: false }).then(() =>
    Promise.reject(new Error('no end in 20 s')),
  )
  await Promise.race([work, late]).catch((error) => t.diagnostic(`Not found out: ${error}`))
}

interface Comparison<System, Outcome> {
  /** Starts Crosswind, used in this mode. */
  readonly ours: (t: TestContext, mode: string) => Promise<System>
  /** Start the others. */
  readonly peers: readonly ((t: TestContext) => Promise<System>)[]
  readonly steps: (t: TestContext, system: System) => Promise<Outcome>
  /** How the steps end without the fault. */
  readonly wanted: Outcome
}

export async function compare<System extends { readonly label: string }, Outcome>(
  t: TestContext,
  { ours, peers, steps, wanted }: Comparison<System, Outcome>,
): Promise<void> {
  const ended = recoveringModes.map(async (mode) =>
    assert.deepEqual(await steps(t, await ours(t, mode)), wanted, mode),
  )
  const found = peers.map(async (start) => {
    const peer = await start(t)
    const outcome = await steps(t, peer)
    const verdict = isDeepStrictEqual(outcome, wanted) ? 'does not show it' : 'shows it'
    t.diagnostic(`${peer.label} ${verdict}: ${JSON.stringify(outcome)}`)
  })
  await Promise.all([...ended, ...found.map((work) => reported(t, work))])
}
