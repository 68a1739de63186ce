// Turns: their order, and that each is of the mode that it is said to be of.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLink } from '../browser/typing.ts'
import { requireWindowModes } from './mode-names.ts'
import type { System } from './testbed.ts'
import { timeTurn, turnsOf } from './turns.ts'

test('each round has every subject once, in another order', () => {
  const rounds = turnsOf(['a', 'b', 'c', 'd'], 4)
  for (const round of rounds) assert.deepEqual([...round].sort(), ['a', 'b', 'c', 'd'])
  assert.equal(new Set(rounds.map((round) => round.join(''))).size, 4)
  assert.ok(new Set(rounds.map(([first]) => first)).size >= 2)
})

const [mode] = requireWindowModes(['sse/3'])
const system: System = {
  name: 'sse/3 lan+5%',
  mode: mode ?? assert.fail(),
  editor: 'shared',
  server: {
    origin: { '3': 'https://x:3', '2': 'https://x:2', '1.1': 'https://x:1' },
    figures: async () => ({ cpuMs: 0, rssBytes: 0 }),
    stages: async () => ({}),
  },
  forgets: false,
}

/** Sends nothing from windows that use the modes of `links` in turn, at the beginning and at the end. */
function turn(...links: readonly ReturnType<typeof readLink>[]) {
  const left = [...links]
  const window = {
    open: async () => undefined,
    close: async () => undefined,
    run: async (script: unknown, ..._: readonly unknown[]) =>
      (script === readLink ? left.shift() : { offsetMs: 0, boundMs: 0 }) as never,
  }
  return timeTurn([window], system, { session: 1, block: 1, firstKey: 1 }, async () => ({
    sent: [],
    received: [[]],
  }))
}

const own = { state: 'open', mode: 'sse/3', spokenHttp: '3' }

test('a turn in which a window begins or ends in another mode is refused', async () => {
  assert.equal((await turn(own, own)).sent, 0)
  const words = 'sse/3 lan+5% is not what was measured: window 1 used sse/2 over HTTP/2.'
  const fallen = { state: 'open', mode: 'sse/2', spokenHttp: '2' }
  await assert.rejects(turn(fallen, own), { message: words })
  await assert.rejects(turn(own, fallen), { message: words })
})

test('a turn over another HTTP version, which only the browser knows, is refused', async () => {
  await assert.rejects(turn({ ...own, spokenHttp: '1.1' }), /window 1 used sse\/3 over HTTP\/1\.1\.$/)
})

test('a window that reconnects, or does not tell the version, is in its mode', async () => {
  await turn({ ...own, state: 'retrying', spokenHttp: null }, {})
})
